// Attention in f32, of numbers that tensor cores do not multiply exactly or do not take. Threads are 16 by 16: a thread
// has every 16th row and column of a product of kTile rows.
constexpr int kTileRow = kSize | 1, kWeightRow = kTile + 1;  // odd, so that neighbouring rows begin in other banks
constexpr int kOfThread = kTile / 16, kColumns = (kSize + 15) / 16, kTileNumbers = kTile * kTileRow;
constexpr int kQueryParts = (kQueries + kTile - 1) / kTile, kKeyParts = (kKeys + kTile - 1) / kTile;
constexpr int kKeyBlocks = kKeyParts * kKeyHeads * kSamples;
constexpr float kRest = kDrops ? 1 / kKeep : 1;  // what a weight that stays is multiplied by
static_assert(kThreads == 16 * 16, "of a tile");

__device__ __forceinline__ int row_of(int i) { return threadIdx.x / 16 + 16 * i; }
__device__ __forceinline__ int column_of(int j) { return threadIdx.x % 16 + 16 * j; }

// Rows [first, first + kTile) of a head, 0 from row `steps` on.
template <int kStride, typename T>
__device__ __forceinline__ void fetch_rows(float* tile, const T* head, int first, int steps) {
  for (int i = threadIdx.x; i < kTile * kSize; i += kThreads) {
    const int row = i / kSize, at = i % kSize;
    tile[row * kTileRow + at] = first + row < steps ? get<float, T>(head, i64(first + row) * kStride + at) : 0;
  }
}
// c += a b', of rows of two tiles.
__device__ __forceinline__ void multiply_by_rows(float (&c)[kOfThread][kOfThread], const float* a, const float* b) {
#pragma unroll 4
  for (int d = 0; d < kSize; ++d) {
    float left[kOfThread], right[kOfThread];
#pragma unroll
    for (int i = 0; i < kOfThread; ++i) {
      left[i] = a[row_of(i) * kTileRow + d];
      right[i] = b[column_of(i) * kTileRow + d];
    }
#pragma unroll
    for (int i = 0; i < kOfThread; ++i)
#pragma unroll
      for (int j = 0; j < kOfThread; ++j) c[i][j] += left[i] * right[j];
  }
}
// c += w b, or w' b, of weights and rows of a tile; columns beyond the head's size are nobody's.
template <bool kTurned>
__device__ __forceinline__ void multiply_by_columns(float (&c)[kOfThread][kColumns], const float* w, const float* b) {
#pragma unroll 4
  for (int s = 0; s < kTile; ++s) {
    float left[kOfThread], right[kColumns];
#pragma unroll
    for (int i = 0; i < kOfThread; ++i)
      left[i] = kTurned ? w[s * kWeightRow + row_of(i)] : w[row_of(i) * kWeightRow + s];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) right[j] = b[s * kTileRow + column_of(j)];
#pragma unroll
    for (int i = 0; i < kOfThread; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j) c[i][j] += left[i] * right[j];
  }
}
__device__ __forceinline__ void keep_weights(float* to, const float (&w)[kOfThread][kOfThread]) {
#pragma unroll
  for (int i = 0; i < kOfThread; ++i)
#pragma unroll
    for (int j = 0; j < kOfThread; ++j) to[row_of(i) * kWeightRow + column_of(j)] = w[i][j];
}
template <int kStride, typename T>
__device__ __forceinline__ void write_rows(T* head, const float (&c)[kOfThread][kColumns], int first, int steps) {
#pragma unroll
  for (int i = 0; i < kOfThread; ++i)
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
      if (first + row_of(i) < steps && column_of(j) < kSize)
        put<T, float>(head, i64(first + row_of(i)) * kStride + column_of(j), c[i][j]);
}
// Over the 16 lanes that share a row.
template <typename Fold>
__device__ __forceinline__ float fold_row(float x) {
#pragma unroll
  for (int d = 8; d > 0; d /= 2) x = Fold::template join<float>(x, __shfl_xor_sync(0xffffffffu, x, d));
  return x;
}
__device__ __forceinline__ float power_of_e(float x) { return neon_math::exp_value<float>(x, 0, 0); }

// Weights of one tile of queries and keys that lie in shared memory, while a block goes through tiles of keys.
struct Rows {
  float out[kOfThread][kColumns] = {}, most[kOfThread], total[kOfThread] = {};

  __device__ __forceinline__ Rows() {
#pragma unroll
    for (int i = 0; i < kOfThread; ++i) most[i] = kUnseen;
  }
  __device__ __forceinline__ void weigh(float (&z)[kOfThread][kOfThread], int query, int key, int length) {
#pragma unroll
    for (int i = 0; i < kOfThread; ++i) {
      float top = kUnseen;
#pragma unroll
      for (int j = 0; j < kOfThread; ++j) {
        z[i][j] = sees(query + row_of(i), key + column_of(j), length) ? z[i][j] * kScale : -neon_math::kInfinity64;
        top = fmaxf(top, z[i][j]);
      }
      top = fmaxf(most[i], fold_row<FoldMax>(top));
      const float shrink = power_of_e(most[i] - top);
      most[i] = top, total[i] *= shrink;
#pragma unroll
      for (int j = 0; j < kColumns; ++j) out[i][j] *= shrink;
#pragma unroll
      for (int j = 0; j < kOfThread; ++j) total[i] += z[i][j] = power_of_e(z[i][j] - top);
    }
  }
};

template <typename T, typename LengthOf>
__device__ __forceinline__ void attention_forward(const T* q, const T* k, const T* v, LengthOf length_of, T* y,
                                                  float* sums, Draws draws) {
  extern __shared__ uint4 shared[];
  float *const queries = reinterpret_cast<float*>(shared), *const keys = queries + kTileNumbers,
               *const values = keys + kTileNumbers, *const weights = values + kTileNumbers;
  const Place at = place_of_block<kQueryParts, kHeads, kCausal>(blockIdx.x);
  const int length = length_of(at.sample), first = at.part * kTile;
  const i64 of_queries = (i64(at.sample) * kQueries * kHeads + at.head) * kSize;
  const i64 of_keys = (i64(at.sample) * kKeys * kKeyHeads + at.head / kShared) * kSize;
  const int end = keys_seen(smaller(first + kTile, kQueries), length);
  fetch_rows<kQueryRow>(queries, q + of_queries, first, kQueries);
  Rows rows;
#pragma unroll 1
  for (int key = 0; key < end; key += kTile) {
    __syncthreads();
    fetch_rows<kKeyRow>(keys, k + of_keys, key, kKeys);
    fetch_rows<kKeyRow>(values, v + of_keys, key, kKeys);
    __syncthreads();
    float z[kOfThread][kOfThread] = {};
    multiply_by_rows(z, queries, keys);
    rows.weigh(z, first, key, length);
    if constexpr (kDrops) {
#pragma unroll
      for (int i = 0; i < kOfThread; ++i)
#pragma unroll
        for (int j = 0; j < kOfThread; ++j)
          z[i][j] *= draws.keeps(at.sample, at.head, first + row_of(i), key + column_of(j)) ? kRest : 0;
    }
    keep_weights(weights, z);
    __syncthreads();
    multiply_by_columns<false>(rows.out, weights, values);
  }
#pragma unroll
  for (int i = 0; i < kOfThread; ++i) {
    const float total = fold_row<FoldSum>(rows.total[i]);
    const int row = first + row_of(i);
#pragma unroll
    for (int j = 0; j < kColumns; ++j) rows.out[i][j] /= total == 0 ? kLeastSum : total;
    if (threadIdx.x % 16 == 0 && row < kQueries)
      sums[(i64(at.sample) * kHeads + at.head) * kQueries + row] =
          total == 0 ? kUnseen : rows.most[i] + neon_math::log_value<float>(total, 0, 0);
  }
  write_rows<kQueryRow>(y + of_queries, rows.out, first, kQueries);
}

template <typename T>
struct AttentionGradient {
  const T *q, *k, *v, *y, *g;
  const float* sums;
  T *dq, *dk, *dv;
  Draws draws;

  struct OfRows {
    float sum[kOfThread], inner[kOfThread];  // of each query: what its weights are made of, and the sum of g y
  };
  __device__ __forceinline__ static i64 of_queries(int sample, int head) {
    return (i64(sample) * kQueries * kHeads + head) * kSize;
  }
  // `given`: g of these queries.
  __device__ __forceinline__ OfRows rows_from(const float* given, int sample, int head, int first) const {
    OfRows out;
#pragma unroll
    for (int i = 0; i < kOfThread; ++i) {
      const int row = smaller(first + row_of(i), kQueries - 1);
      const i64 at = of_queries(sample, head) + i64(row) * kQueryRow;
      float inner = 0;
      for (int c = threadIdx.x % 16; c < kSize; c += 16)
        inner += given[row_of(i) * kTileRow + c] * get<float, T>(y, at + c);
      out.inner[i] = fold_row<FoldSum>(inner);
      out.sum[i] = sums[(i64(sample) * kHeads + head) * kQueries + row];
    }
    return out;
  }
  // Weights of queries and keys, and what their scores are given, of tiles in shared memory.
  __device__ __forceinline__ void turn(float (&z)[kOfThread][kOfThread], float (&dz)[kOfThread][kOfThread],
                                       const OfRows& of, const Place& at, int head, int query, int key,
                                       int length) const {
#pragma unroll
    for (int i = 0; i < kOfThread; ++i)
#pragma unroll
      for (int j = 0; j < kOfThread; ++j) {
        const int row = query + row_of(i), column = key + column_of(j);
        const bool seen = sees(row, column, length) && row < kQueries;
        const float weight = seen ? power_of_e(z[i][j] * kScale - of.sum[i]) : 0;
        float by = 1;
        if constexpr (kDrops) by = draws.keeps(at.sample, head, row, column) ? kRest : 0;
        z[i][j] = weight * by;
        dz[i][j] = weight * (dz[i][j] * by - of.inner[i]) * kScale;
      }
  }

  __device__ __forceinline__ void of_some_queries(float* tiles, const Place& at, int length) const {
    float *const queries = tiles, *const given = queries + kTileNumbers, *const keys = given + kTileNumbers,
                 *const values = keys + kTileNumbers, *const weights = values + kTileNumbers;
    const int first = at.part * kTile, end = keys_seen(smaller(first + kTile, kQueries), length);
    const i64 from = of_queries(at.sample, at.head);
    const i64 of_keys = (i64(at.sample) * kKeys * kKeyHeads + at.head / kShared) * kSize;
    fetch_rows<kQueryRow>(queries, q + from, first, kQueries);
    fetch_rows<kQueryRow>(given, g + from, first, kQueries);
    __syncthreads();
    const OfRows of = rows_from(given, at.sample, at.head, first);
    float out[kOfThread][kColumns] = {};
#pragma unroll 1
    for (int key = 0; key < end; key += kTile) {
      __syncthreads();
      fetch_rows<kKeyRow>(keys, k + of_keys, key, kKeys);
      fetch_rows<kKeyRow>(values, v + of_keys, key, kKeys);
      __syncthreads();
      float z[kOfThread][kOfThread] = {}, dz[kOfThread][kOfThread] = {};
      multiply_by_rows(z, queries, keys);
      multiply_by_rows(dz, given, values);
      turn(z, dz, of, at, at.head, first, key, length);
      keep_weights(weights, dz);
      __syncthreads();
      multiply_by_columns<false>(out, weights, keys);
    }
    write_rows<kRowOfDq>(dq + in_rows<kRowOfDq>(from, kQueryRow), out, first, kQueries);
  }

  __device__ __forceinline__ void of_some_keys(float* tiles, const Place& at, int length) const {
    float *const keys = tiles, *const values = keys + kTileNumbers, *const queries = values + kTileNumbers,
                 *const given = queries + kTileNumbers, *const weights = given + kTileNumbers,
                 *const of_scores = weights + kTile * kWeightRow;
    const int first = at.part * kTile, before = kCausal && first > kBefore ? (first - kBefore) / kTile * kTile : 0;
    const i64 of_keys = (i64(at.sample) * kKeys * kKeyHeads + at.head) * kSize;
    fetch_rows<kKeyRow>(keys, k + of_keys, first, kKeys);
    fetch_rows<kKeyRow>(values, v + of_keys, first, kKeys);
    float of_k[kOfThread][kColumns] = {}, of_v[kOfThread][kColumns] = {};
    const int last = first < length ? kShared : 0;
#pragma unroll 1
    for (int head = at.head * kShared; head < at.head * kShared + last; ++head)
#pragma unroll 1
      for (int query = before; query < kQueries; query += kTile) {
        const i64 from = of_queries(at.sample, head);
        __syncthreads();
        fetch_rows<kQueryRow>(queries, q + from, query, kQueries);
        fetch_rows<kQueryRow>(given, g + from, query, kQueries);
        __syncthreads();
        const OfRows of = rows_from(given, at.sample, head, query);
        float z[kOfThread][kOfThread] = {}, dz[kOfThread][kOfThread] = {};
        multiply_by_rows(z, queries, keys);
        multiply_by_rows(dz, given, values);
        turn(z, dz, of, at, head, query, first, length);
        keep_weights(weights, z);
        keep_weights(of_scores, dz);
        __syncthreads();
        multiply_by_columns<true>(of_v, weights, given);
        multiply_by_columns<true>(of_k, of_scores, queries);
      }
    write_rows<kRowOfDk>(dk + in_rows<kRowOfDk>(of_keys, kKeyRow), of_k, first, kKeys);
    write_rows<kRowOfDv>(dv + in_rows<kRowOfDv>(of_keys, kKeyRow), of_v, first, kKeys);
  }

  template <typename LengthOf>
  __device__ __forceinline__ void run(LengthOf length_of) const {
    extern __shared__ uint4 shared[];
    float* const tiles = reinterpret_cast<float*>(shared);
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
