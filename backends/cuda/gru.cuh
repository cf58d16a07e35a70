// The gated recurrent unit over all steps, and its gradient; backends/graph/ops_gru.cpp says what they compute. Rows of
// the gates are r, u, n. A step has two products, and so two exchanges: the candidate's waits for the reset gate.
template <int kInnerParts, typename T, typename Length, typename Gate, typename Activation>
__device__ __forceinline__ void gru_forward(const T* z, const T* w, const T* h0, Length length_of, T* h_out, T* gates,
                                            float* memory, u32* ticket, Gate gate, Activation activation) {
  typedef typename ProductOf<T, 2 * kOwn, kUnits, kInnerParts>::type GateProduct;
  typedef typename ProductOf<T, kOwn, kUnits, kInnerParts>::type Product;
  typedef Exchange<T, kUnits, GateProduct::kPaddedInner> States;
  float *const sums = reinterpret_cast<float*>(shared_memory), *const stages = sums + GateProduct::kSums;
  const Member member = join_team(ticket);
  const States states{reinterpret_cast<T*>(memory) + 2 * member.team * States::kElements},
      resets{states.memory + States::kElements};
  states.begin(member.rank, samples_of(member));
  resets.begin(member.rank, samples_of(member));
  GateProduct gate_product;
  gate_product.take(ForwardWeights<T>{w, member.rank * kOwn, 2 * kOwn});
  Product product;
  product.take(ForwardWeights<T>{w + 2 * kUnits * kUnits, member.rank * kOwn, kOwn});
  meet(ticket + 3 + member.team, kTeam);
  T h[kEach], ahead[kEach][3];
  int lengths[kEach];
  take_lengths(member, length_of, lengths);
  begin_states(member, states, h0, h);
  read_ahead(member, z, 0, ahead);
#pragma unroll 1
  for (int s = 0; s < kSteps; ++s) {
    const int t = step_forward(s);
    gate_product.run(states.slot(s), sums, stages);
    empty_old<1>(member, s + 1, states, resets);
    float zs[kEach][3];
    each_place(member, [&](int e, const Place& at) {
      zs[e][0] = gate(get<float, T>(ahead[e], 0) + GateProduct::sum(sums, at.own, at.sample));
      zs[e][1] = gate(get<float, T>(ahead[e], 1) + GateProduct::sum(sums, kOwn + at.own, at.sample));
      resets.template give<1>(s, at.sample, at.unit, {Stored<T>::from(zs[e][0] * get<float, T>(h, e))});
    });
    product.run(resets.slot(s), sums, stages);
    each_place(member, [&](int e, const Place& at) {
      zs[e][2] = activation(get<float, T>(ahead[e], 2) + Product::sum(sums, at.own, at.sample));
      const T fresh = Stored<T>::from((1.0f - zs[e][1]) * get<float, T>(h, e) + zs[e][1] * zs[e][2]);
      if (!kPadded || t < lengths[e]) h[e] = fresh;
      if (s + 1 < kSteps) states.template give<1>(s + 1, at.sample, at.unit, {h[e]});
    });
    read_ahead(member, z, s + 1, ahead);
    each_place(member, [&](int e, const Place& at) {
      const i64 row = at.n * kSteps + t;
      h_out[row * kUnits + at.unit] = h[e];
#pragma unroll
      for (int g = 0; g < 3; ++g) put<T>(gates, (row * 3 + g) * kUnits + at.unit, zs[e][g]);
    });
  }
  leave_team(ticket);
}

// Operands of a step of the gradient: the gates, the state before it, and the gradient by its result. They are read a
// step ahead.
template <typename T>
struct GruStep {
  T parts[kEach][3], before[kEach], g[kEach];
  __device__ __forceinline__ void load(const Member& member, int s, const T* all_gates, const T* h, const T* h0,
                                       const T* all_g) {
    if (s >= kSteps) return;
    const int t = step_backward(s), last = kReverse ? t + 1 : t - 1;
    each_place(member, [&](int e, const Place& at) {
      const i64 row = at.n * kSteps + t;
#pragma unroll
      for (int i = 0; i < 3; ++i) parts[e][i] = all_gates[(row * 3 + i) * kUnits + at.unit];
      before[e] = s + 1 < kSteps ? h[(at.n * kSteps + last) * kUnits + at.unit] : h0[at.n * kUnits + at.unit];
      g[e] = all_g[row * kUnits + at.unit];
    });
  }
};

template <int kInnerParts, typename T, typename Length, typename GateSlope, typename ActivationSlope>
__device__ __forceinline__ void gru_backward(const T* gates, const T* h, const T* w, const T* h0, const T* g,
                                             Length length_of, T* dz, T* dh0, float* memory, u32* ticket,
                                             GateSlope gate_slope, ActivationSlope activation_slope) {
  typedef typename ProductOf<T, kOwn, 2 * kUnits, kInnerParts>::type GateProduct;
  typedef typename ProductOf<T, kOwn, kUnits, kInnerParts>::type Product;
  typedef Exchange<T, 2 * kUnits, GateProduct::kPaddedInner> GateSlopes;
  typedef Exchange<T, kUnits, Product::kPaddedInner> Slopes;
  static_assert(GateProduct::kSums == Product::kSums, "they share memory");
  float *const sums = reinterpret_cast<float*>(shared_memory), *const stages = sums + Product::kSums;
  const Member member = join_team(ticket);
  const GateSlopes of_gates{reinterpret_cast<T*>(memory) + member.team * (GateSlopes::kElements + Slopes::kElements)};
  const Slopes of_candidate{of_gates.memory + GateSlopes::kElements};
  of_gates.begin(member.rank, samples_of(member));
  of_candidate.begin(member.rank, samples_of(member));
  GateProduct gate_product;
  gate_product.take(BackwardWeights<T, 2>{w, member.rank * kOwn, kOwn});
  Product product;
  product.take(BackwardWeights<T, 1>{w + 2 * kUnits * kUnits, member.rank * kOwn, kOwn});
  meet(ticket + 3 + member.team, kTeam);
  GruStep<T> step;
  T dn[kEach];
  float dh[kEach] = {};
  int lengths[kEach];
  take_lengths(member, length_of, lengths);
  step.load(member, 0, gates, h, h0, g);
#pragma unroll 1
  for (int s = 0; s < kSteps; ++s) {
    const int t = step_backward(s);
    const auto inside = [&](int e) { return !kPadded || t < lengths[e]; };
    empty_old<1>(member, s, of_candidate);
    empty_old<2>(member, s, of_gates);
    each_place(member, [&](int e, const Place& at) {
      const float u = get<float, T>(step.parts[e], 1), n = get<float, T>(step.parts[e], 2);
      dh[e] += get<float, T>(step.g, e);
      dn[e] = Stored<T>::from(inside(e) ? activation_slope(dh[e] * u, n) : 0.0f);
      of_candidate.template give<1>(s, at.sample, at.unit, {dn[e]});
    });
    product.run(of_candidate.slot(s), sums, stages);
    each_place(member, [&](int e, const Place& at) {
      const float r = get<float, T>(step.parts[e], 0), u = get<float, T>(step.parts[e], 1),
                  n = get<float, T>(step.parts[e], 2), last = get<float, T>(step.before, e);
      const float given = Product::sum(sums, at.own, at.sample);
      const float dr = gate_slope(given * last, r), du = gate_slope(dh[e] * (n - last), u);
      const T stored[2] = {Stored<T>::from(inside(e) ? dr : 0.0f), Stored<T>::from(inside(e) ? du : 0.0f)};
      of_gates.template give<2>(s, at.sample, 2 * at.unit, stored);
      if (inside(e)) dh[e] = dh[e] * (1.0f - u) + given * r;
      const i64 element = (at.n * kSteps + t) * 3 * kUnits + at.unit;
      dz[element] = stored[0], dz[element + kUnits] = stored[1], dz[element + 2 * kUnits] = dn[e];
    });
    step.load(member, s + 1, gates, h, h0, g);
    gate_product.run(of_gates.slot(s), sums, stages);
    each_place(member, [&](int e, const Place& at) {
      if (inside(e)) dh[e] += GateProduct::sum(sums, at.own, at.sample);
    });
  }
  each_place(member, [&](int e, const Place& at) { put<T>(dh0, at.n * kUnits + at.unit, dh[e]); });
  leave_team(ticket);
}
