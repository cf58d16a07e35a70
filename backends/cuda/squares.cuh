// Squares of 8 by 8 results as the tensor cores of compute capability 9.0 leave them: 64 pixels, which are the rows of
// a product, by kColumns maps. Text before this one: tensor_copies.cuh, pair_of(x, y); T, kColumns, kAllMaps, kBias
// with the type Bias, kRelu.
constexpr int kSide = 8, kStored = kColumns < 64 ? kColumns : 64;  // maps that are stored at once
constexpr int kStoredBytes = kSide * kSide * kStored * 2;

__device__ __forceinline__ float bias_of(const Bias* bias, int map) {
  return kBias && map < kAllMaps ? get<float, Bias>(bias, map) : 0;
}
// relu keeps NaN.
__device__ __forceinline__ float finished(float sum) { return kRelu && sum < 0 ? 0 : sum; }

// Lane 4 g + i has numbers 2 i and 2 i + 1 of rows g and g + 8 of its warp's 16, in each 8 columns.
__device__ __forceinline__ void take_biases(float (&out)[kStored / 4], const Bias* bias, int map) {
#pragma unroll
  for (int i = 0; i < kStored / 4; ++i) out[i] = bias_of(bias, map + i / 2 * 8 + threadIdx.x % 4 * 2 + i % 2);
}

// The words of a square that a thread stores: of block b of 8 maps, two maps of both pixels.
typedef u32 StoredWords[kStored / 8][2];

// Columns from `from` on of a square, rounded.
__device__ __forceinline__ void round_square(const float (&square)[kColumns / 2], int from,
                                             const float (&biases)[kStored / 4], StoredWords& out) {
#pragma unroll
  for (int b = 0; b < kStored / 8; ++b)
#pragma unroll
    for (int pixel = 0; pixel < 2; ++pixel) {
      const int at = from / 2 + b * 4 + pixel * 2;
      out[b][pixel] = pair_of(finished(square[at] + biases[b * 2]), finished(square[at + 1] + biases[b * 2 + 1]));
    }
}

// To shared memory, four 8 by 8 matrices at a time.
__device__ __forceinline__ void put_square(const StoredWords& words, u32 to) {
  const int lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
  for (int b = 0; b < kStored / 8; b += 2) {
    u32 address = to + row * kStored * 2 + (b + lane / 16) * 16;
    address ^= (address >> 7 & (kStored == 64 ? 7 : 3)) << 4;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[b][0]),
                 "r"(words[b][1]), "r"(words[b + 1][0]), "r"(words[b + 1][1])
                 : "memory");
  }
}
