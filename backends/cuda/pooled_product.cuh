// A product of matrices on tensor cores that ends with max pooling: pixels x (N,H,W,C) of few channels by filters w
// (K,C), plus a bias (K); then the largest of every 2 x 2 pixels, y (N,H/2,W/2,K), and which it was.
//
// A warp takes eight windows that lie side by side, and kTiles x 8 filters. In mma.m16n8k16, lane 4 g + i has rows g
// and g + 8 of the pixels and of the sums, and columns 2 i and 2 i + 1 of the sums. Row g is window g's left pixel, g +
// 8 the right one; with one product for the upper pixels and one for the lower, a lane has whole windows in registers.
// Which channel is which k is free, as long as both operands agree, and so is which filter is which column: a lane
// takes neighbours of both, so that it reads and writes 16 bytes at once. A step is 16 channels of 16 bits, or 8 of
// TF32 by m16n8k8, of which a lane has one where it has two of the others (tensor_tile.cuh).

// kWords x 4 neighbouring bytes.
template <int kWords>
struct Run {
  static constexpr int kWide = kWords % 2 ? 1 : kWords % 4 ? 2 : 4;
  u32 at[kWords];
  __device__ __forceinline__ void load(const void* p) {
#pragma unroll
    for (int k = 0; k < kWords; k += kWide) {
      const Pack<u32, kWide> pack = pack_at<u32, kWide>(p, k);
#pragma unroll
      for (int j = 0; j < kWide; ++j) at[k + j] = pack.at[j];
    }
  }
  __device__ __forceinline__ void store(void* p) const {
#pragma unroll
    for (int k = 0; k < kWords; k += kWide) {
      Pack<u32, kWide> pack;
#pragma unroll
      for (int j = 0; j < kWide; ++j) pack.at[j] = at[k + j];
      *reinterpret_cast<typename Words<4 * kWide>::type*>(static_cast<u32*>(p) + k) = pack.words;
    }
  }
};

// T: f16, bf16, float; B: the bias's type; I: holds the number of tiles; x (images, kH, kW, C), w (kK, C), C of kSteps
// steps, kK a multiple of 8 kTiles; y and places (images, kH/2, kW/2, kK). A tile: what a warp takes at once.
template <typename T, typename B, typename I, int kH, int kW, int kSteps, int kK, int kTiles, bool kRelu>
__device__ __forceinline__ void pooled_product(const T* x, const T* w, const B* bias, T* y, u8* places, I images) {
  constexpr int kOfLane = 2 * kSteps * (4 / int(sizeof(T))), kC = 4 * kOfLane;  // channels
  constexpr int kP = kH / 2, kQ = kW / 2, kAcross = (kQ + 7) / 8;
  constexpr int kFilters = 2 * kTiles, kParts = kK / (8 * kTiles), kWide = 16 / int(sizeof(T));
  constexpr bool kAhead = kSteps <= 2;  // whether there are registers for the next tile
  const int lane = threadIdx.x % 32, g = lane / 4, i = lane % 4;
  const u32 warps = gridDim.x * (kThreads / 32), warp = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
  const int first = int(warp % kParts) * 8 * kTiles, filter = first + i * kFilters;

  const auto make_operand = [](Run<2 * kSteps>& run) {
    if constexpr (sizeof(T) == 4) {
#pragma unroll
      for (u32& word : run.at) word = tf32(word);
    }
  };
  Run<2 * kSteps> filters[kTiles];
  Pack<B, 2> biases[kTiles];  // for as many registers as they have in memory
#pragma unroll
  for (int t = 0; t < kTiles; ++t) biases[t] = pack_at<B, 2>(bias, filter + 2 * t);
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
    filters[t].load(w + (first + g / 2 * kFilters + 2 * t + g % 2) * kC + i * kOfLane);
    make_operand(filters[t]);
  }

  const I tiles = images * kP * kAcross, step = warps / kParts;
  // The pixels of window g of a tile, [down][across].
  const auto fetch = [&](I tile, Run<2 * kSteps>(&pixels)[2][2]) {
    const int q = int(tile % kAcross) * 8 + g;
    const I row = tile / kAcross;
    const i64 corner = (i64(row / kP * kH + row % kP * 2) * kW + 2 * q) * kC + i * kOfLane;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (q < kQ && tile < tiles) pixels[k / 2][k % 2].load(x + corner + (k / 2 * kW + k % 2) * kC);
      else pixels[k / 2][k % 2] = {};
    }
  };
  Run<2 * kSteps> pixels[2][2], next[2][2];
  if (kAhead) fetch(warp / kParts, next);
  for (I tile = warp / kParts; tile < tiles; tile += step) {
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (kAhead) pixels[k / 2][k % 2] = next[k / 2][k % 2];
    if (kAhead) fetch(tile + step, next);
    else fetch(tile, pixels);
#pragma unroll
    for (int k = 0; k < 4; ++k) make_operand(pixels[k / 2][k % 2]);
    Pack<T, kWide> out[kFilters / kWide];
    Run<kTiles / 2> where;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      float sums[2][4] = {};
#pragma unroll
      for (int down = 0; down < 2; ++down) {
        const auto& [left, right] = pixels[down];
#pragma unroll
        for (int s = 0; s < kSteps; ++s)
          multiply_add<T>(sums[down], left.at[2 * s], right.at[2 * s], left.at[2 * s + 1], right.at[2 * s + 1],
                          filters[t].at[2 * s], filters[t].at[2 * s + 1]);
      }
      u32 at = 0;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        // NaN is larger than any number, of equal ones the first is taken.
        float best = sums[0][c];
        u32 place = 0;
#pragma unroll
        for (u32 k = 1; k < 4; ++k) {
          const float z = sums[k / 2][k % 2 * 2 + c];
          if (!(z <= best) && best == best) best = z, place = k;
        }
        best += get<float, B>(biases[t].at, c);
        if (kRelu) best = neon_math::relu_value<float>(best, 0.0f, 0.0f);
        out[(2 * t + c) / kWide].at[(2 * t + c) % kWide] = Stored<T>::from(best);
        at |= place << (8 * c);
      }
      if (t % 2) where.at[t / 2] |= at << 16;
      else where.at[t / 2] = at;
    }
    const int q = int(tile % kAcross) * 8 + g;
    if (q >= kQ) continue;
    const i64 element = (i64(tile / kAcross) * kQ + q) * kK + filter;
#pragma unroll
    for (int k = 0; k < kFilters / kWide; ++k) put_pack(y, element + k * kWide, out[k]);
    where.store(places + element);
  }
}
