// The last block of a kernel adds up what all blocks have left of its totals.

// A total, and the numbers that blocks have left of it.
struct PartsOfTotal {
  i64 first;
  int count, total;
};

// Adds up the totals' parts, each by one warp, which fetches those of kAtOnce totals before it waits for the first.
template <typename Fold, int kTotals, typename R>
__device__ void fold_totals(const PartsOfTotal (&of)[kTotals], const R* partials, Scratch<R>& scratch) {
  constexpr int kWarps = kThreads / 32, kAtOnce = 4;
  const int lane = threadIdx.x % 32;
  for (int from = threadIdx.x / 32; from < kTotals; from += kWarps * kAtOnce) {
    R totals[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int n = from + u * kWarps;
      totals[u] = n < kTotals && lane < of[n].count ? __ldcg(partials + of[n].first + lane) : Fold::template start<R>();
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int n = from + u * kWarps;
      if (n >= kTotals) break;
#pragma unroll 8
      for (int i = lane + 32; i < of[n].count; i += 32)
        totals[u] = Fold::template join<R>(totals[u], __ldcg(partials + of[n].first + i));
      const R total = fold_neighbours<Fold, 32, R>(totals[u], scratch);
      if (lane == 0) scratch.values[of[n].total] = total;
    }
  }
}
