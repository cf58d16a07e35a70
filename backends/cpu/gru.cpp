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
        z_(this->operand(kernel.inputs[0])),
        w_(this->operand(kernel.inputs[1])),
        h0_(this->operand(kernel.inputs[2])),
        h_(this->operand(kernel.outputs[0])),
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
    arrays_ = {this->read(z_), this->place(h_), this->place(gates_)};
    std::copy_n(this->read(h0_), this->samples_ * this->units_, static_cast<R*>(state_.data()));
    this->each_share([this](const CellShare& share) { all_steps(share); });
    for (Operand* written : {&h_, &gates_}) written->store(this->threads_);
  }

 private:
  void all_steps(const CellShare& share) {
    const int64_t units = this->units_, first = share.first_sample;
    const R *state = static_cast<R*>(state_.data()), *reset = static_cast<R*>(reset_.data());
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->forward_step(k);
      gate_weights_.multiply(state + first * units, share.samples(), share.first_unit, share.units,
                             static_cast<R*>(sums_.data()) + first * gate_weights_.row());
      for (int64_t n = first; n < share.last_sample; ++n) find_gates(n, t, share);
      share.meet();
      candidate_weights_.multiply(reset + first * units, share.samples(), share.first_unit, share.units,
                                  static_cast<R*>(candidates_.data()) + first * candidate_weights_.row());
      for (int64_t n = first; n < share.last_sample; ++n) find_state(n, t, share);
      share.meet();
    }
  }

  // Both gates of sample n at step t, and the state as the reset gate leaves it to the candidate.
  void find_gates(int64_t n, int64_t t, const CellShare& share) {
    const int64_t units = this->units_, own = share.units, from = share.first_unit, row = gate_weights_.row(),
                  at = (n * this->steps_ + t) * 3 * units + from;
    const R *sums = static_cast<const R*>(sums_.data()) + n * row + from,
            *state = static_cast<const R*>(state_.data()) + n * units + from;
    for (int64_t gate = 0; gate < 2; ++gate) {
      R* value = arrays_.gates + at + gate * units;
      for (int64_t j = 0; j < own; ++j) value[j] = arrays_.z[at + gate * units + j] + sums[gate * row / 2 + j];
      this->gate_.apply(value, value, own);
    }
    R* reset = static_cast<R*>(reset_.data()) + n * units + from;
    for (int64_t j = 0; j < own; ++j) reset[j] = arrays_.gates[at + j] * state[j];
  }

  void find_state(int64_t n, int64_t t, const CellShare& share) {
    const int64_t units = this->units_, own = share.units, from = share.first_unit, at = n * this->steps_ + t;
    const R* sums = static_cast<const R*>(candidates_.data()) + n * candidate_weights_.row() + from;
    const R *z = arrays_.z + at * 3 * units + 2 * units + from, *u = arrays_.gates + at * 3 * units + units + from;
    R *candidate = arrays_.gates + at * 3 * units + 2 * units + from,
      *state = static_cast<R*>(state_.data()) + n * units + from;
    for (int64_t j = 0; j < own; ++j) candidate[j] = z[j] + sums[j];
    this->activation_.apply(candidate, candidate, own);
    if (!this->is_padding(n, t))
      for (int64_t j = 0; j < own; ++j) state[j] = (R(1) - u[j]) * state[j] + u[j] * candidate[j];
    this->round_as_stored(state, own);
    std::copy_n(state, own, arrays_.h + at * units + from);
  }

  struct Arrays {
    const R* z;
    R *h, *gates;
  };
  Operand z_, w_, h0_, h_, gates_;
  StepWeights<R> gate_weights_, candidate_weights_;
  Tensor state_, reset_, sums_, candidates_;
  Arrays arrays_ = {};
};

template <typename R>
class GruGradientKernel : public CellKernel<R> {
 public:
  GruGradientKernel(const LoweredKernel& kernel, Context& context)
      : CellKernel<R>(kernel, context, kernel.inputs[1], kernel.inputs.size() > 5 ? kernel.inputs[5] : Value{}, 3),
        gates_(this->operand(kernel.inputs[0])),
        h_(this->operand(kernel.inputs[1])),
        w_(this->operand(kernel.inputs[2])),
        h0_(this->operand(kernel.inputs[3])),
        g_(this->operand(kernel.inputs[4])),
        dz_(this->operand(kernel.outputs[0])),
        dh0_(this->operand(kernel.outputs[1])),
        gate_weights_(this->weights({2 * this->units_, 1, this->units_, false})),
        candidate_weights_(this->weights({this->units_, 1, this->units_, false})),
        passed_(this->room(this->units_)),
        of_candidate_(this->room(this->units_)),
        of_reset_(this->room(candidate_weights_.row())),
        of_gates_(this->room(2 * this->units_)),
        products_(this->room(gate_weights_.row())) {}

  void run(const Run&) override {
    arrays_ = {this->read(gates_), this->read(h_), this->read(h0_), this->read(g_), this->place(dz_)};
    const R* w = this->read(w_);
    gate_weights_.take(w, this->threads_);
    candidate_weights_.take(w + 2 * this->units_ * this->units_, this->threads_);
    std::fill_n(static_cast<R*>(passed_.data()), passed_.elements(), R(0));
    this->each_share([this](const CellShare& share) { all_steps(share); });
    std::copy_n(static_cast<R*>(passed_.data()), passed_.elements(), this->place(dh0_));
    for (Operand* written : {&dz_, &dh0_}) written->store(this->threads_);
  }

 private:
  void all_steps(const CellShare& share) {
    const int64_t units = this->units_, first = share.first_sample, row = gate_weights_.row();
    const R *of_candidate = static_cast<R*>(of_candidate_.data()), *of_gates = static_cast<R*>(of_gates_.data());
    R *of_reset = static_cast<R*>(of_reset_.data()), *products = static_cast<R*>(products_.data());
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->backward_step(k);
      for (int64_t n = first; n < share.last_sample; ++n) candidate(n, t, share);
      share.meet();
      candidate_weights_.multiply(of_candidate + first * units, share.samples(), share.first_unit, share.units,
                                  of_reset + first * row);
      for (int64_t n = first; n < share.last_sample; ++n) gates(n, t, share);
      share.meet();
      gate_weights_.multiply(of_gates + first * 2 * units, share.samples(), share.first_unit, share.units,
                             products + first * row);
      for (int64_t n = first; n < share.last_sample; ++n) pass(n, t, share);
    }
  }

  // Gradient of the candidate before its activation, from all that the state of step t was given.
  void candidate(int64_t n, int64_t t, const CellShare& share) {
    const int64_t units = this->units_, own = share.units, from = share.first_unit, at = n * this->steps_ + t;
    const R *u = arrays_.gates + at * 3 * units + units + from, *value = u + units, *g = arrays_.g + at * units + from;
    R *dh = static_cast<R*>(passed_.data()) + n * units + from,
      *dn = static_cast<R*>(of_candidate_.data()) + n * units + from;
    for (int64_t j = 0; j < own; ++j) dh[j] += g[j];
    if (this->is_padding(n, t)) return void(std::fill_n(dn, own, R(0)));
    for (int64_t j = 0; j < own; ++j) dn[j] = dh[j] * u[j];
    this->activation_.derive(dn, value, dn, own);
  }

  // Gradients of the gates, and the gradient of the previous state without the part from the gates' product.
  void gates(int64_t n, int64_t t, const CellShare& share) {
    const int64_t units = this->units_, own = share.units, from = share.first_unit, at = n * this->steps_ + t,
                  last = this->before(t);
    const R *r = arrays_.gates + at * 3 * units + from, *u = r + units, *value = u + units;
    const R* state = (last < 0 ? arrays_.h0 + n * units : arrays_.h + (n * this->steps_ + last) * units) + from;
    const R* of_reset = static_cast<const R*>(of_reset_.data()) + n * candidate_weights_.row() + from;
    R *dh = static_cast<R*>(passed_.data()) + n * units + from,
      *dr = static_cast<R*>(of_gates_.data()) + n * 2 * units + from, *du = dr + units,
      *dz = arrays_.dz + at * 3 * units + from;
    if (this->is_padding(n, t)) {
      for (int64_t gate = 0; gate < 3; ++gate) std::fill_n(dz + gate * units, own, R(0));
      std::fill_n(dr, own, R(0));
      std::fill_n(du, own, R(0));
      return;
    }
    for (int64_t j = 0; j < own; ++j) {
      dr[j] = of_reset[j] * state[j];
      du[j] = dh[j] * (value[j] - state[j]);
      dh[j] = dh[j] * (R(1) - u[j]) + of_reset[j] * r[j];
    }
    this->gate_.derive(dr, r, dr, own);
    this->gate_.derive(du, u, du, own);
    std::copy_n(dr, own, dz);
    std::copy_n(du, own, dz + units);
    std::copy_n(static_cast<const R*>(of_candidate_.data()) + n * units + from, own, dz + 2 * units);
  }

  // The part from the gates' product.
  void pass(int64_t n, int64_t t, const CellShare& share) {
    if (this->is_padding(n, t)) return;
    const R* products = static_cast<const R*>(products_.data()) + n * gate_weights_.row() + share.first_unit;
    R* dh = static_cast<R*>(passed_.data()) + n * this->units_ + share.first_unit;
    for (int64_t j = 0; j < share.units; ++j) dh[j] += products[j];
  }

  struct Arrays {
    const R *gates, *h, *h0, *g;
    R* dz;
  };
  Operand gates_, h_, w_, h0_, g_, dz_, dh0_;
  StepWeights<R> gate_weights_, candidate_weights_;
  Tensor passed_, of_candidate_, of_reset_, of_gates_, products_;
  Arrays arrays_ = {};
};

const KernelRegistration gru_kernels[] = {{ops::gru, 0, make_cell_kernel<GruKernel>},
                                          {ops::gru_grad, 0, make_cell_kernel<GruGradientKernel>}};

}  // namespace

}  // namespace neon::cpu
