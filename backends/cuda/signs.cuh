// Products of signs as bits. All blocks make bits of the rows of both matrices, 32 numbers a word, and meet. Then each
// block takes tiles of kSide rows and columns: where two bits differ the product is -1, elsewhere 1. All sums are whole
// numbers.

constexpr int kApart = 16;    // from one of a thread's rows, or columns, to its next
constexpr int kOfThread = 4;  // of each
constexpr int kChunk = 32;    // words of a row that a block has at a time

// Adds up the bits that differ. Pairs of words go through a full adder, so that bits are counted half as often.
struct Differing {
  u32 ones = 0, pairs = 0;
  __device__ __forceinline__ void add(u32 x, u32 y) {
    const u32 both = (ones & x) | (ones & y) | (x & y);
    ones ^= x ^ y;
    pairs += __popc(both);
  }
  __device__ __forceinline__ int count() const { return int(2 * pairs + __popc(ones)); }
};

// The words of one row, by a warp, and whether the row has NaN. number(k) reads it.
template <typename Number>
__device__ __forceinline__ void signs_of_row(int length, int words, u32* to, u32* nan, Number number) {
  using R = decltype(number(0));
  const int lane = threadIdx.x % 32;
  bool found = false;
#pragma unroll 4
  for (int w = 0; w < words; ++w) {
    const int k = w * 32 + lane;
    const R x = k < length ? number(k) : R(0);
    const u32 bits = __ballot_sync(~0u, x < R(0));
    found = found || x != x;
    if (lane == 0) to[w] = bits;
  }
  const bool any = __any_sync(~0u, found);
  if (lane == 0) *nan = any;
}

// Words of `rows` rows from `first` on into a tile; those that are not there are 0.
__device__ __forceinline__ void take_chunk(u32 (&tile)[kSide][kChunk + 1], const u32* from, i64 first, i64 rows,
                                           int words, int begin) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = threadIdx.x / 32; i < kSide; i += kThreads / 32)
    tile[i][lane] = first + i < rows && begin + lane < words ? __ldcg(from + (first + i) * words + begin + lane) : 0;
}

// The tile of rows from m0 on and columns from n0 on; give(m, n, differing) takes each number of it.
template <typename Give>
__device__ __forceinline__ void signs_tile(const u32* a, const u32* b, i64 m0, i64 n0, i64 rows, i64 columns, int words,
                                           Give give) {
  __shared__ u32 a_tile[kSide][kChunk + 1], b_tile[kSide][kChunk + 1];
  const int x = threadIdx.x % kApart, y = threadIdx.x / kApart;
  Differing sums[kOfThread][kOfThread];
  for (int begin = 0; begin < words; begin += kChunk) {
    take_chunk(a_tile, a, m0, rows, words, begin);
    take_chunk(b_tile, b, n0, columns, words, begin);
    __syncthreads();
    const int end = min(words - begin, kChunk);
    for (int w = 0; w < end; w += 2) {  // a word behind the last is 0 in both
      u32 p[2][kOfThread], q[2][kOfThread];
#pragma unroll
      for (int i = 0; i < kOfThread; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) p[h][i] = a_tile[y + i * kApart][w + h], q[h][i] = b_tile[x + i * kApart][w + h];
#pragma unroll
      for (int i = 0; i < kOfThread; ++i)
#pragma unroll
        for (int j = 0; j < kOfThread; ++j) sums[i][j].add(p[0][i] ^ q[0][j], p[1][i] ^ q[1][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kOfThread; ++i)
#pragma unroll
    for (int j = 0; j < kOfThread; ++j) {
      const i64 m = m0 + y + i * kApart, n = n0 + x + j * kApart;
      if (m < rows && n < columns) give(m, n, sums[i][j].count());
    }
}
