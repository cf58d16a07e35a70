// lstm and lstm_grad; backends/graph/ops_lstm.cpp says what they compute.
#include "backends/cpu/cells.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

template <typename R>
class LstmKernel : public CellKernel<R> {
 public:
  LstmKernel(const LoweredKernel& kernel, Context& context)
      : CellKernel<R>(kernel, context, kernel.outputs[0], kernel.inputs.size() > 4 ? kernel.inputs[4] : Value{}, 4),
        z_(this->operand(kernel.inputs[0])),
        w_(this->operand(kernel.inputs[1])),
        h0_(this->operand(kernel.inputs[2])),
        c0_(this->operand(kernel.inputs[3])),
        h_(this->operand(kernel.outputs[0])),
        c_(this->operand(kernel.outputs[1])),
        gates_(this->operand(kernel.outputs[2])),
        weights_(this->weights({this->units_, 4, this->units_, true})),
        states_{this->room(this->units_), this->room(this->units_)},
        sums_(this->room(weights_.row())) {}

  void run(const Run&) override {
    weights_.take(this->read(w_), this->threads_);
    arrays_ = {this->read(z_), this->read(h0_), this->read(c0_), this->place(h_), this->place(c_), this->place(gates_)};
    std::copy_n(arrays_.h0, this->samples_ * this->units_, static_cast<R*>(states_[0].data()));
    this->each_share([this](const CellShare& share) { all_steps(share); });
    for (Operand* written : {&h_, &c_, &gates_}) written->store(this->threads_);
  }

 private:
  void all_steps(const CellShare& share) {
    const int64_t units = this->units_, first = share.first_sample;
    R* sums = static_cast<R*>(sums_.data());
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->forward_step(k);
      R *before = static_cast<R*>(states_[k % 2].data()), *after = static_cast<R*>(states_[(k + 1) % 2].data());
      weights_.multiply(before + first * units, share.samples(), share.first_unit, share.units,
                        sums + first * weights_.row());
      for (int64_t n = first; n < share.last_sample; ++n)
        step(n, t, share, sums + n * weights_.row(), before + n * units, after + n * units);
      share.meet();
    }
  }

  // Sample n at step t: `before` is the state of the step before, `after` that of this one.
  void step(int64_t n, int64_t t, const CellShare& share, const R* sums, const R* before, R* after) const {
    const int64_t units = this->units_, own = share.units, from = share.first_unit, at = n * this->steps_ + t,
                  last = this->before(t), padded = weights_.row() / 4;
    const R* z = arrays_.z + at * 4 * units + from;
    const R* c_before = (last < 0 ? arrays_.c0 + n * units : arrays_.c + (n * this->steps_ + last) * units) + from;
    R *gates = arrays_.gates + at * 4 * units + from, *c = arrays_.c + at * units + from, *state = after + from;
    for (int64_t gate = 0; gate < 4; ++gate) {
      R* value = gates + gate * units;
      const R* sum = sums + gate * padded + from;
      for (int64_t j = 0; j < own; ++j) value[j] = z[gate * units + j] + sum[j];
      (gate < 3 ? this->gate_ : this->activation_).apply(value, value, own);
    }
    if (this->is_padding(n, t)) {
      std::copy_n(c_before, own, c);
      std::copy_n(before + from, own, state);
    } else {
      const R *i = gates, *f = gates + units, *o = gates + 2 * units, *g = gates + 3 * units;
      for (int64_t j = 0; j < own; ++j) c[j] = f[j] * c_before[j] + i[j] * g[j];
      this->activation_.apply(c, state, own);
      for (int64_t j = 0; j < own; ++j) state[j] = o[j] * state[j];
      this->round_as_stored(state, own);
    }
    std::copy_n(state, own, arrays_.h + at * units + from);
  }

  struct Arrays {
    const R *z, *h0, *c0;
    R *h, *c, *gates;
  };
  Operand z_, w_, h0_, c0_, h_, c_, gates_;
  StepWeights<R> weights_;
  Tensor states_[2], sums_;
  Arrays arrays_ = {};
};

template <typename R>
class LstmGradientKernel : public CellKernel<R> {
 public:
  LstmGradientKernel(const LoweredKernel& kernel, Context& context)
      : LstmGradientKernel(kernel, context, kernel.attributes.integer("state_gradient") ? 6 : 5) {}

  void run(const Run&) override {
    arrays_ = {this->read(gates_), this->read(c_), this->read(c0_), this->read(g_), gc_ ? this->read(*gc_) : nullptr,
               this->place(dz_)};
    weights_.take(this->read(w_), this->threads_);
    for (Tensor* passed : {&dh_, &dc_}) std::fill_n(static_cast<R*>(passed->data()), passed->elements(), R(0));
    this->each_share([this](const CellShare& share) { all_steps(share); });
    std::copy_n(static_cast<R*>(dh_.data()), dh_.elements(), this->place(dh0_));
    std::copy_n(static_cast<R*>(dc_.data()), dc_.elements(), this->place(dc0_));
    for (Operand* written : {&dz_, &dh0_, &dc0_}) written->store(this->threads_);
  }

 private:
  LstmGradientKernel(const LoweredKernel& kernel, Context& context, size_t given)
      : CellKernel<R>(kernel, context, kernel.inputs[1], kernel.inputs.size() > given ? kernel.inputs[given] : Value{},
                      4),
        gates_(this->operand(kernel.inputs[0])),
        c_(this->operand(kernel.inputs[1])),
        w_(this->operand(kernel.inputs[2])),
        c0_(this->operand(kernel.inputs[3])),
        g_(this->operand(kernel.inputs[4])),
        dz_(this->operand(kernel.outputs[0])),
        dh0_(this->operand(kernel.outputs[1])),
        dc0_(this->operand(kernel.outputs[2])),
        weights_(this->weights({4 * this->units_, 1, this->units_, false})),
        dh_(this->room(this->units_)),
        dc_(this->room(this->units_)),
        inner_{this->room(4 * this->units_), this->room(4 * this->units_)},
        products_(this->room(weights_.row())),
        squashed_(this->room(this->units_)) {
    if (given == 6) gc_.emplace(this->operand(kernel.inputs[5]));
  }

  void all_steps(const CellShare& share) {
    const int64_t units = this->units_, first = share.first_sample, row = weights_.row();
    R *dh = static_cast<R*>(dh_.data()), *products = static_cast<R*>(products_.data());
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->backward_step(k);
      R* inner = static_cast<R*>(inner_[k % 2].data());
      for (int64_t n = first; n < share.last_sample; ++n) step(n, t, share, inner + n * 4 * units);
      share.meet();
      weights_.multiply(inner + first * 4 * units, share.samples(), share.first_unit, share.units,
                        products + first * row);
      for (int64_t n = first; n < share.last_sample; ++n)
        if (!this->is_padding(n, t))
          std::copy_n(products + n * row + share.first_unit, share.units, dh + n * units + share.first_unit);
    }
  }

  // Sample n at step t. dh and dc begin as the gradients that the next step passed. dc becomes the gradient that this
  // step passes, and dh the whole gradient of the state, which padding passes on. `inner` (4H) is what the product of
  // the step takes.
  void step(int64_t n, int64_t t, const CellShare& share, R* inner) {
    const int64_t units = this->units_, own = share.units, from = share.first_unit, at = n * this->steps_ + t,
                  last = this->before(t);
    const R *gates = arrays_.gates + at * 4 * units + from, *g = arrays_.g + at * units + from;
    const R *i = gates, *f = gates + units, *o = gates + 2 * units, *candidate = gates + 3 * units;
    const R* c_before = (last < 0 ? arrays_.c0 + n * units : arrays_.c + (n * this->steps_ + last) * units) + from;
    R *dh = static_cast<R*>(dh_.data()) + n * units + from, *dc = static_cast<R*>(dc_.data()) + n * units + from;
    for (int64_t j = 0; j < own; ++j) dh[j] += g[j];
    if (arrays_.gc)
      for (int64_t j = 0; j < own; ++j) dc[j] += arrays_.gc[at * units + from + j];
    R *dz = arrays_.dz + at * 4 * units + from, *di = inner + from;
    R *df = di + units, *d_o = di + 2 * units, *dg = di + 3 * units;
    if (this->is_padding(n, t)) {
      for (int64_t gate = 0; gate < 4; ++gate) {
        std::fill_n(dz + gate * units, own, R(0));
        std::fill_n(di + gate * units, own, R(0));
      }
      return;
    }
    R* y = static_cast<R*>(squashed_.data()) + n * units + from;
    this->activation_.apply(arrays_.c + at * units + from, y, own);
    for (int64_t j = 0; j < own; ++j) di[j] = dh[j] * o[j], d_o[j] = dh[j] * y[j];
    this->activation_.derive(di, y, di, own);
    for (int64_t j = 0; j < own; ++j) {
      const R total = dc[j] + di[j];
      di[j] = total * candidate[j], df[j] = total * c_before[j], dg[j] = total * i[j];
      dc[j] = total * f[j];
    }
    for (int64_t gate = 0; gate < 4; ++gate) {
      R* of_gate = di + gate * units;
      (gate < 3 ? this->gate_ : this->activation_).derive(of_gate, gates + gate * units, of_gate, own);
      std::copy_n(of_gate, own, dz + gate * units);
    }
  }

  struct Arrays {
    const R *gates, *c, *c0, *g, *gc;
    R* dz;
  };
  Operand gates_, c_, w_, c0_, g_, dz_, dh0_, dc0_;
  std::optional<Operand> gc_;
  StepWeights<R> weights_;
  Tensor dh_, dc_, inner_[2], products_, squashed_;
  Arrays arrays_ = {};
};

const KernelRegistration lstm_kernels[] = {{ops::lstm, 0, make_cell_kernel<LstmKernel>},
                                           {ops::lstm_grad, 0, make_cell_kernel<LstmGradientKernel>}};

}  // namespace

}  // namespace neon::cpu
