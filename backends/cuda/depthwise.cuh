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

// The convolution. fetch(r, j) reads row r, counted from the first that row 0 of the results sees, of column j of the
// strip; give(p, t, sums) takes result t of row p. Rows from `first` up to `ends`; rounds of kOpenRows are whole, as
// the compiler would move what is fetched for the next row behind an exit, next to its use.
template <typename Case, typename Packed, typename R, int kTaps, int kWidth, typename Fetch, typename Give>
__device__ __forceinline__ void depthwise(const R (&filter)[kTaps][kWidth], int first, int ends, Fetch fetch,
                                          Give give) {
  constexpr int kOpen = kOpenRows<Case>, kSeen = kSeenColumns<Case>;
  R sums[kOpen][Case::strip][kWidth];
  Packed next[Case::row_stride][kSeen];
  const auto load = [&](int group) {
#pragma unroll
    for (int v = 0; v < Case::row_stride; ++v)
#pragma unroll
      for (int j = 0; j < kSeen; ++j) next[v][j] = fetch(group * Case::row_stride + v, j);
  };
  load(first);
  for (int begin = first; begin < ends + kOpen - 1; begin += kOpen) {
#pragma unroll
    for (int a = 0; a < kOpen; ++a) {
      const int group = begin + a;
#pragma unroll
      for (int t = 0; t < Case::strip; ++t)
#pragma unroll
        for (int e = 0; e < kWidth; ++e) sums[a][t][e] = R(0);
      Packed now[Case::row_stride][kSeen];
#pragma unroll
      for (int v = 0; v < Case::row_stride; ++v)
#pragma unroll
        for (int j = 0; j < kSeen; ++j) now[v][j] = next[v][j];
      load(group + 1);
#pragma unroll
      for (int v = 0; v < Case::row_stride; ++v)
#pragma unroll
        for (int j = 0; j < kSeen; ++j) {
          R x[kWidth];
          unpack<R>(now[v][j], x);
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
}

// The gradient of the image. fetch(p, j) reads row p of the results' gradient, of the j-th column that sees the strip;
// give(p, v, t, sums) takes column t of the v-th row that is the first of row p's windows. `first` and `ends` are p.
template <typename Case, typename Packed, typename R, int kTaps, int kWidth, typename Fetch, typename Give>
__device__ __forceinline__ void depthwise_data(const R (&filter)[kTaps][kWidth], int first, int ends, Fetch fetch,
                                               Give give) {
  constexpr int kOpen = kOpenRows<Case>, kSlots = kOpen * Case::row_stride, kSeeing = kSeeingColumns<Case>;
  R sums[kSlots][Case::strip][kWidth];
#pragma unroll
  for (int y = 0; y < kSlots; ++y)
#pragma unroll
    for (int t = 0; t < Case::strip; ++t)
#pragma unroll
      for (int e = 0; e < kWidth; ++e) sums[y][t][e] = R(0);
  Packed next[kSeeing];
  const auto load = [&](int group) {
#pragma unroll
    for (int j = 0; j < kSeeing; ++j) next[j] = fetch(group, j);
  };
  load(first - (kOpen - 1));
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
#pragma unroll
      for (int j = 0; j < kSeeing; ++j) now[j] = next[j];
      load(group + 1);
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
}

// Adds the gradient of the filter to `sums`: fetch(r, j) as of the convolution, and fetch_y(p, t) reads the results'
// gradient.
template <typename Case, typename Packed, typename R, int kTaps, int kWidth, typename Fetch, typename FetchY>
__device__ __forceinline__ void depthwise_filter(R (&sums)[kTaps][kWidth], int first, int ends, Fetch fetch,
                                                 FetchY fetch_y) {
  constexpr int kOpen = kOpenRows<Case>, kSeen = kSeenColumns<Case>;
  R y[kOpen][Case::strip][kWidth];
#pragma unroll
  for (int a = 0; a < kOpen; ++a)
#pragma unroll
    for (int t = 0; t < Case::strip; ++t)
#pragma unroll
      for (int e = 0; e < kWidth; ++e) y[a][t][e] = R(0);
  Packed next[Case::row_stride][kSeen], next_y[Case::strip];
  const auto load = [&](int group) {
#pragma unroll
    for (int t = 0; t < Case::strip; ++t) next_y[t] = fetch_y(group, t);
#pragma unroll
    for (int v = 0; v < Case::row_stride; ++v)
#pragma unroll
      for (int j = 0; j < kSeen; ++j) next[v][j] = fetch(group * Case::row_stride + v, j);
  };
  load(first);
  for (int begin = first; begin < ends + kOpen - 1; begin += kOpen) {
#pragma unroll
    for (int a = 0; a < kOpen; ++a) {
      const int group = begin + a;
#pragma unroll
      for (int t = 0; t < Case::strip; ++t) unpack<R>(next_y[t], y[a][t]);
      Packed now[Case::row_stride][kSeen];
#pragma unroll
      for (int v = 0; v < Case::row_stride; ++v)
#pragma unroll
        for (int j = 0; j < kSeen; ++j) now[v][j] = next[v][j];
      load(group + 1);
#pragma unroll
      for (int v = 0; v < Case::row_stride; ++v)
#pragma unroll
        for (int j = 0; j < kSeen; ++j) {
          R x[kWidth];
          unpack<R>(now[v][j], x);
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
