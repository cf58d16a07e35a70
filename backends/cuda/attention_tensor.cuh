// Attention of numbers of 16 bits by mma.m16n8k16: a warp has 16 rows of a product. A thread's results of two products
// of 16 by 8 are its part of the left operand of the next, so weights stay in registers.
constexpr int kWidth = (kSize + 15) / 16 * 16, kTileRow = kWidth + 8;  // the pad spreads 8 rows over all banks
constexpr int kAcross = kWidth / 16, kWarps = kThreads / 32, kOfBlock = 16 * kWarps;

template <typename T>
constexpr bool kIsBf16 = false;
template <>
constexpr bool kIsBf16<bf16> = true;
#define NEON_MMA(TYPE)                                                       \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE                 \
      ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                       \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
template <typename T>
__device__ __forceinline__ void multiply_add(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  if constexpr (kIsBf16<T>) NEON_MMA("bf16");
  else NEON_MMA("f16");
}
#undef NEON_MMA

template <typename T>
__device__ __forceinline__ u32 pair(float low, float high) {
  u32 out;
  if constexpr (kIsBf16<T>) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}
template <typename T>
__device__ __forceinline__ float2 apart(u32 both) {
  return {widened(T{u16(both)}), widened(T{u16(both >> 16)})};
}
__device__ __forceinline__ float power_of_2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Rows [first, first + kRows) of a head into a tile; 0 from row `steps` on, and beyond the head's size. They have come
// once wait_for_rows says so, and threads have met.
template <int kRows, int kStride, typename T>
__device__ __forceinline__ void fetch_rows(T* tile, const T* head, int first, int steps) {
  constexpr int kPacks = kWidth / 8;
  for (int i = threadIdx.x; i < kRows * kPacks; i += kThreads) {
    const int row = i / kPacks, at = i % kPacks * 8;
    T* const to = tile + row * kTileRow + at;
    const bool inside = first + row < steps;
    const T* const from = head + (inside ? i64(first + row) * kStride : 0);
    if constexpr (kSize % 8 == 0) {
      const u32 address = u32(__cvta_generic_to_shared(to)), bytes = inside && at < kSize ? 16 : 0;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from + (bytes ? at : 0)),
                   "r"(bytes)
                   : "memory");
    } else {
#pragma unroll
      for (int j = 0; j < 8; ++j) to[j] = inside && at + j < kSize ? from[at + j] : T{0};
    }
  }
}
__device__ __forceinline__ void rows_are_asked_for() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// All that was asked for but the last kLater times.
template <int kLater>
__device__ __forceinline__ void wait_for_rows() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLater) : "memory");
}

template <bool kTurned, typename T>
__device__ __forceinline__ void read_squares(u32 (&x)[4], const T* at) {
  const u32 address = u32(__cvta_generic_to_shared(at));
  if constexpr (kTurned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address)
                 : "memory");
}

// 16 rows of a tile, columns [16 step, 16 step + 16), as a left operand.
template <typename T>
__device__ __forceinline__ void read_left(u32 (&x)[4], const T* rows, int step) {
  const int lane = threadIdx.x % 32;
  read_squares<false>(x, rows + lane % 16 * kTileRow + step * 16 + lane / 16 * 8);
}

// c += a b', where b has a row of the tile for each column of c.
template <int kColumns, typename T>
__device__ __forceinline__ void multiply_by_rows(float (&c)[kColumns][4], const T* left, const T* tile) {
  const int lane = threadIdx.x % 32;
  const T* const mine = tile + (lane / 16 * 8 + lane % 8) * kTileRow + lane / 8 % 2 * 8;
#pragma unroll
  for (int step = 0; step < kAcross; ++step) {
    u32 a[4];
    read_left(a, left, step);
#pragma unroll
    for (int n = 0; n < kColumns; n += 2) {
      u32 b[4];
      read_squares<false>(b, mine + n * 8 * kTileRow + step * 16);
      multiply_add<T>(c[n], a, b[0], b[1]);
      multiply_add<T>(c[n + 1], a, b[2], b[3]);
    }
  }
}

// c += a b, where a is in registers as results of products, and b has a column of the tile for each of c.
template <int kInner, typename T>
__device__ __forceinline__ void multiply_by_columns(float (&c)[2 * kAcross][4], const float (&left)[kInner][4],
                                                    const T* tile) {
  const int lane = threadIdx.x % 32;
  const T* const mine = tile + lane % 16 * kTileRow + lane / 16 * 8;
#pragma unroll
  for (int step = 0; step < kInner / 2; ++step) {
    const float(&l)[4] = left[2 * step], (&r)[4] = left[2 * step + 1];
    const u32 a[4] = {pair<T>(l[0], l[1]), pair<T>(l[2], l[3]), pair<T>(r[0], r[1]), pair<T>(r[2], r[3])};
#pragma unroll
    for (int n = 0; n < 2 * kAcross; n += 2) {
      u32 b[4];
      read_squares<true>(b, mine + step * 16 * kTileRow + n * 8);
      multiply_add<T>(c[n], a, b[0], b[1]);
      multiply_add<T>(c[n + 1], a, b[2], b[3]);
    }
  }
}

// This thread's rows of results, `row` and row + 8 of those below `steps`, into a head.
template <int kStride, typename T>
__device__ __forceinline__ void write_rows(T* head, const float (&c)[2 * kAcross][4], int row, int steps, float low,
                                           float high) {
#pragma unroll
  for (int n = 0; n < 2 * kAcross; ++n) {
    const int column = n * 8 + threadIdx.x % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = row + 8 * half;
      if (at >= steps || column >= kSize) continue;
      const float by = half ? high : low;
      T* const to = head + i64(at) * kStride + column;
      const u32 both = pair<T>(c[n][2 * half] * by, c[n][2 * half + 1] * by);
      if constexpr (kSize % 2 == 0) *reinterpret_cast<u32*>(to) = both;
      else {
        to[0] = T{u16(both)};
        if (column + 1 < kSize) to[1] = T{u16(both >> 16)};
      }
    }
  }
}
// Over the four lanes that share a row.
__device__ __forceinline__ float sum_of_row(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
__device__ __forceinline__ float most_of_row(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

constexpr int kQueryParts = (kQueries + kOfBlock - 1) / kOfBlock, kKeyParts = (kKeys + kOfBlock - 1) / kOfBlock;

// The 16 queries of a warp, while it goes through keys: sums so far.
struct Rows {
  float out[2 * kAcross][4] = {};
  float most[2] = {kUnseen, kUnseen}, total[2] = {0, 0};

  // Scores of one step of keys become weights: exponentials of what they are below the greatest so far.
  __device__ __forceinline__ void weigh(float (&z)[kStep / 8][4]) {
    float least[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = most[half];
#pragma unroll
      for (int n = 0; n < kStep / 8; ++n) top = fmaxf(top, fmaxf(z[n][2 * half], z[n][2 * half + 1]));
      top = most_of_row(top);
      const float shrink = power_of_2((most[half] - top) * (kScale * kLog2E));
      most[half] = top, total[half] *= shrink, least[half] = top * (kScale * kLog2E);
#pragma unroll
      for (int n = 0; n < 2 * kAcross; ++n) out[n][2 * half] *= shrink, out[n][2 * half + 1] *= shrink;
    }
#pragma unroll
    for (int n = 0; n < kStep / 8; ++n)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        z[n][j] = power_of_2(z[n][j] * (kScale * kLog2E) - least[j / 2]);
        total[j / 2] += z[n][j];
      }
  }
};

// Leaves out of 16 rows of scores what is not seen.
template <int kColumns>
__device__ __forceinline__ void hide(float (&z)[kColumns][4], int query, int key, int length) {
#pragma unroll
  for (int n = 0; n < kColumns; ++n)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (!sees(query + j / 2 * 8, key + n * 8 + j % 2, length)) z[n][j] = -neon_math::kInfinity64;
}

template <typename T, typename LengthOf>
__device__ __forceinline__ void attention_forward(const T* q, const T* k, const T* v, LengthOf length_of, T* y,
                                                  float* sums, Draws draws) {
  extern __shared__ uint4 shared[];
  T* const queries = reinterpret_cast<T*>(shared);
  T* const tiles = queries + kOfBlock * kTileRow;  // of keys, then of values, twice
  const Place at = place_of_block<kQueryParts, kHeads, kCausal>(blockIdx.x);
  const int length = length_of(at.sample), first = at.part * kOfBlock, lane = threadIdx.x % 32;
  const int of_warp = threadIdx.x / 32 * 16, mine = first + of_warp + lane / 4;
  const i64 of_queries = (i64(at.sample) * kQueries * kHeads + at.head) * kSize;
  const i64 of_keys = (i64(at.sample) * kKeys * kKeyHeads + at.head / kShared) * kSize;
  const int steps = parts_of(keys_seen(smaller(first + kOfBlock, kQueries), length), kStep);
  const auto fetch = [&](int step) {
    T* const to = tiles + step % 2 * 2 * kStep * kTileRow;
    fetch_rows<kStep, kKeyRow>(to, k + of_keys, step * kStep, kKeys);
    fetch_rows<kStep, kKeyRow>(to + kStep * kTileRow, v + of_keys, step * kStep, kKeys);
    rows_are_asked_for();
  };
  fetch_rows<kOfBlock, kQueryRow>(queries, q + of_queries, first, kQueries);
  fetch(0);
  Rows rows;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    wait_for_rows<0>();
    __syncthreads();
    if (step + 1 < steps) fetch(step + 1);
    const T* const keys = tiles + step % 2 * 2 * kStep * kTileRow;
    const int key = step * kStep + lane % 4 * 2;
    if (keys_seen(first + of_warp + 16, length) <= step * kStep) continue;
    float z[kStep / 8][4] = {};
    multiply_by_rows(z, queries + of_warp * kTileRow, keys);
    if (keys_seen(first + of_warp + 1, length) < (step + 1) * kStep) hide(z, mine, key, length);
    rows.weigh(z);
    if constexpr (kDrops) {
#pragma unroll
      for (int n = 0; n < kStep / 8; ++n)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (!draws.keeps(at.sample, at.head, mine + j / 2 * 8, key + n * 8 + j % 2)) z[n][j] = 0;
    }
    multiply_by_columns(rows.out, z, keys + kStep * kTileRow);
  }
  float by[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float total = sum_of_row(rows.total[half]);
    by[half] = 1 / (fmaxf(total, kLeastSum) * (kDrops ? kKeep : 1));
    if (total != total) by[half] = total;
    const int row = mine + 8 * half;
    if (lane % 4 == 0 && row < kQueries)
      sums[(i64(at.sample) * kHeads + at.head) * kQueries + row] =
          total == 0 ? kUnseen : rows.most[half] * kScale + neon_math::log_value<float>(total, 0, 0);
  }
  write_rows<kQueryRow>(y + of_queries, rows.out, mine, kQueries, by[0], by[1]);
}
