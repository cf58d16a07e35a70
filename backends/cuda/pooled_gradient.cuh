// The gradient of the filters w (K,C) of a pooled product, and of its bias (K): sums over all windows and their pixels
//   dw[k,c] = sum of given[window,k] * x[pixel,c] where the pixel was the largest, db[k] = sum of given[window,k]
// with given (N,P,Q,K) after the derivative by the gate, and x (N,H,W,C). The gradient of each pixel, mostly zeros, is
// made in registers and nowhere else.
//
// In mma.m16n8k16, lane 4 g + i has rows g and g + 8 of dw's filters, columns 2 i and 2 i + 1 of its channels, and of
// the pixels, which are k, the upper two of window i and the lower two; in TF32 of m16n8k8 first the upper two, then
// the lower. As with the product, which filter is which row and which channel is which column is free: a lane takes
// neighbours.

template <typename T>
__device__ __forceinline__ float number_of(const u32* words, int n) {
  if constexpr (sizeof(T) == 4) return __uint_as_float(words[n]);
  else return widened(T{u16(words[n / 2] >> n % 2 * 16)});
}

// Adds up `count` numbers of each of `rows` rows, one after the other, thread by thread: visit(n, sum).
template <typename Visit>
__device__ __forceinline__ void add_rows(const float* from, int rows, int count, Visit visit) {
  for (int n = threadIdx.x; n < count; n += kThreads) {
    float sum = 0;
#pragma unroll 16
    for (int r = 0; r < rows; ++r) sum += __ldcg(from + i64(r) * count + n);
    visit(n, sum);
  }
}

// I: holds the number of pixels; B: the type of db; kRows x 16 filters a block, one of kParts. `partials` has a row of
// kCount, which are those filters' dw and db, for each block, and one for each group of kGroup blocks after them;
// `tickets` one for each group, and one for each part.
template <typename T, typename B, typename I, int kH, int kW, int kC, int kK, int kRows, int kGroup,
          typename Derivative>
__device__ __forceinline__ void pooled_gradient(const T* x, const T* given, const u8* places, const T* gate, T* dw,
                                                B* db, I images, float* partials, u32* tickets, Derivative derivative) {
  constexpr int kP = kH / 2, kQ = kW / 2, kParts = kK / (16 * kRows), kWarps = kThreads / 32;
  constexpr int kColumns = kC / 8, kFilters = 2 * kRows, kCount = 16 * kRows * (kC + 1), kOfWord = 4 / int(sizeof(T));
  const int lane = threadIdx.x % 32, g = lane / 4, i = lane % 4, warp = threadIdx.x / 32;
  const int part = blockIdx.x % kParts, member = blockIdx.x / kParts, members = gridDim.x / kParts;
  const int filter = part * 16 * kRows + g * kFilters;

  float sums[kRows][kColumns][4] = {}, of_bias[kFilters] = {};
  const I windows = images * kP * kQ;
  for (I first = (I(member) * kWarps + warp) * 4; first < windows; first += I(members) * kWarps * 4) {
    const I window = first + i, row = window / kQ, corner = ((row / kP * kH + row % kP * 2) * kW + window % kQ * 2);
    Run<kFilters / kOfWord> numbers, gates;
    Run<kRows / 2> where;
    Run<kColumns / kOfWord> pixels[4];
    const bool there = window < windows;
    const i64 from = i64(window) * kK + filter;
    if (there) numbers.load(given + from), gates.load(gate + from), where.load(places + from);
    else numbers = {}, gates = {}, where = {};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (there) pixels[k].load(x + (i64(corner) + k / 2 * kW + k % 2) * kC + g * kColumns);
      else pixels[k] = {};
    }
    // The gradients that a filter's window gives to its pixels, in as many words as a row of pixels has.
    u32 upper[kFilters][2 / kOfWord], lower[kFilters][2 / kOfWord];
#pragma unroll
    for (int f = 0; f < kFilters; ++f) {
      const float z = there ? derivative(number_of<T>(numbers.at, f), number_of<T>(gates.at, f)) : 0.0f;
      of_bias[f] += z;
      const u32 place = where.at[f / 4] >> f % 4 * 8 & 0xff;
      if constexpr (kOfWord == 2) {
        const u32 bits = u32(Stored<T>::from(z).bits) << place % 2 * 16;
        upper[f][0] = place < 2 ? bits : 0, lower[f][0] = place < 2 ? 0 : bits;
      } else {
        const u32 bits = tf32(__float_as_uint(z));
#pragma unroll
        for (u32 k = 0; k < 2; ++k) upper[f][k] = place == k ? bits : 0, lower[f][k] = place == k + 2 ? bits : 0;
      }
    }
#pragma unroll
    for (int t = 0; t < kColumns; ++t) {
      u32 seen[4];  // by channel t of the lane's
      if constexpr (kOfWord == 2) {
        const u32 halves = t % 2 ? 0x7632 : 0x5410;
        seen[0] = __byte_perm(pixels[0].at[t / 2], pixels[1].at[t / 2], halves);
        seen[1] = __byte_perm(pixels[2].at[t / 2], pixels[3].at[t / 2], halves);
      } else {
#pragma unroll
        for (int k = 0; k < 4; ++k) seen[k] = tf32(pixels[k].at[t]);
      }
#pragma unroll
      for (int m = 0; m < kRows; ++m) {
        const auto &up = upper[2 * m], &next_up = upper[2 * m + 1], &low = lower[2 * m], &next_low = lower[2 * m + 1];
        if constexpr (kOfWord == 2) {
          multiply_add<T>(sums[m][t], up[0], next_up[0], low[0], next_low[0], seen[0], seen[1]);
        } else {
          multiply_add<T>(sums[m][t], up[0], next_up[0], up[1], next_up[1], seen[0], seen[1]);
          multiply_add<T>(sums[m][t], low[0], next_low[0], low[1], next_low[1], seen[2], seen[3]);
        }
      }
    }
  }

  // The block's warps, then the blocks of a group, then the groups, always in the same order.
  __shared__ float folded[kCount];
#pragma unroll
  for (int f = 0; f < kFilters; ++f)
    for (int apart = 1; apart < 4; apart *= 2) of_bias[f] += __shfl_xor_sync(0xffffffffu, of_bias[f], apart);
  for (int n = threadIdx.x; n < kCount; n += kThreads) folded[n] = 0;
  for (int w = 0; w < kWarps; ++w) {
    __syncthreads();
    if (warp != w) continue;
#pragma unroll
    for (int m = 0; m < kRows; ++m)
#pragma unroll
      for (int t = 0; t < kColumns; ++t)
#pragma unroll
        for (int d = 0; d < 4; ++d)
          folded[(g * kFilters + 2 * m + d / 2) * kC + (2 * i + d % 2) * kColumns + t] += sums[m][t][d];
#pragma unroll
    for (int f = 0; f < kFilters; ++f)
      if (i == 0) folded[16 * kRows * kC + g * kFilters + f] += of_bias[f];
  }
  __syncthreads();
  const int groups = (members + kGroup - 1) / kGroup, group = member / kGroup, place = part * groups + group;
  float* const of_part = partials + i64(part) * members * kCount;
  float* const of_groups = partials + (i64(gridDim.x) + part * groups) * kCount;
  for (int n = threadIdx.x; n < kCount; n += kThreads) of_part[i64(member) * kCount + n] = folded[n];
  const int neighbours = min(kGroup, members - group * kGroup);
  if (!is_last_of(tickets + place, neighbours)) return;
  add_rows(of_part + i64(group) * kGroup * kCount, neighbours, kCount,
           [&](int n, float sum) { of_groups[i64(group) * kCount + n] = sum; });
  if (!is_last_of(tickets + kParts * groups + part, groups)) return;
  add_rows(of_groups, groups, kCount, [&](int n, float sum) {
    const int weights = 16 * kRows * kC;
    if (n < weights) put<T, float>(dw, part * weights + n, sum);
    else put<B, float>(db, part * 16 * kRows + n - weights, sum);
  });
}
