// gru and gru_grad; backends/graph/ops_gru.cpp says what they compute. The weights w (3H,H) are two: those of both
// gates (2H,H), and those of the candidate (H,H), whose product waits for the reset gate.
#include "backends/cpu/cells.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

template <typename R>
class GruKernel : public CellKernel<R> {
 public:
  GruKernel(const LoweredKernel& kernel, Context& context)
      : CellKernel<R>(kernel, context, kernel.outputs[0], kernel.inputs.size() > 3 ? kernel.inputs[3] : Value{}, 3),
        z_(this->step_rows(kernel.inputs[0], 3)),
        h_(this->step_rows(kernel.outputs[0], 1)),
        w_(this->operand(kernel.inputs[1])),
        h0_(this->operand(kernel.inputs[2])),
        gates_(this->operand(kernel.outputs[1])),
        gate_weights_(this->weights({this->units_, 2, this->units_, true})),
        candidate_weights_(this->weights({this->units_, 1, this->units_, true})),
        state_(this->room(this->units_)),
        reset_(this->room(this->units_)),
        sums_(this->room(gate_weights_.row())),
        candidates_(this->room(candidate_weights_.row())) {}

  void run(const Run&) override {
    const R* w = this->read(w_);
    gate_weights_.take(w, this->threads_);
    candidate_weights_.take(w + 2 * this->units_ * this->units_, this->threads_);
    z_.begin_reading(this->threads_);
    h_.begin_writing();
    gates_at_ = this->place(gates_);
    std::copy_n(this->read(h0_), this->samples_ * this->units_, static_cast<R*>(state_.data()));
    this->each_share([this](const CellShare& share) { all_steps(share); });
    h_.end_writing(this->threads_);
    gates_.store(this->threads_);
  }

 private:
  void all_steps(const CellShare& share) {
    const R *state = static_cast<R*>(state_.data()), *reset = static_cast<R*>(reset_.data());
    R *sums = static_cast<R*>(sums_.data()), *candidates = static_cast<R*>(candidates_.data());
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->forward_step(k);
      gate_weights_.multiply(state, share, sums);
      this->each_row(
          share, t, [&](int64_t row) { fetch(row, share); },
          [&](int64_t n, int64_t) {
            const R* of_gates = sums + n * gate_weights_.row() + share.first_unit;
            find_gates(share.units, row_of(n, t, share, {of_gates, gate_weights_.row() / 2}));
          });
      share.meet();
      candidate_weights_.multiply(reset, share, candidates);
      for (int64_t n = share.first_sample; n < share.last_sample; ++n) {
        const R* of_candidate = candidates + n * candidate_weights_.row() + share.first_unit;
        find_state(n, t, share, row_of(n, t, share, {of_candidate, 0}));
      }
      share.meet();
    }
  }

  void fetch(int64_t row, const CellShare& share) const {
    for (const StepRows<R>* rows : {&z_, &h_}) rows->fetch(row, share);
    for (int64_t gate = 0; gate < 3; ++gate)
      fetch_line(gates_at_ + (row * 3 + gate) * this->units_ + share.first_unit, size_t(share.units) * sizeof(R));
  }

  // The numbers of a sample at a step.
  struct Row {
    RowParts<const R> z, sums;
    RowParts<R> gates;
    R *h, *reset;
  };
  Row row_of(int64_t n, int64_t t, const CellShare& share, RowParts<const R> sums) {
    const int64_t units = this->units_, at = n * this->steps_ + t, first = n * units + share.first_unit;
    return {z_.read(at, share, this->spare(share, 0)),
            sums,
            {gates_at_ + at * 3 * units + share.first_unit, units},
            static_cast<R*>(state_.data()) + first,
            static_cast<R*>(reset_.data()) + first};
  }
  static elementwise::GruValues values(int64_t n, const Row& row) {
    return {n, {row.z.at, row.z.gap}, {row.sums.at, row.sums.gap}, {row.gates.at, row.gates.gap}, row.h, row.reset};
  }

  // Both gates, and the state as the reset gate leaves it to the candidate.
  void find_gates(int64_t n, const Row& row) {
    if constexpr (std::is_same_v<R, float>)
      if (this->usual_) return elementwise::active_level().cells->gru_gates(values(n, row));
    for (int64_t gate = 0; gate < 2; ++gate) {
      R* value = row.gates.at + gate * row.gates.gap;
      for (int64_t j = 0; j < n; ++j) value[j] = row.z.at[gate * row.z.gap + j] + row.sums.at[gate * row.sums.gap + j];
      this->gate_.apply(value, value, n);
    }
    for (int64_t j = 0; j < n; ++j) row.reset[j] = row.gates.at[j] * row.h[j];
  }

  void find_state(int64_t n, int64_t t, const CellShare& share, const Row& row) {
    const int64_t own = share.units, at = n * this->steps_ + t;
    R* before = this->spare(share, 1);
    std::copy_n(row.h, own, before);
    new_state(own, row);
    if (this->is_padding(n, t)) std::copy_n(before, own, row.h);
    this->round_as_stored(row.h, own);
    std::copy_n(row.h, own, h_.place(at, share, before).at);
    h_.keep(at, share, row.h);
  }

  void new_state(int64_t n, const Row& row) {
    if constexpr (std::is_same_v<R, float>)
      if (this->usual_) return elementwise::active_level().cells->gru_state(values(n, row));
    const R *u = row.gates.at + row.gates.gap, *z = row.z.at + 2 * row.z.gap;
    R* candidate = row.gates.at + 2 * row.gates.gap;
    for (int64_t j = 0; j < n; ++j) candidate[j] = z[j] + row.sums.at[j];
    this->activation_.apply(candidate, candidate, n);
    for (int64_t j = 0; j < n; ++j) row.h[j] = (R(1) - u[j]) * row.h[j] + u[j] * candidate[j];
  }

  StepRows<R> z_, h_;
  Operand w_, h0_, gates_;
  StepWeights<R> gate_weights_, candidate_weights_;
  Tensor state_, reset_, sums_, candidates_;
  R* gates_at_ = nullptr;
};

template <typename R>
class GruGradientKernel : public CellKernel<R> {
 public:
  GruGradientKernel(const LoweredKernel& kernel, Context& context)
      : CellKernel<R>(kernel, context, kernel.inputs[1], kernel.inputs.size() > 5 ? kernel.inputs[5] : Value{}, 3),
        gates_(this->step_rows(kernel.inputs[0], 3)),
        h_(this->step_rows(kernel.inputs[1], 1)),
        g_(this->step_rows(kernel.inputs[4], 1)),
        dz_(this->step_rows(kernel.outputs[0], 3)),
        w_(this->operand(kernel.inputs[2])),
        h0_(this->operand(kernel.inputs[3])),
        dh0_(this->operand(kernel.outputs[1])),
        gate_weights_(this->weights({2 * this->units_, 1, this->units_, false})),
        candidate_weights_(this->weights({this->units_, 1, this->units_, false})),
        passed_(this->room(this->units_)),
        of_candidate_(this->room(this->units_)),
        of_reset_(this->room(candidate_weights_.row())),
        of_gates_(this->room(2 * this->units_)),
        products_(this->room(gate_weights_.row())) {}

  void run(const Run&) override {
    for (StepRows<R>* read : {&gates_, &h_, &g_}) read->begin_reading(this->threads_);
    dz_.begin_writing();
    h0_at_ = this->read(h0_);
    const R* w = this->read(w_);
    gate_weights_.take(w, this->threads_);
    candidate_weights_.take(w + 2 * this->units_ * this->units_, this->threads_);
    std::fill_n(static_cast<R*>(passed_.data()), passed_.elements(), R(0));
    this->each_share([this](const CellShare& share) { all_steps(share); });
    std::copy_n(static_cast<R*>(passed_.data()), passed_.elements(), this->place(dh0_));
    dz_.end_writing(this->threads_);
    dh0_.store(this->threads_);
  }

 private:
  void all_steps(const CellShare& share) {
    const R *of_candidate = static_cast<R*>(of_candidate_.data()), *of_gates = static_cast<R*>(of_gates_.data());
    R *of_reset = static_cast<R*>(of_reset_.data()), *products = static_cast<R*>(products_.data());
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->backward_step(k);
      this->each_row(
          share, t, [&](int64_t row) { fetch(row, share); }, [&](int64_t n, int64_t) { candidate(n, t, share); });
      share.meet();
      candidate_weights_.multiply(of_candidate, share, of_reset);
      for (int64_t n = share.first_sample; n < share.last_sample; ++n) gates(n, t, share);
      share.meet();
      gate_weights_.multiply(of_gates, share, products);
      for (int64_t n = share.first_sample; n < share.last_sample; ++n) pass(n, t, share);
    }
  }

  void fetch(int64_t row, const CellShare& share) const {
    for (const StepRows<R>* rows : {&gates_, &g_, &dz_}) rows->fetch(row, share);
  }

  // The numbers of a sample at a step.
  struct Row {
    RowParts<const R> gates;
    const R *h_before, *g, *of_reset;
    R *dh, *dn;
    RowParts<R> of_gates;
  };
  Row row_of(int64_t n, int64_t t, const CellShare& share, const R* h_before, const R* g) {
    const int64_t units = this->units_, first = n * units + share.first_unit;
    return {gates_.read(n * this->steps_ + t, share, this->spare(share, 0)),
            h_before,
            g,
            static_cast<const R*>(of_reset_.data()) + n * candidate_weights_.row() + share.first_unit,
            static_cast<R*>(passed_.data()) + first,
            static_cast<R*>(of_candidate_.data()) + first,
            {static_cast<R*>(of_gates_.data()) + n * 2 * units + share.first_unit, units}};
  }
  static elementwise::GruGradients values(int64_t n, const Row& row) {
    return {n,      {row.gates.at, row.gates.gap},      row.h_before, row.g, row.of_reset, row.dh,
            row.dn, {row.of_gates.at, row.of_gates.gap}};
  }

  // Gradient of the candidate before its activation, from all that the state of step t was given.
  void candidate(int64_t n, int64_t t, const CellShare& share) {
    const int64_t own = share.units;
    const Row row = row_of(n, t, share, nullptr, g_.read(n * this->steps_ + t, share, this->spare(share, 1)).at);
    if (this->is_padding(n, t)) {
      for (int64_t j = 0; j < own; ++j) row.dh[j] += row.g[j];
      return void(std::fill_n(row.dn, own, R(0)));
    }
    if constexpr (std::is_same_v<R, float>)
      if (this->usual_) return elementwise::active_level().cells->gru_candidate_gradient(values(own, row));
    const R *u = row.gates.at + row.gates.gap, *value = u + row.gates.gap;
    for (int64_t j = 0; j < own; ++j) row.dh[j] += row.g[j];
    for (int64_t j = 0; j < own; ++j) row.dn[j] = row.dh[j] * u[j];
    this->activation_.derive(row.dn, value, row.dn, own);
  }

  // Gradients of the gates, and the gradient of the previous state without the part from the gates' product.
  void gates(int64_t n, int64_t t, const CellShare& share) {
    const int64_t own = share.units, at = n * this->steps_ + t, last = this->before(t);
    const R* before = last < 0 ? h0_at_ + n * this->units_ + share.first_unit
                               : h_.read(n * this->steps_ + last, share, this->spare(share, 1)).at;
    const Row row = row_of(n, t, share, before, nullptr);
    if (this->is_padding(n, t))
      for (int64_t gate = 0; gate < 2; ++gate) std::fill_n(row.of_gates.at + gate * row.of_gates.gap, own, R(0));
    else gates_gradient(own, row);
    const RowParts<R> dz = dz_.place(at, share, this->spare(share, 2));
    for (int64_t gate = 0; gate < 2; ++gate)
      std::copy_n(row.of_gates.at + gate * row.of_gates.gap, own, dz.at + gate * dz.gap);
    std::copy_n(row.dn, own, dz.at + 2 * dz.gap);
    dz_.keep(at, share, dz.at);
  }

  void gates_gradient(int64_t n, const Row& row) {
    if constexpr (std::is_same_v<R, float>)
      if (this->usual_) return elementwise::active_level().cells->gru_gates_gradient(values(n, row));
    const R *r = row.gates.at, *u = r + row.gates.gap, *value = u + row.gates.gap;
    R *dr = row.of_gates.at, *du = dr + row.of_gates.gap;
    for (int64_t j = 0; j < n; ++j) {
      dr[j] = row.of_reset[j] * row.h_before[j];
      du[j] = row.dh[j] * (value[j] - row.h_before[j]);
      row.dh[j] = row.dh[j] * (R(1) - u[j]) + row.of_reset[j] * r[j];
    }
    this->gate_.derive(dr, r, dr, n);
    this->gate_.derive(du, u, du, n);
  }

  // The part from the gates' product.
  void pass(int64_t n, int64_t t, const CellShare& share) {
    if (this->is_padding(n, t)) return;
    const R* products = static_cast<const R*>(products_.data()) + n * gate_weights_.row() + share.first_unit;
    R* dh = static_cast<R*>(passed_.data()) + n * this->units_ + share.first_unit;
    for (int64_t j = 0; j < share.units; ++j) dh[j] += products[j];
  }

  StepRows<R> gates_, h_, g_, dz_;
  Operand w_, h0_, dh0_;
  StepWeights<R> gate_weights_, candidate_weights_;
  Tensor passed_, of_candidate_, of_reset_, of_gates_, products_;
  const R* h0_at_ = nullptr;
};

const KernelRegistration gru_kernels[] = {
    {ops::gru, 0, make_cell_kernel<GruKernel>, {.result = 1, .operand = 0}},
    {ops::gru_grad, 0, make_cell_kernel<GruGradientKernel>, {.result = 0, .operand = 0}}};

}  // namespace

}  // namespace neon::cpu
