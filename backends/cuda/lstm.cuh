// The LSTM over all steps, and its gradient; backends/graph/ops_lstm.cpp says what they compute. Rows of the gates are
// i, f, o, g. A thread keeps the cell's state of its units and samples in registers.
template <int kInnerParts, typename T, typename Length, typename Gate, typename Activation>
__device__ __forceinline__ void lstm_forward(const T* z, const T* w, const T* h0, const float* c0, Length length_of,
                                             T* h_out, float* c_out, T* gates, float* memory, u32* ticket, Gate gate,
                                             Activation activation) {
  typedef typename ProductOf<T, 4 * kOwn, kUnits, kInnerParts>::type Product;
  typedef Exchange<T, kUnits, Product::kPaddedInner> States;
  float *const sums = reinterpret_cast<float*>(shared_memory), *const stages = sums + Product::kSums;
  const Member member = join_team(ticket);
  const States states{reinterpret_cast<T*>(memory) + member.team * States::kElements};
  states.begin(member.rank, samples_of(member));
  Product product;
  product.take(ForwardWeights<T>{w, member.rank * kOwn, 4 * kOwn});
  meet(ticket + 3 + member.team, kTeam);
  T h[kEach], ahead[kEach][4];
  float c[kEach];
  int lengths[kEach];
  take_lengths(member, length_of, lengths);
  begin_states(member, states, h0, h);
  each_place(member, [&](int e, const Place& at) { c[e] = c0[at.n * kUnits + at.unit]; });
  read_ahead(member, z, 0, ahead);
#pragma unroll 1
  for (int s = 0; s < kSteps; ++s) {
    const int t = step_forward(s);
    product.run(states.slot(s), sums, stages);
    empty_old<1>(member, s + 1, states);
    float zs[kEach][4];
    each_place(member, [&](int e, const Place& at) {
      const auto sum = [&](int g) {
        return get<float, T>(ahead[e], g) + Product::sum(sums, g * kOwn + at.own, at.sample);
      };
      zs[e][0] = gate(sum(0)), zs[e][1] = gate(sum(1)), zs[e][2] = gate(sum(2)), zs[e][3] = activation(sum(3));
      const float fresh = zs[e][1] * c[e] + zs[e][0] * zs[e][3];
      const T out = Stored<T>::from(zs[e][2] * activation(fresh));
      if (!kPadded || t < lengths[e]) h[e] = out, c[e] = fresh;
      if (s + 1 < kSteps) states.template give<1>(s + 1, at.sample, at.unit, {h[e]});
    });
    read_ahead(member, z, s + 1, ahead);
    each_place(member, [&](int e, const Place& at) {
      const i64 row = at.n * kSteps + t;
      h_out[row * kUnits + at.unit] = h[e], c_out[row * kUnits + at.unit] = c[e];
#pragma unroll
      for (int g = 0; g < 4; ++g) put<T>(gates, (row * 4 + g) * kUnits + at.unit, zs[e][g]);
    });
  }
  leave_team(ticket);
}

// Operands of a step of the gradient: the gates, the states after it and before it, and the gradients by its results,
// read a step ahead.
template <typename T>
struct LstmStep {
  T parts[kEach][4], g[kEach];
  float after[kEach], before[kEach], gc[kEach];
  __device__ __forceinline__ void load(const Member& member, int s, const T* all_gates, const float* c, const float* c0,
                                       const T* all_g, const float* all_gc) {
    if (s >= kSteps) return;
    const int t = step_backward(s), last = kReverse ? t + 1 : t - 1;
    each_place(member, [&](int e, const Place& at) {
      const i64 row = at.n * kSteps + t, element = row * kUnits + at.unit;
#pragma unroll
      for (int i = 0; i < 4; ++i) parts[e][i] = all_gates[(row * 4 + i) * kUnits + at.unit];
      after[e] = s ? before[e] : c[element];
      before[e] = s + 1 < kSteps ? c[(at.n * kSteps + last) * kUnits + at.unit] : c0[at.n * kUnits + at.unit];
      g[e] = all_g[element], gc[e] = all_gc ? all_gc[element] : 0;
    });
  }
};

// `gc` may be null. gate_slope(g, y): the derivative times g where the gate's result was y.
template <int kInnerParts, typename T, typename Length, typename GateSlope, typename Activation,
          typename ActivationSlope>
__device__ __forceinline__ void lstm_backward(const T* gates, const float* c, const T* w, const float* c0, const T* g,
                                              const float* gc, Length length_of, T* dz, T* dh0, float* dc0,
                                              float* memory, u32* ticket, GateSlope gate_slope, Activation activation,
                                              ActivationSlope activation_slope) {
  typedef typename ProductOf<T, kOwn, 4 * kUnits, kInnerParts>::type Product;
  typedef Exchange<T, 4 * kUnits, Product::kPaddedInner> Slopes;
  float *const sums = reinterpret_cast<float*>(shared_memory), *const stages = sums + Product::kSums;
  const Member member = join_team(ticket);
  const Slopes slopes{reinterpret_cast<T*>(memory) + member.team * Slopes::kElements};
  slopes.begin(member.rank, samples_of(member));
  Product product;
  product.take(BackwardWeights<T, 4>{w, member.rank * kOwn, kOwn});
  meet(ticket + 3 + member.team, kTeam);
  LstmStep<T> step;
  float dh[kEach] = {}, dc[kEach] = {};
  int lengths[kEach];
  take_lengths(member, length_of, lengths);
  step.load(member, 0, gates, c, c0, g, gc);
#pragma unroll 1
  for (int s = 0; s < kSteps; ++s) {
    const int t = step_backward(s);
    empty_old<4>(member, s, slopes);
    each_place(member, [&](int e, const Place& at) {
      const bool inside = !kPadded || t < lengths[e];
      float parts[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) parts[i] = get<float, T>(step.parts[e], i);
      dh[e] += get<float, T>(step.g, e), dc[e] += step.gc[e];
      const float y = activation(step.after[e]), of_c = dc[e] + activation_slope(dh[e] * parts[2], y);
      const float inner[4] = {gate_slope(of_c * parts[3], parts[0]), gate_slope(of_c * step.before[e], parts[1]),
                              gate_slope(dh[e] * y, parts[2]), activation_slope(of_c * parts[0], parts[3])};
      T stored[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) stored[i] = Stored<T>::from(inside ? inner[i] : 0.0f);
      if (inside) dc[e] = of_c * parts[1];
      slopes.template give<4>(s, at.sample, 4 * at.unit, stored);
#pragma unroll
      for (int i = 0; i < 4; ++i) dz[((at.n * kSteps + t) * 4 + i) * kUnits + at.unit] = stored[i];
    });
    step.load(member, s + 1, gates, c, c0, g, gc);
    product.run(slopes.slot(s), sums, stages);
    each_place(member, [&](int e, const Place& at) {
      if (!kPadded || t < lengths[e]) dh[e] = Product::sum(sums, at.own, at.sample);
    });
  }
  each_place(member, [&](int e, const Place& at) {
    put<T>(dh0, at.n * kUnits + at.unit, dh[e]);
    dc0[at.n * kUnits + at.unit] = dc[e];
  });
  leave_team(ticket);
}
