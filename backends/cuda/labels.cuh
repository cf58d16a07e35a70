// Sums over the paths that give a sample's labels, as in backends/cpu/ctc.cpp, and the distance of two sequences. A
// block works on a sample; its threads have the states of a step, or the cells of a diagonal.
// clang-format off

__device__ __forceinline__ double impossible() { return -__longlong_as_double(0x7ff0000000000000ll); }
__device__ __forceinline__ double log_of_exponentials(double a, double b, double c) {
  const double most = fmax(a, fmax(b, c));
  if (most == impossible()) return most;
  return most + log(exp(a - most) + exp(b - most) + exp(c - most));
}

// z(i) and label(i) are element i of the sample's logarithms (T,K) and labels (L).
template <typename Z, typename Label>
struct Paths {
  const Z& z;
  const Label& label;
  int steps, classes, blank, states;

  __device__ int of(int s) const { return s % 2 ? label(s / 2) : blank; }
  __device__ bool skips(int s) const { return s % 2 && s > 1 && of(s) != of(s - 2); }
  __device__ double at(int t, int s) const {
    const int k = of(s);
    return k < classes ? z(i64(t) * classes + k) : impossible();
  }
  __device__ void advance(int t, const double* before, double* now) const {
    for (int s = threadIdx.x; s < states; s += kThreads) {
      if (t == 0) {
        now[s] = s < 2 ? at(t, s) : impossible();
        continue;
      }
      const double one = s > 0 ? before[s - 1] : impossible(), two = skips(s) ? before[s - 2] : impossible();
      now[s] = log_of_exponentials(before[s], one, two) + at(t, s);
    }
    __syncthreads();
  }
  __device__ double cost(const double* last) const {
    if (steps == 0) return states == 1 ? 0 : -impossible();
    return -log_of_exponentials(last[states - 1], states > 1 ? last[states - 2] : impossible(), impossible());
  }
  __device__ double behind(int t, int s, const double* next) const {
    if (t == steps - 1) return s >= states - 2 ? 0 : impossible();
    const double one = s + 1 < states ? next[s + 1] + at(t + 1, s + 1) : impossible();
    const double two = s + 2 < states && skips(s + 2) ? next[s + 2] + at(t + 1, s + 2) : impossible();
    return log_of_exponentials(next[s] + at(t + 1, s), one, two);
  }
  // Whether no state before s has its class.
  __device__ bool is_first(int s) const {
    if (s % 2 == 0) return s == 0;
    for (int other = 1; other < s; other += 2)
      if (of(other) == of(s)) return false;
    return true;
  }
};

template <typename Z, typename Label>
__device__ Paths<Z, Label> paths_of(const Z& z, const Label& label, int steps, int most_steps, int classes, int most_labels, int blank) {
  int count = 0;
  while (count < most_labels && label(count) >= 0) ++count;
  return {z, label, steps < 0 ? 0 : steps < most_steps ? steps : most_steps, classes, blank, 2 * count + 1};
}

// `memory` holds two steps.
template <typename P>
__device__ double cost_of_paths(const P& paths, double* memory) {
  double *now = memory, *before = memory + paths.states;
  for (int t = 0; t < paths.steps; ++t) {
    double* const other = now;
    now = before, before = other;
    paths.advance(t, before, now);
  }
  return paths.cost(now);
}

// `memory` holds two steps, then all steps. store(i, x) writes element i of the sample's gradient (T,K).
template <typename P, typename Store>
__device__ void gradient_of_paths(const P& paths, int most_steps, double g, double* memory, const Store& store) {
  double *now = memory, *next = memory + paths.states, *sums = memory + 2 * paths.states;
  for (int t = 0; t < paths.steps; ++t) paths.advance(t, sums + i64(t - 1) * paths.states, sums + i64(t) * paths.states);
  const double cost = paths.steps > 0 ? paths.cost(sums + i64(paths.steps - 1) * paths.states) : -impossible();
  const bool possible = isfinite(cost);
  const int first_padded = possible ? paths.steps : 0;
  for (i64 i = i64(first_padded) * paths.classes + threadIdx.x; i < i64(most_steps) * paths.classes; i += kThreads) store(i, 0.0);
  if (!possible) return;
  for (int t = paths.steps - 1; t >= 0; --t) {
    double* const other = now;
    now = next, next = other;
    double* const shares = sums + i64(t) * paths.states;
    for (int s = threadIdx.x; s < paths.states; s += kThreads) {
      now[s] = paths.behind(t, s, next);
      shares[s] = exp(shares[s] + now[s] + cost);
    }
    for (int k = threadIdx.x; k < paths.classes; k += kThreads) store(i64(t) * paths.classes + k, 0.0);
    __syncthreads();
    for (int s = threadIdx.x; s < paths.states; s += kThreads) {
      if (!paths.is_first(s)) continue;
      double sum = 0;
      for (int same = s; same < paths.states; same += 2)
        if (paths.of(same) == paths.of(s)) sum += shares[same];
      store(i64(t) * paths.classes + paths.of(s), -g * sum);
    }
  }
}

// Labels a(i), i < m, and b(j), j < n, of which those below 0 do not count. `memory` holds 4 m + n + 3 numbers.
template <typename A, typename B>
__device__ double distance_of(const A& a, int m, const B& b, int n, double* memory) {
  __shared__ int counts[2];
  double *as = memory, *bs = as + m, *now = bs + n, *before = now + m + 1, *long_before = before + m + 1;
  if (threadIdx.x == 0) {
    counts[0] = counts[1] = 0;
    for (int i = 0; i < m; ++i)
      if (a(i) >= 0) as[counts[0]++] = a(i);
    for (int j = 0; j < n; ++j)
      if (b(j) >= 0) bs[counts[1]++] = b(j);
  }
  __syncthreads();
  const int rows = counts[0], columns = counts[1];
  for (int d = 0; d <= rows + columns; ++d) {
    double* const other = long_before;
    long_before = before, before = now, now = other;
    const int first = d > columns ? d - columns : 0, last = d < rows ? d : rows;
    for (int i = first + threadIdx.x; i <= last; i += kThreads) {
      const int j = d - i;
      if (i == 0 || j == 0) {
        now[i] = d;
        continue;
      }
      const double kept = long_before[i - 1] + (as[i - 1] == bs[j - 1] ? 0.0 : 1.0);
      now[i] = fmin(kept, fmin(before[i - 1], before[i]) + 1.0);
    }
    __syncthreads();
  }
  return now[rows];
}
