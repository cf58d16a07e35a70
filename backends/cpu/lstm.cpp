// lstm and lstm_grad; backends/graph/ops_lstm.cpp says what they compute.
#include "backends/cpu/cells.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

template <typename R>
class LstmKernel : public CellKernel<R> {
 public:
  LstmKernel(const LoweredKernel& kernel, Context& context)
      : CellKernel<R>(kernel, context, kernel.outputs[0], kernel.inputs.size() > 4 ? kernel.inputs[4] : Value{}),
        z_(this->operand(kernel.inputs[0])),
        w_(this->operand(kernel.inputs[1])),
        h0_(this->operand(kernel.inputs[2])),
        c0_(this->operand(kernel.inputs[3])),
        h_(this->operand(kernel.outputs[0])),
        c_(this->operand(kernel.outputs[1])),
        gates_(this->operand(kernel.outputs[2])),
        product_(this->product(this->units_, 4 * this->units_, true)),
        state_(this->room(this->units_)),
        sums_(this->room(4 * this->units_)) {}

  void run(const Run&) override {
    const int64_t units = this->units_, steps = this->steps_;
    const R *z = this->read(z_), *h0 = this->read(h0_), *c0 = this->read(c0_);
    R *h = this->place(h_), *c = this->place(c_), *gates = this->place(gates_);
    R *state = static_cast<R*>(state_.data()), *sums = static_cast<R*>(sums_.data());
    product_->take(this->read(w_));
    std::copy_n(h0, this->samples_ * units, state);
    for (int64_t k = 0; k < steps; ++k) {
      const int64_t t = this->forward_step(k), last = this->before(t);
      product_->multiply(state, sums);
      this->each_sample(8 * units, [&](int64_t n) {
        const int64_t at = n * steps + t;
        const R* c_before = last < 0 ? c0 + n * units : c + (n * steps + last) * units;
        step(z + at * 4 * units, sums + n * 4 * units, c_before, this->is_padding(n, t), state + n * units,
             c + at * units, gates + at * 4 * units);
        std::copy_n(state + n * units, units, h + at * units);
      });
    }
    for (Operand* written : {&h_, &c_, &gates_}) written->store(this->threads_);
  }

 private:
  // `state` is h of the step before, and becomes that of this one.
  void step(const R* z, const R* sums, const R* c_before, bool padding, R* state, R* c, R* gates) const {
    const int64_t units = this->units_;
    for (int64_t j = 0; j < 4 * units; ++j) gates[j] = z[j] + sums[j];
    this->gate_.apply(gates, gates, 3 * units);
    this->activation_.apply(gates + 3 * units, gates + 3 * units, units);
    if (padding) {
      std::copy_n(c_before, units, c);
      return;
    }
    const R *i = gates, *f = gates + units, *o = gates + 2 * units, *g = gates + 3 * units;
    for (int64_t j = 0; j < units; ++j) c[j] = f[j] * c_before[j] + i[j] * g[j];
    this->activation_.apply(c, state, units);
    for (int64_t j = 0; j < units; ++j) state[j] = o[j] * state[j];
    this->round_as_stored(state, units);
  }

  Operand z_, w_, h0_, c0_, h_, c_, gates_;
  std::unique_ptr<StepProduct<R>> product_;
  Tensor state_, sums_;
};

template <typename R>
class LstmGradientKernel : public CellKernel<R> {
 public:
  LstmGradientKernel(const LoweredKernel& kernel, Context& context)
      : LstmGradientKernel(kernel, context, kernel.attributes.integer("state_gradient") ? 6 : 5) {}

  void run(const Run&) override {
    const int64_t units = this->units_, steps = this->steps_;
    arrays_ = {this->read(gates_), this->read(c_), this->read(c0_), this->read(g_), gc_ ? this->read(*gc_) : nullptr,
               this->place(dz_)};
    R *dh = static_cast<R*>(dh_passed_.data()), *dc = static_cast<R*>(dc_passed_.data()),
      *inner = static_cast<R*>(inner_.data());
    product_->take(this->read(w_));
    for (Tensor* passed : {&dh_passed_, &dc_passed_})
      std::fill_n(static_cast<R*>(passed->data()), passed->elements(), R(0));
    for (int64_t k = 0; k < steps; ++k) {
      const int64_t t = this->backward_step(k);
      this->each_sample(12 * units,
                        [&](int64_t n) { step(n, t, dh + n * units, dc + n * units, inner + n * 4 * units); });
      product_->multiply(inner, static_cast<R*>(products_.data()));
      const R* products = static_cast<const R*>(products_.data());
      for (int64_t n = 0; n < this->samples_; ++n)
        if (!this->is_padding(n, t)) std::copy_n(products + n * units, units, dh + n * units);
    }
    std::copy_n(dh, this->samples_ * units, this->place(dh0_));
    std::copy_n(dc, this->samples_ * units, this->place(dc0_));
    for (Operand* written : {&dz_, &dh0_, &dc0_}) written->store(this->threads_);
  }

 private:
  LstmGradientKernel(const LoweredKernel& kernel, Context& context, size_t given)
      : CellKernel<R>(kernel, context, kernel.inputs[1], kernel.inputs.size() > given ? kernel.inputs[given] : Value{}),
        gates_(this->operand(kernel.inputs[0])),
        c_(this->operand(kernel.inputs[1])),
        w_(this->operand(kernel.inputs[2])),
        c0_(this->operand(kernel.inputs[3])),
        g_(this->operand(kernel.inputs[4])),
        dz_(this->operand(kernel.outputs[0])),
        dh0_(this->operand(kernel.outputs[1])),
        dc0_(this->operand(kernel.outputs[2])),
        product_(this->product(4 * this->units_, this->units_, false)),
        dh_passed_(this->room(this->units_)),
        dc_passed_(this->room(this->units_)),
        inner_(this->room(4 * this->units_)),
        products_(this->room(this->units_)),
        squashed_(this->room(this->units_)) {
    if (given == 6) gc_.emplace(this->operand(kernel.inputs[5]));
  }

  // Sample n at step t. dh and dc begin as the gradients that the next step passed. dc becomes the gradient that this
  // step passes, and dh the whole gradient of the state, which padding passes on.
  void step(int64_t n, int64_t t, R* dh, R* dc, R* inner) {
    const int64_t units = this->units_, at = n * this->steps_ + t, last = this->before(t);
    const R *gates = arrays_.gates + at * 4 * units, *g = arrays_.g + at * units;
    const R *i = gates, *f = gates + units, *o = gates + 2 * units, *candidate = gates + 3 * units;
    const R* c_before = last < 0 ? arrays_.c0 + n * units : arrays_.c + (n * this->steps_ + last) * units;
    for (int64_t j = 0; j < units; ++j) dh[j] += g[j];
    if (arrays_.gc)
      for (int64_t j = 0; j < units; ++j) dc[j] += arrays_.gc[at * units + j];
    R* dz = arrays_.dz + at * 4 * units;
    if (this->is_padding(n, t)) {
      std::fill_n(dz, 4 * units, R(0));
      std::fill_n(inner, 4 * units, R(0));
      return;
    }
    R *di = inner, *df = inner + units, *d_o = inner + 2 * units, *dg = inner + 3 * units;
    R* y = static_cast<R*>(squashed_.data()) + n * units;
    this->activation_.apply(arrays_.c + at * units, y, units);
    for (int64_t j = 0; j < units; ++j) di[j] = dh[j] * o[j], d_o[j] = dh[j] * y[j];
    this->activation_.derive(di, y, di, units);
    for (int64_t j = 0; j < units; ++j) {
      const R total = dc[j] + di[j];
      di[j] = total * candidate[j], df[j] = total * c_before[j], dg[j] = total * i[j];
      dc[j] = total * f[j];
    }
    this->gate_.derive(inner, gates, inner, 3 * units);
    this->activation_.derive(dg, candidate, dg, units);
    std::copy_n(inner, 4 * units, dz);
  }

  struct Arrays {
    const R *gates, *c, *c0, *g, *gc;
    R* dz;
  };
  Operand gates_, c_, w_, c0_, g_, dz_, dh0_, dc0_;
  std::optional<Operand> gc_;
  std::unique_ptr<StepProduct<R>> product_;
  Tensor dh_passed_, dc_passed_, inner_, products_, squashed_;
  Arrays arrays_ = {};
};

const KernelRegistration lstm_kernels[] = {{ops::lstm, 0, make_cell_kernel<LstmKernel>},
                                           {ops::lstm_grad, 0, make_cell_kernel<LstmGradientKernel>}};

}  // namespace

}  // namespace neon::cpu
