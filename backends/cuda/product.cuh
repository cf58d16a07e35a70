// Products too small to fill a GPU, where latency is all: a block takes kTile by kTile results and a share of the inner
// axis that fits shared memory, read from memory in one go. kParts groups of threads work through a part of it each,
// 4 by 4 results a thread, and their sums are put together in a fixed order.
constexpr int kTile = 32, kParts = 4, kTileRow = kTile + 4;
static_assert(kThreads == kParts * kTile * kTile / 16, "a thread has 16 results");

template <typename R, int kDepth>
struct ProductScratch {
  union {
    struct alignas(16) {
      R left[kDepth][kTileRow], right[kDepth][kTileRow];
    };
    R sums[kParts][kTile][kTile + 1];
  };
  __device__ ProductScratch() {}
};

template <typename R>
struct alignas(16) Four {
  R at[4];
};

// This thread's elements (at, k) of an operand's tile, for at < kTile, k < kDepth. `kAlong`: neighbours in memory
// follow each other along k; then 8 of them are read by neighbouring threads, so that neither memory nor the banks are
// stepped through. All are read before the first is put down, and none under a condition, so that they are under way
// together; what lies outside is read from the last place inside, and goes into no result.
template <typename R, int kDepth, bool kAlong>
struct Slice {
  static constexpr int kCount = kTile * kDepth / kThreads;
  R values[kCount];
  __device__ static int k_of(int i) {
    const int x = i * kThreads + threadIdx.x;
    return kAlong ? x % 8 + x / (8 * kTile) * 8 : x / kTile;
  }
  __device__ static int at_of(int i) {
    const int x = i * kThreads + threadIdx.x;
    return kAlong ? x / 8 % kTile : x % kTile;
  }
  template <typename Load>
  __device__ __forceinline__ void read(int most_at, int most_k, Load load) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = load(min(at_of(i), most_at), min(k_of(i), most_k));
  }
  __device__ __forceinline__ void put(R (&tile)[kDepth][kTileRow]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) tile[k_of(i)][at_of(i)] = values[i];
  }
};

// Sums over k in [first, last) of a(m, k) b(k, n) for the results m = m0 + threadIdx.x / kTile + 8 i,
// n = n0 + threadIdx.x % kTile of this thread, i < 4, of a product of rows by columns.
template <typename R, int kDepth, bool kAlongA, bool kAlongB, typename LoadA, typename LoadB>
__device__ __forceinline__ void multiply_tile(R (&out)[4], int m0, int rows, int n0, int columns, int first, int last,
                                              LoadA a, LoadB b) {
  __shared__ ProductScratch<R, kDepth> scratch;
  const int part = threadIdx.x / 64, m = threadIdx.x % 64 / 8 * 4, n = threadIdx.x % 8 * 4;
  R sums[4][4] = {};
  for (int k0 = first; k0 < last; k0 += kDepth) {
    const int depth = last - k0 < kDepth ? last - k0 : kDepth;
    Slice<R, kDepth, kAlongA> left;
    Slice<R, kDepth, kAlongB> right;
    left.read(rows - 1 - m0, depth - 1, [&](int at, int k) { return a(m0 + at, k0 + k); });
    right.read(columns - 1 - n0, depth - 1, [&](int at, int k) { return b(k0 + k, n0 + at); });
    if (k0 != first) __syncthreads();
    left.put(scratch.left);
    right.put(scratch.right);
    __syncthreads();
#pragma unroll 4
    for (int k = part; k < depth; k += kParts) {
      const Four<R> left = *reinterpret_cast<const Four<R>*>(&scratch.left[k][m]),
                    right = *reinterpret_cast<const Four<R>*>(&scratch.right[k][n]);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] += left.at[i] * right.at[j];
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) scratch.sums[part][m + i][n + j] = sums[i][j];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = threadIdx.x / kTile + 8 * i, column = threadIdx.x % kTile;
    out[i] = scratch.sums[0][row][column];
#pragma unroll
    for (int p = 1; p < kParts; ++p) out[i] += scratch.sums[p][row][column];
  }
}
