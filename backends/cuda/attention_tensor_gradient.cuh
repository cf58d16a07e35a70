// The gradient of attention on tensor cores. Blocks of keys hold 16 keys a warp, so products are the other way round:
// scores of keys by queries.
constexpr int kPiece = kStep < 32 ? kStep : 32;  // queries, or keys, that a warp works on at once
constexpr int kLanes = kThreads / kStep;         // threads of a query of a step
constexpr int kKeyBlocks = kKeyParts * kKeyHeads * kSamples;
constexpr float kRest = kDrops ? 1 / kKeep : 1;  // what a weight that stays is multiplied by

template <typename T>
struct AttentionGradient {
  const T *q, *k, *v, *y, *g;
  const float* sums;
  T *dq, *dk, *dv;
  Draws draws;

  // z, of scores, becomes weights; dp, what the weights are given, what the scores are. `sum` and `inner` are those of
  // each result's query, times log2 e and the scale.
  template <typename SumOf, typename InnerOf, typename Keeps>
  __device__ __forceinline__ static void turn(float (&z)[kPiece / 8][4], float (&dp)[kPiece / 8][4], SumOf sum_of,
                                              InnerOf inner_of, Keeps keeps) {
#pragma unroll
    for (int n = 0; n < kPiece / 8; ++n)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float weight = power_of_2(z[n][j] * (kScale * kLog2E) - sum_of(n, j)), inner = inner_of(n, j);
        z[n][j] = weight;
        if constexpr (kDrops) {
          const float by = keeps(n, j) ? kRest : 0;
          z[n][j] *= by, dp[n][j] *= by;
        }
        dp[n][j] = weight * (dp[n][j] * kScale - inner);
      }
  }

  // The sum of g y of a query, times the scale: that of this thread's columns.
  __device__ __forceinline__ static float inner_of(const T* of_g, const T* of_y, int first, int apart_by) {
    float out = 0;
#pragma unroll
    for (int c = first; c < kSize; c += apart_by) out += widened(of_g[c]) * widened(of_y[c]);
    return out * kScale;
  }

  __device__ __forceinline__ static i64 of_queries(int sample, int head) {
    return (i64(sample) * kQueries * kHeads + head) * kSize;
  }
  __device__ __forceinline__ static i64 of_keys(int sample, int head) {
    return (i64(sample) * kKeys * kKeyHeads + head) * kSize;
  }

  __device__ __forceinline__ void of_some_queries(T* tiles, const Place& at, int length) const {
    T *const queries = tiles, *const given = tiles + kOfBlock * kTileRow, *const rows = given + kOfBlock * kTileRow;
    const int first = at.part * kOfBlock, lane = threadIdx.x % 32, of_warp = threadIdx.x / 32 * 16;
    const int mine = first + of_warp + lane / 4;
    const i64 from = of_queries(at.sample, at.head), of_key = of_keys(at.sample, at.head / kShared);
    const int steps = parts_of(keys_seen(smaller(first + kOfBlock, kQueries), length), kStep);
    const auto fetch = [&](int step) {
      T* const to = rows + step % 2 * 2 * kStep * kTileRow;
      fetch_rows<kStep, kKeyRow>(to, k + of_key, step * kStep, kKeys);
      fetch_rows<kStep, kKeyRow>(to + kStep * kTileRow, v + of_key, step * kStep, kKeys);
      rows_are_asked_for();
    };
    fetch_rows<kOfBlock, kQueryRow>(queries, q + from, first, kQueries);
    fetch_rows<kOfBlock, kQueryRow>(given, g + from, first, kQueries);
    fetch(0);
    float sum[2], inner[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = smaller(mine + 8 * half, kQueries - 1);
      const i64 at_row = from + i64(row) * kQueryRow;
      sum[half] = sums[(i64(at.sample) * kHeads + at.head) * kQueries + row] * kLog2E;
      inner[half] = sum_of_row(inner_of(g + at_row, y + at_row, lane % 4, 4));
    }
    float out[2 * kAcross][4] = {};
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      wait_for_rows<0>();
      __syncthreads();
      if (step + 1 < steps) fetch(step + 1);
#pragma unroll 1
      for (int key = step * kStep; key < (step + 1) * kStep; key += kPiece) {
        const T* const keys = rows + (step % 2 * 2 * kStep + key % kStep) * kTileRow;
        if (keys_seen(first + of_warp + 16, length) <= key) break;
        float z[kPiece / 8][4] = {}, dp[kPiece / 8][4] = {};
        multiply_by_rows(z, queries + of_warp * kTileRow, keys);
        if (keys_seen(first + of_warp + 1, length) < key + kPiece) hide(z, mine, key + lane % 4 * 2, length);
        multiply_by_rows(dp, given + of_warp * kTileRow, keys + kStep * kTileRow);
        turn(
            z, dp, [&](int, int j) { return sum[j / 2]; }, [&](int, int j) { return inner[j / 2]; },
            [&](int n, int j) {
              return draws.keeps(at.sample, at.head, mine + j / 2 * 8, key + n * 8 + lane % 4 * 2 + j % 2);
            });
        multiply_by_columns(out, dp, keys);
      }
    }
    write_rows<kRowOfDq>(dq + in_rows<kRowOfDq>(from, kQueryRow), out, mine, kQueries, 1, 1);
  }

  // Leaves out of 16 rows of scores by keys what is not seen.
  __device__ __forceinline__ static void hide_keys(float (&z)[kPiece / 8][4], int key, int query, int length) {
#pragma unroll
    for (int n = 0; n < kPiece / 8; ++n)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (!sees(query + n * 8 + j % 2, key + j / 2 * 8, length)) z[n][j] = -neon_math::kInfinity64;
  }

  // Notes what the weights of each query in a tile take; kLanes threads share a query.
  __device__ __forceinline__ static void note_rows(const T* given, const T* out, float sum, float* sums,
                                                   float* inners) {
    const int row = threadIdx.x / kLanes, part = threadIdx.x % kLanes;
    float inner = inner_of(given + row * kTileRow, out + row * kTileRow, part, kLanes);
#pragma unroll
    for (int d = kLanes / 2; d > 0; d /= 2) inner += __shfl_xor_sync(0xffffffffu, inner, d);
    if (part == 0) sums[row] = sum * kLog2E, inners[row] = inner;
  }

  __device__ __forceinline__ void of_some_keys(T* tiles, const Place& at, int length) const {
    constexpr int kNumbers = kStep * kTileRow;  // of a tile
    __shared__ float of_sums[kStep], of_inner[kStep];
    T *const keys = tiles, *const values = tiles + kOfBlock * kTileRow, *const rows = values + kOfBlock * kTileRow;
    const int first = at.part * kOfBlock, lane = threadIdx.x % 32, of_warp = threadIdx.x / 32 * 16;
    const int mine = first + of_warp + lane / 4, row = threadIdx.x / kLanes;
    const i64 of_key = of_keys(at.sample, at.head);
    const int from = kCausal && first > kBefore ? (first - kBefore) / kStep : 0;
    const int steps = parts_of(kQueries, kStep) - from, all = first < length ? steps * kShared : 0;
    float next_sum = 0;
    const auto head_of = [&](int i) { return at.head * kShared + i / steps; };
    const auto fetch = [&](int i) {
      T* const to = rows + i % 2 * 3 * kNumbers;
      const i64 of_query = of_queries(at.sample, head_of(i));
      const int query = (from + i % steps) * kStep;
      fetch_rows<kStep, kQueryRow>(to, q + of_query, query, kQueries);
      fetch_rows<kStep, kQueryRow>(to + kNumbers, g + of_query, query, kQueries);
      fetch_rows<kStep, kQueryRow>(to + 2 * kNumbers, y + of_query, query, kQueries);
      rows_are_asked_for();
      next_sum = query + row < kQueries ? sums[(i64(at.sample) * kHeads + head_of(i)) * kQueries + query + row] : 0;
    };
    float of_k[2 * kAcross][4] = {}, of_v[2 * kAcross][4] = {};
    if (all) {
      fetch_rows<kOfBlock, kKeyRow>(keys, k + of_key, first, kKeys);
      fetch_rows<kOfBlock, kKeyRow>(values, v + of_key, first, kKeys);
      fetch(0);
    }
#pragma unroll 1
    for (int i = 0; i < all; ++i) {
      const T* const here = rows + i % 2 * 3 * kNumbers;
      const float sum = next_sum;
      wait_for_rows<0>();
      __syncthreads();
      if (i + 1 < all) fetch(i + 1);
      note_rows(here + kNumbers, here + 2 * kNumbers, sum, of_sums, of_inner);
      __syncthreads();
#pragma unroll 1
      for (int piece = 0; piece < kStep; piece += kPiece) {
        const int query = (from + i % steps) * kStep + piece;
        if (kCausal && query + kPiece - 1 + kBefore < first + of_warp) continue;
        float z[kPiece / 8][4] = {}, dp[kPiece / 8][4] = {};
        multiply_by_rows(z, keys + of_warp * kTileRow, here + piece * kTileRow);
        if (first + of_warp + 15 >= keys_seen(query + 1, length)) hide_keys(z, mine, query + lane % 4 * 2, length);
        multiply_by_rows(dp, values + of_warp * kTileRow, here + kNumbers + piece * kTileRow);
        const auto column = [&](int n, int j) { return piece + n * 8 + lane % 4 * 2 + j % 2; };
        turn(
            z, dp, [&](int n, int j) { return of_sums[column(n, j)]; },
            [&](int n, int j) { return of_inner[column(n, j)]; },
            [&](int n, int j) {
              return draws.keeps(at.sample, head_of(i), query - piece + column(n, j), mine + j / 2 * 8);
            });
        multiply_by_columns(of_v, z, here + kNumbers + piece * kTileRow);
        multiply_by_columns(of_k, dp, here + piece * kTileRow);
      }
    }
    write_rows<kRowOfDk>(dk + in_rows<kRowOfDk>(of_key, kKeyRow), of_k, mine, kKeys, 1, 1);
    write_rows<kRowOfDv>(dv + in_rows<kRowOfDv>(of_key, kKeyRow), of_v, mine, kKeys, 1, 1);
  }

  template <typename LengthOf>
  __device__ __forceinline__ void run(LengthOf length_of) const {
    extern __shared__ uint4 shared[];
    T* const tiles = reinterpret_cast<T*>(shared);
    const int block = blockIdx.x;
    if (block < kKeyBlocks) {
      const Place at = place_of_block<kKeyParts, kKeyHeads, false>(block);
      of_some_keys(tiles, at, length_of(at.sample));
    } else {
      const Place at = place_of_block<kQueryParts, kHeads, kCausal>(block - kKeyBlocks);
      of_some_queries(tiles, at, length_of(at.sample));
    }
  }
};
