// Depthwise convolutions of images (N,H,W,C), each channel with a filter of its own, and their gradients. A thread has
// some neighbouring channels of a strip of columns and goes down the rows: it reads each row of its strip once, and
// what it has read goes to all rows of results that see it. A struct Case has the sizes of filters, strides and strip.

// Rows of results that see the same row of the image.
template <typename Case>
constexpr int kOpenRows = (Case::filter_rows + Case::row_stride - 1) / Case::row_stride;

// Columns of the image that the windows of a strip see, and columns of windows that see a strip of the image.
template <typename Case>
constexpr int kSeenColumns = (Case::strip - 1) * Case::column_stride + Case::filter_columns;
template <typename Case>
constexpr int kColumnsBefore = (Case::filter_columns - 1) / Case::column_stride;
template <typename Case>
constexpr int kSeeingColumns = kColumnsBefore<Case> + (Case::strip - 1) / Case::column_stride + 1;

// The place of a pack of numbers; those outside are 0.
struct Place {
  const void* at;
  bool inside;
};

// Packs that a thread asks for kAhead groups of rows before it takes them, kPacks of each group. One group waits in
// registers; several wait in shared memory, where copies put them that need no register.
template <typename Packed, int kPacks, int kAhead>
class Awaited {
 public:
  // `room` is for kAhead + 1 groups of all threads.
  __device__ explicit Awaited(void* room)
      : first_(u32(__cvta_generic_to_shared(static_cast<Packed*>(room) + threadIdx.x))), free_(first_) {}
  __device__ __forceinline__ void ask(const Place (&places)[kPacks]) {
#pragma unroll
    for (int k = 0; k < kPacks; ++k)
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(free_ + k * kStep), "l"(places[k].at),
                   "n"(kBytes), "r"(places[k].inside ? kBytes : 0)
                   : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    free_ = after(free_);
  }
  // The group that was asked for kAhead groups ago lies behind the free one.
  __device__ __forceinline__ void take(Packed (&now)[kPacks]) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kAhead - 1) : "memory");
    const u32 from = after(free_);
#pragma unroll
    for (int k = 0; k < kPacks; ++k) now[k].words = words_at<decltype(now[k].words)>(from + k * kStep);
  }
  // After the last: nothing is under way any more.
  __device__ __forceinline__ void end() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }

 private:
  static constexpr int kBytes = sizeof(Packed), kStep = kThreads * kBytes, kGroup = kPacks * kStep;
  __device__ __forceinline__ u32 after(u32 group) const {
    return group == first_ + kAhead * kGroup ? first_ : group + kGroup;
  }
  template <typename W>
  static __device__ __forceinline__ W words_at(u32 from) {
    return *static_cast<const W*>(__cvta_shared_to_generic(from));
  }
  const u32 first_;
  u32 free_;
};
template <typename Packed, int kPacks>
class Awaited<Packed, kPacks, 1> {
 public:
  __device__ explicit Awaited(void*) {}
  __device__ __forceinline__ void ask(const Place (&places)[kPacks]) {
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      next_[k].words = {};
      if (places[k].inside) next_[k].words = static_cast<const Packed*>(places[k].at)->words;
    }
  }
  __device__ __forceinline__ void take(Packed (&now)[kPacks]) {
#pragma unroll
    for (int k = 0; k < kPacks; ++k) now[k].words = next_[k].words;
  }
  __device__ __forceinline__ void end() {}

 private:
  Packed next_[kPacks];
};

// The convolution. at(r, j) is the place of row r, counted from the first that row 0 of the results sees, of column j
// of the strip; get(pack, r, j, x) makes the numbers of the image of the pack there; give(p, t, sums) takes result t of
// row p. Rows from `first` up to `ends`; rounds of kOpenRows are
// whole, as the compiler would move what is fetched for the next row behind an exit, next to its use.
template <typename Case, typename Packed, typename R, int kTaps, int kWidth, typename At, typename Get, typename Give>
__device__ __forceinline__ void depthwise(const R (&filter)[kTaps][kWidth], int first, int ends, void* room, At at,
                                          Get get, Give give) {
  constexpr int kOpen = kOpenRows<Case>, kSeen = kSeenColumns<Case>, kPacks = Case::row_stride * kSeen;
  R sums[kOpen][Case::strip][kWidth];
  Awaited<Packed, kPacks, Case::ahead> awaited(room);
  const auto ask = [&](int group) {
    Place places[kPacks];
#pragma unroll
    for (int k = 0; k < kPacks; ++k) places[k] = at(group * Case::row_stride + k / kSeen, k % kSeen);
    awaited.ask(places);
  };
#pragma unroll
  for (int k = 0; k < Case::ahead; ++k) ask(first + k);
  for (int begin = first; begin < ends + kOpen - 1; begin += kOpen) {
#pragma unroll
    for (int a = 0; a < kOpen; ++a) {
      const int group = begin + a;
#pragma unroll
      for (int t = 0; t < Case::strip; ++t)
#pragma unroll
        for (int e = 0; e < kWidth; ++e) sums[a][t][e] = R(0);
      Packed now[kPacks];
      awaited.take(now);
      ask(group + Case::ahead);
#pragma unroll
      for (int v = 0; v < Case::row_stride; ++v)
#pragma unroll
        for (int j = 0; j < kSeen; ++j) {
          R x[kWidth];
          get(now[v * kSeen + j], group * Case::row_stride + v, j, x);
#pragma unroll
          for (int k = 0; k < kOpen; ++k) {
            const int r = v + k * Case::row_stride;
            if (r >= Case::filter_rows) continue;
#pragma unroll
            for (int s = 0; s < Case::filter_columns; ++s) {
              const int t = (j - s) / Case::column_stride;
              if (j < s || (j - s) % Case::column_stride || t >= Case::strip) continue;
#pragma unroll
              for (int e = 0; e < kWidth; ++e)
                sums[(a - k + kOpen) % kOpen][t][e] += x[e] * filter[r * Case::filter_columns + s][e];
            }
          }
        }
      if (group - (kOpen - 1) < first || group - (kOpen - 1) >= ends) continue;
#pragma unroll
      for (int t = 0; t < Case::strip; ++t) give(group - (kOpen - 1), t, sums[(a + 1) % kOpen][t]);
    }
  }
  awaited.end();
}

// The gradient of the image. at(p, j) is the place of row p of the results' gradient, of the j-th column that sees the
// strip; give(p, v, t, sums) takes column t of the v-th row that is the first of row p's windows. `first` and `ends`
// are p.
template <typename Case, typename Packed, typename R, int kTaps, int kWidth, typename At, typename Give>
__device__ __forceinline__ void depthwise_data(const R (&filter)[kTaps][kWidth], int first, int ends, void* room, At at,
                                               Give give) {
  constexpr int kOpen = kOpenRows<Case>, kSlots = kOpen * Case::row_stride, kSeeing = kSeeingColumns<Case>;
  R sums[kSlots][Case::strip][kWidth] = {};
  Awaited<Packed, kSeeing, Case::ahead> awaited(room);
  const auto ask = [&](int group) {
    Place places[kSeeing];
#pragma unroll
    for (int j = 0; j < kSeeing; ++j) places[j] = at(group, j);
    awaited.ask(places);
  };
#pragma unroll
  for (int k = 0; k < Case::ahead; ++k) ask(first - (kOpen - 1) + k);
  for (int begin = first - (kOpen - 1); begin < ends; begin += kOpen) {
#pragma unroll
    for (int a = 0; a < kOpen; ++a) {
      const int group = begin + a;
      if (group >= ends) break;
#pragma unroll
      for (int v = 0; v < Case::row_stride; ++v)
#pragma unroll
        for (int t = 0; t < Case::strip; ++t)
#pragma unroll
          for (int e = 0; e < kWidth; ++e) sums[a * Case::row_stride + v][t][e] = R(0);
      Packed now[kSeeing];
      awaited.take(now);
      ask(group + Case::ahead);
#pragma unroll
      for (int j = 0; j < kSeeing; ++j) {
        R y[kWidth];
        unpack<R>(now[j], y);
#pragma unroll
        for (int r = 0; r < Case::filter_rows; ++r)
#pragma unroll
          for (int s = 0; s < Case::filter_columns; ++s) {
            const int t = (j - kColumnsBefore<Case>)*Case::column_stride + s;
            if (t < 0 || t >= Case::strip) continue;
#pragma unroll
            for (int e = 0; e < kWidth; ++e)
              sums[((a + 1) * Case::row_stride + r) % kSlots][t][e] += y[e] * filter[r * Case::filter_columns + s][e];
          }
      }
      if (group < first) continue;
#pragma unroll
      for (int v = 0; v < Case::row_stride; ++v)
#pragma unroll
        for (int t = 0; t < Case::strip; ++t) give(group, v, t, sums[((a + 1) * Case::row_stride + v) % kSlots][t]);
    }
  }
  awaited.end();
}

// The products of pixel x, in column t of the v-th row that is the first of a window's, with those numbers of y that
// saw it: y has the last rows of the results' gradient, the newest in place `newest`.
template <typename Case, typename R, int kOpen, int kSeeing, int kTaps, int kSums, int kWidth>
__device__ __forceinline__ void multiply_pixel(const R (&y)[kOpen][kSeeing][kWidth], int newest, int v, int t,
                                               const R (&x)[kWidth], const R (&filter)[kTaps][kWidth],
                                               R (&sums)[kWidth], R (&of_filter)[kSums][kWidth]) {
#pragma unroll
  for (int k = 0; k < kOpen; ++k) {
    const int r = v + k * Case::row_stride;
    if (r >= Case::filter_rows) continue;
#pragma unroll
    for (int j = 0; j < kSeeing; ++j) {
      const int s = t - (j - kColumnsBefore<Case>)*Case::column_stride;
      if (s < 0 || s >= Case::filter_columns) continue;
      const R(&numbers)[kWidth] = y[(newest - k + kOpen) % kOpen][j];
#pragma unroll
      for (int e = 0; e < kWidth; ++e) {
        sums[e] += numbers[e] * filter[r * Case::filter_columns + s][e];
        of_filter[r * Case::filter_columns + s][e] += numbers[e] * x[e];
      }
    }
  }
}

// Both gradients. at(p, j) and give are those of depthwise_data; at_x(p, v, t) is the place of column t in the image,
// of the v-th row that is the first of row p's windows, and get(pack, p, v, t, x) makes the numbers of the image; give
// takes the pack, too. Adds the gradient of the filter to the first of `of_filter`. Rows of the results' gradient stay
// in registers while rows of the image see them, so that both arrays are read once.
template <typename Case, typename Packed, typename R, int kTaps, int kSums, int kWidth, typename At, typename AtX,
          typename Get, typename Give>
__device__ __forceinline__ void depthwise_both(const R (&filter)[kTaps][kWidth], R (&of_filter)[kSums][kWidth],
                                               int first, int ends, void* room, At at, AtX at_x, Get get, Give give) {
  constexpr int kOpen = kOpenRows<Case>, kSeeing = kSeeingColumns<Case>,
                kPacks = kSeeing + Case::row_stride * Case::strip;
  R y[kOpen][kSeeing][kWidth] = {};
  Awaited<Packed, kPacks, Case::ahead> awaited(room);
  const auto ask = [&](int group) {
    Place places[kPacks];
#pragma unroll
    for (int j = 0; j < kSeeing; ++j) places[j] = at(group, j);
#pragma unroll
    for (int k = kSeeing; k < kPacks; ++k)
      places[k] = at_x(group, (k - kSeeing) / Case::strip, (k - kSeeing) % Case::strip);
    awaited.ask(places);
  };
#pragma unroll
  for (int k = 0; k < Case::ahead; ++k) ask(first - (kOpen - 1) + k);
  for (int begin = first - (kOpen - 1); begin < ends; begin += kOpen) {
#pragma unroll
    for (int a = 0; a < kOpen; ++a) {
      const int group = begin + a;
      if (group >= ends) break;
      Packed now[kPacks];
      awaited.take(now);
      ask(group + Case::ahead);
#pragma unroll
      for (int j = 0; j < kSeeing; ++j) unpack<R>(now[j], y[a][j]);
      if (group < first) continue;
#pragma unroll
      for (int v = 0; v < Case::row_stride; ++v)
#pragma unroll
        for (int t = 0; t < Case::strip; ++t) {
          R x[kWidth], sums[kWidth] = {};
          const Packed& pack = now[kSeeing + v * Case::strip + t];
          get(pack, group, v, t, x);
          multiply_pixel<Case>(y, a, v, t, x, filter, sums, of_filter);
          give(group, v, t, sums, pack);
        }
    }
  }
  awaited.end();
}

// Adds the gradient of the filter to `sums`: at(r, j) and get as of the convolution, and at_y(p, t) is a place in the
// results' gradient.
template <typename Case, typename Packed, typename R, int kTaps, int kWidth, typename At, typename Get, typename AtY>
__device__ __forceinline__ void depthwise_filter(R (&sums)[kTaps][kWidth], int first, int ends, void* room, At at,
                                                 Get get, AtY at_y) {
  constexpr int kOpen = kOpenRows<Case>, kSeen = kSeenColumns<Case>, kImage = Case::row_stride * kSeen;
  constexpr int kPacks = kImage + Case::strip;
  R y[kOpen][Case::strip][kWidth] = {};
  Awaited<Packed, kPacks, Case::ahead> awaited(room);
  const auto ask = [&](int group) {
    Place places[kPacks];
#pragma unroll
    for (int k = 0; k < kImage; ++k) places[k] = at(group * Case::row_stride + k / kSeen, k % kSeen);
#pragma unroll
    for (int t = 0; t < Case::strip; ++t) places[kImage + t] = at_y(group, t);
    awaited.ask(places);
  };
#pragma unroll
  for (int k = 0; k < Case::ahead; ++k) ask(first + k);
  for (int begin = first; begin < ends + kOpen - 1; begin += kOpen) {
#pragma unroll
    for (int a = 0; a < kOpen; ++a) {
      const int group = begin + a;
      Packed now[kPacks];
      awaited.take(now);
      ask(group + Case::ahead);
#pragma unroll
      for (int t = 0; t < Case::strip; ++t) unpack<R>(now[kImage + t], y[a][t]);
#pragma unroll
      for (int v = 0; v < Case::row_stride; ++v)
#pragma unroll
        for (int j = 0; j < kSeen; ++j) {
          R x[kWidth];
          get(now[v * kSeen + j], group * Case::row_stride + v, j, x);
#pragma unroll
          for (int k = 0; k < kOpen; ++k) {
            const int r = v + k * Case::row_stride;
            if (r >= Case::filter_rows) continue;
#pragma unroll
            for (int s = 0; s < Case::filter_columns; ++s) {
              const int t = (j - s) / Case::column_stride;
              if (j < s || (j - s) % Case::column_stride || t >= Case::strip) continue;
#pragma unroll
              for (int e = 0; e < kWidth; ++e)
                sums[r * Case::filter_columns + s][e] += x[e] * y[(a - k + kOpen) % kOpen][t][e];
            }
          }
        }
    }
  }
  awaited.end();
}

// The sum of `count` numbers that lie `step` apart.
template <typename R>
__device__ __forceinline__ R sum_of(const R* from, int count, i64 step) {
  R sum = R(0);
#pragma unroll 16
  for (int i = 0; i < count; ++i) sum += __ldcg(from + i * step);
  return sum;
}

// Adds up the sums of kLanes threads, kAcross apart; the first of them get(m, number) each, m counts taps, then width.
template <int kAcross, int kLanes, typename R, int kTaps, int kWidth, typename Get>
__device__ __forceinline__ void add_lanes(const R (&sums)[kTaps][kWidth], Scratch<R>& scratch, Get get) {
  constexpr int kTogether = kMostTogether / kWidth;  // taps
#pragma unroll
  for (int k = 0; k < kTaps; k += kTogether) {
    R some[kTogether * kWidth];
#pragma unroll
    for (int i = 0; i < kTogether * kWidth; ++i)
      some[i] = k + i / kWidth < kTaps ? sums[(k + i / kWidth) % kTaps][i % kWidth] : R(0);
    fold_columns<FoldSum, kAcross, kLanes>(some, scratch);
    if (threadIdx.x >= kAcross) continue;
#pragma unroll
    for (int i = 0; i < kTogether * kWidth; ++i)
      if (k + i / kWidth < kTaps) get(k * kWidth + i, some[i]);
  }
}
