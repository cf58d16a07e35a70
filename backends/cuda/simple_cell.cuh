// The simple recurrent cell over all steps, and its gradient; backends/graph/ops_recurrent.cpp says what they compute.
template <int kInnerParts, typename T, typename Length, typename Activation>
__device__ __forceinline__ void recurrent_forward(const T* z, const T* w, const T* h0, Length length_of, T* h_out,
                                                  float* memory, u32* ticket, Activation activation) {
  typedef typename ProductOf<T, kOwn, kUnits, kInnerParts>::type Product;
  typedef Exchange<T, kUnits, Product::kPaddedInner> States;
  float *const sums = reinterpret_cast<float*>(shared_memory), *const stages = sums + Product::kSums;
  const Member member = join_team(ticket);
  const States states{reinterpret_cast<T*>(memory) + member.team * States::kElements};
  states.begin(member.rank, samples_of(member));
  Product product;
  product.take(ForwardWeights<T>{w, member.rank * kOwn, kOwn});
  meet(ticket + 3 + member.team, kTeam);
  T h[kEach], ahead[kEach][1];
  int lengths[kEach];
  take_lengths(member, length_of, lengths);
  begin_states(member, states, h0, h);
  read_ahead(member, z, 0, ahead);
#pragma unroll 1
  for (int s = 0; s < kSteps; ++s) {
    const int t = step_forward(s);
    product.run(states.slot(s), sums, stages);
    empty_old<1>(member, s + 1, states);
    each_place(member, [&](int e, const Place& at) {
      const float sum = Product::sum(sums, at.own, at.sample);
      const T fresh = Stored<T>::from(activation(get<float, T>(ahead[e], 0) + sum));
      if (!kPadded || t < lengths[e]) h[e] = fresh;
      if (s + 1 < kSteps) states.template give<1>(s + 1, at.sample, at.unit, {h[e]});
    });
    read_ahead(member, z, s + 1, ahead);
    each_place(member, [&](int e, const Place& at) { h_out[(at.n * kSteps + t) * kUnits + at.unit] = h[e]; });
  }
  leave_team(ticket);
}

template <int kInnerParts, typename T, typename Length, typename ActivationSlope>
__device__ __forceinline__ void recurrent_backward(const T* h, const T* w, const T* g, Length length_of, T* dz, T* dh0,
                                                   float* memory, u32* ticket, ActivationSlope activation_slope) {
  typedef typename ProductOf<T, kOwn, kUnits, kInnerParts>::type Product;
  typedef Exchange<T, kUnits, Product::kPaddedInner> Slopes;
  float *const sums = reinterpret_cast<float*>(shared_memory), *const stages = sums + Product::kSums;
  const Member member = join_team(ticket);
  const Slopes slopes{reinterpret_cast<T*>(memory) + member.team * Slopes::kElements};
  slopes.begin(member.rank, samples_of(member));
  Product product;
  product.take(BackwardWeights<T, 1>{w, member.rank * kOwn, kOwn});
  meet(ticket + 3 + member.team, kTeam);
  T hs[kEach], gs[kEach];  // read a step ahead, and converted where they are used
  float dh[kEach] = {};
  int lengths[kEach];
  take_lengths(member, length_of, lengths);
  const auto load = [&](int s) {
    each_place(member, [&](int e, const Place& at) {
      const i64 element = (at.n * kSteps + step_backward(s)) * kUnits + at.unit;
      hs[e] = h[element], gs[e] = g[element];
    });
  };
  load(0);
#pragma unroll 1
  for (int s = 0; s < kSteps; ++s) {
    const int t = step_backward(s);
    empty_old<1>(member, s, slopes);
    each_place(member, [&](int e, const Place& at) {
      dh[e] += get<float, T>(gs, e);
      const float inner = activation_slope(dh[e], get<float, T>(hs, e));
      const T stored = Stored<T>::from(!kPadded || t < lengths[e] ? inner : 0.0f);
      slopes.template give<1>(s, at.sample, at.unit, {stored});
      dz[(at.n * kSteps + t) * kUnits + at.unit] = stored;
    });
    if (s + 1 < kSteps) load(s + 1);
    product.run(slopes.slot(s), sums, stages);
    each_place(member, [&](int e, const Place& at) {
      if (!kPadded || t < lengths[e]) dh[e] = Product::sum(sums, at.own, at.sample);
    });
  }
  each_place(member, [&](int e, const Place& at) { put<T>(dh0, at.n * kUnits + at.unit, dh[e]); });
  leave_team(ticket);
}
