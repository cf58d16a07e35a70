// The largest numbers of a row, and boxes chosen one after the other. A block works on a row.
// clang-format off

// Whether number `a` at place i comes before number `b` at place j: larger, or equal and first.
__device__ __forceinline__ bool comes_before(double a, int i, double b, int j) { return a > b || (a == b && i < j); }

// The place of the number that comes first among those x(i), i < count, for which takes(i), or -1: for all threads.
template <typename X, typename Takes>
__device__ int first_of(const X& x, int count, const Takes& takes) {
  __shared__ double best[kThreads];
  __shared__ int where[kThreads];
  double number = 0;
  int place = -1;
  for (int i = threadIdx.x; i < count; i += kThreads)
    if (takes(i) && (place < 0 || x(i) > number)) number = x(i), place = i;
  best[threadIdx.x] = number, where[threadIdx.x] = place;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    const int other = threadIdx.x + half;
    if (int(threadIdx.x) < half && where[other] >= 0 &&
        (where[threadIdx.x] < 0 || comes_before(best[other], where[other], best[threadIdx.x], where[threadIdx.x])))
      best[threadIdx.x] = best[other], where[threadIdx.x] = where[other];
    __syncthreads();
  }
  const int out = where[0];
  __syncthreads();
  return out;
}

// The sum of n over the threads of the block.
__device__ int sum_of_block(int n) {
  __shared__ int parts[kThreads];
  parts[threadIdx.x] = n;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (int(threadIdx.x) < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  const int out = parts[0];
  __syncthreads();
  return out;
}

// A number as bits that are ordered as numbers are; those above `least` alone count, others are 0.
__device__ __forceinline__ unsigned long long ordered(double x, double least) {
  if (!(x > least)) return 0;
  const unsigned long long bits = __double_as_longlong(x + 0.0);
  return bits >> 63 ? ~bits : bits | 0x8000000000000000ull;
}

// The bounds within which the first `wanted` of the numbers x(i) lie: they are those whose ordered bits exceed `bits`,
// and of those that equal it the ones at places below `places`.
struct Bounds { unsigned long long bits; int places; };
template <typename X>
__device__ Bounds bounds_of(const X& x, int count, double least, int wanted) {
  unsigned long long bits = 0;  // the largest that `wanted` numbers reach
  for (int bit = 63; bit >= 0; --bit) {
    const unsigned long long tried = bits | 1ull << bit;
    int reach = 0;
    for (int i = threadIdx.x; i < count; i += kThreads) reach += ordered(x(i), least) >= tried;
    if (sum_of_block(reach) >= wanted) bits = tried;
  }
  int above = 0;
  for (int i = threadIdx.x; i < count; i += kThreads) above += ordered(x(i), least) > bits;
  const int equal = wanted - sum_of_block(above);
  int low = 0, high = count;  // the least number of places that hold so many equal ones
  while (bits > 0 && low < high) {
    const int middle = low + (high - low) / 2;
    int held = 0;
    for (int i = threadIdx.x; i < middle; i += kThreads) held += ordered(x(i), least) == bits;
    if (sum_of_block(held) >= equal) high = middle;
    else low = middle + 1;
  }
  return {bits, bits > 0 ? low : 0};
}

template <typename X, typename Store>
__device__ void store_largest(const X& x, int count, double wanted, const Store& store) {
  const int most = wanted >= count ? count : wanted >= 1 ? int(wanted) : 0;
  const double least = -__longlong_as_double(0x7ff0000000000000ll);
  const Bounds bounds = most > 0 ? bounds_of(x, count, least, most) : Bounds{~0ull, 0};
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const unsigned long long bits = ordered(x(i), least);
    store(i, bits > bounds.bits || (bits == bounds.bits && i < bounds.places) ? 1.0 : 0.0);
  }
}

struct Corners { double x1, y1, x2, y2; };
__device__ __forceinline__ double area_of(const Corners& a, double edge) {
  return fmax(a.x2 - a.x1 + edge, 0.0) * fmax(a.y2 - a.y1 + edge, 0.0);
}
__device__ __forceinline__ bool overlap_more(const Corners& a, const Corners& b, double edge, double overlap) {
  const Corners both = {fmax(a.x1, b.x1), fmax(a.y1, b.y1), fmin(a.x2, b.x2), fmin(a.y2, b.y2)};
  const double shared = area_of(both, edge);
  return shared > overlap * (area_of(a, edge) + area_of(b, edge) - shared);
}

// box(i) and score(i) are the row's; `open` has room for `count` numbers. store(k, i) writes the k-th chosen.
template <typename BoxOf, typename Score, typename Store>
__device__ void choose_boxes(const BoxOf& box, const Score& score, int count, int most, int candidates, double least,
                             double edge, double overlap, double* open, const Store& store) {
  Bounds bounds = {0, 0};
  if (candidates > 0 && candidates < count) bounds = bounds_of(score, count, least, candidates);
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const unsigned long long bits = ordered(score(i), least);
    open[i] = bits > bounds.bits || (bits > 0 && bits == bounds.bits && i < bounds.places) ? 1.0 : 0.0;
  }
  __syncthreads();
  int taken = 0;
  for (; taken < most; ++taken) {
    const int best = first_of(score, count, [&](int i) { return open[i] > 0; });
    if (best < 0) break;
    if (threadIdx.x == 0) store(taken, best);
    const Corners chosen = box(best);
    for (int i = threadIdx.x; i < count; i += kThreads)
      if (i == best || (open[i] > 0 && overlap_more(chosen, box(i), edge, overlap))) open[i] = 0;
    __syncthreads();
  }
  for (int k = taken + threadIdx.x; k < most; k += kThreads) store(k, -1);
}
