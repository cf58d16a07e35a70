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
      : CellKernel<R>(kernel, context, kernel.outputs[0], kernel.inputs.size() > 3 ? kernel.inputs[3] : Value{}),
        z_(this->operand(kernel.inputs[0])),
        w_(this->operand(kernel.inputs[1])),
        h0_(this->operand(kernel.inputs[2])),
        h_(this->operand(kernel.outputs[0])),
        gates_(this->operand(kernel.outputs[1])),
        gate_product_(this->product(this->units_, 2 * this->units_, true)),
        candidate_product_(this->product(this->units_, this->units_, true)),
        state_(this->room(this->units_)),
        reset_(this->room(this->units_)),
        sums_(this->room(2 * this->units_)),
        candidates_(this->room(this->units_)) {}

  void run(const Run&) override {
    const int64_t units = this->units_;
    const R *z = this->read(z_), *w = this->read(w_), *h0 = this->read(h0_);
    R *h = this->place(h_), *gates = this->place(gates_), *state = static_cast<R*>(state_.data()),
      *reset = static_cast<R*>(reset_.data()), *sums = static_cast<R*>(sums_.data()),
      *candidates = static_cast<R*>(candidates_.data());
    gate_product_->take(w);
    candidate_product_->take(w + 2 * units * units);
    std::copy_n(h0, this->samples_ * units, state);
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->forward_step(k);
      gate_product_->multiply(state, sums);
      this->each_sample(4 * units, [&](int64_t n) {
        const int64_t at = (n * this->steps_ + t) * 3 * units;
        R* own = gates + at;
        for (int64_t j = 0; j < 2 * units; ++j) own[j] = z[at + j] + sums[n * 2 * units + j];
        this->gate_.apply(own, own, 2 * units);
        for (int64_t j = 0; j < units; ++j) reset[n * units + j] = own[j] * state[n * units + j];
      });
      candidate_product_->multiply(reset, candidates);
      this->each_sample(4 * units, [&](int64_t n) {
        const int64_t at = n * this->steps_ + t;
        R *own = gates + at * 3 * units, *last = state + n * units;
        const R* u = own + units;
        R* candidate = own + 2 * units;
        for (int64_t j = 0; j < units; ++j)
          candidate[j] = z[at * 3 * units + 2 * units + j] + candidates[n * units + j];
        this->activation_.apply(candidate, candidate, units);
        if (!this->is_padding(n, t))
          for (int64_t j = 0; j < units; ++j) last[j] = (R(1) - u[j]) * last[j] + u[j] * candidate[j];
        this->round_as_stored(last, units);
        std::copy_n(last, units, h + at * units);
      });
    }
    for (Operand* written : {&h_, &gates_}) written->store(this->threads_);
  }

 private:
  Operand z_, w_, h0_, h_, gates_;
  std::unique_ptr<StepProduct<R>> gate_product_, candidate_product_;
  Tensor state_, reset_, sums_, candidates_;
};

template <typename R>
class GruGradientKernel : public CellKernel<R> {
 public:
  GruGradientKernel(const LoweredKernel& kernel, Context& context)
      : CellKernel<R>(kernel, context, kernel.inputs[1], kernel.inputs.size() > 5 ? kernel.inputs[5] : Value{}),
        gates_(this->operand(kernel.inputs[0])),
        h_(this->operand(kernel.inputs[1])),
        w_(this->operand(kernel.inputs[2])),
        h0_(this->operand(kernel.inputs[3])),
        g_(this->operand(kernel.inputs[4])),
        dz_(this->operand(kernel.outputs[0])),
        dh0_(this->operand(kernel.outputs[1])),
        gate_product_(this->product(2 * this->units_, this->units_, false)),
        candidate_product_(this->product(this->units_, this->units_, false)),
        passed_(this->room(this->units_)),
        of_candidate_(this->room(this->units_)),
        of_reset_(this->room(this->units_)),
        of_gates_(this->room(2 * this->units_)),
        products_(this->room(this->units_)) {}

  void run(const Run&) override {
    const int64_t units = this->units_;
    arrays_ = {this->read(gates_), this->read(h_), this->read(h0_), this->read(g_), this->place(dz_)};
    const R* w = this->read(w_);
    gate_product_->take(w);
    candidate_product_->take(w + 2 * units * units);
    R* passed = static_cast<R*>(passed_.data());
    std::fill_n(passed, passed_.elements(), R(0));
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->backward_step(k);
      this->each_sample(4 * units, [&](int64_t n) { candidate(n, t); });
      candidate_product_->multiply(static_cast<R*>(of_candidate_.data()), static_cast<R*>(of_reset_.data()));
      this->each_sample(6 * units, [&](int64_t n) { gates(n, t); });
      gate_product_->multiply(static_cast<R*>(of_gates_.data()), static_cast<R*>(products_.data()));
      const R* products = static_cast<const R*>(products_.data());
      for (int64_t n = 0; n < this->samples_; ++n)
        if (!this->is_padding(n, t))
          for (int64_t j = 0; j < units; ++j) passed[n * units + j] += products[n * units + j];
    }
    std::copy_n(passed, passed_.elements(), this->place(dh0_));
    for (Operand* written : {&dz_, &dh0_}) written->store(this->threads_);
  }

 private:
  // Gradient of the candidate before its activation, from all that the state of step t was given.
  void candidate(int64_t n, int64_t t) {
    const int64_t units = this->units_, at = n * this->steps_ + t;
    const R *u = arrays_.gates + at * 3 * units + units, *value = u + units, *g = arrays_.g + at * units;
    R *dh = static_cast<R*>(passed_.data()) + n * units, *dn = static_cast<R*>(of_candidate_.data()) + n * units;
    for (int64_t j = 0; j < units; ++j) dh[j] += g[j];
    if (this->is_padding(n, t)) return void(std::fill_n(dn, units, R(0)));
    for (int64_t j = 0; j < units; ++j) dn[j] = dh[j] * u[j];
    this->activation_.derive(dn, value, dn, units);
  }

  // Gradients of the gates, and the gradient of the previous state without the part from the gates' product.
  void gates(int64_t n, int64_t t) {
    const int64_t units = this->units_, at = n * this->steps_ + t, last = this->before(t);
    const R *r = arrays_.gates + at * 3 * units, *u = r + units, *value = u + units;
    const R* state = last < 0 ? arrays_.h0 + n * units : arrays_.h + (n * this->steps_ + last) * units;
    const R* of_reset = static_cast<const R*>(of_reset_.data()) + n * units;
    R *dh = static_cast<R*>(passed_.data()) + n * units, *inner = static_cast<R*>(of_gates_.data()) + n * 2 * units,
      *dz = arrays_.dz + at * 3 * units;
    if (this->is_padding(n, t)) {
      std::fill_n(inner, 2 * units, R(0));
      std::fill_n(dz, 3 * units, R(0));
      return;
    }
    for (int64_t j = 0; j < units; ++j) {
      inner[j] = of_reset[j] * state[j];
      inner[units + j] = dh[j] * (value[j] - state[j]);
      dh[j] = dh[j] * (R(1) - u[j]) + of_reset[j] * r[j];
    }
    this->gate_.derive(inner, r, inner, 2 * units);
    std::copy_n(inner, 2 * units, dz);
    std::copy_n(static_cast<const R*>(of_candidate_.data()) + n * units, units, dz + 2 * units);
  }

  struct Arrays {
    const R *gates, *h, *h0, *g;
    R* dz;
  };
  Operand gates_, h_, w_, h0_, g_, dz_, dh0_;
  std::unique_ptr<StepProduct<R>> gate_product_, candidate_product_;
  Tensor passed_, of_candidate_, of_reset_, of_gates_, products_;
  Arrays arrays_ = {};
};

const KernelRegistration gru_kernels[] = {{ops::gru, 0, make_cell_kernel<GruKernel>},
                                          {ops::gru_grad, 0, make_cell_kernel<GruGradientKernel>}};

}  // namespace

}  // namespace neon::cpu
