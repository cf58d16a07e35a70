// lstm and lstm_grad; backends/graph/ops_lstm.cpp says what they compute.
#include "backends/cpu/cells.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

using elementwise::LstmGradients, elementwise::LstmValues;

template <typename T>
void lstm_values(const LstmValues<T>& given) {
  const elementwise::Cells& cells = *elementwise::active_level().cells;
  if constexpr (std::is_same_v<T, float>) cells.lstm(given);
  else cells.lstm_in_bf16(given);
}
template <typename T>
void lstm_gradients(const LstmGradients<T>& given) {
  const elementwise::Cells& cells = *elementwise::active_level().cells;
  if constexpr (std::is_same_v<T, float>) cells.lstm_gradient(given);
  else cells.lstm_gradient_in_bf16(given);
}

template <typename R>
class LstmKernel : public CellKernel<R> {
 public:
  LstmKernel(const LoweredKernel& kernel, Context& context)
      : CellKernel<R>(kernel, context, kernel.outputs[0], kernel.inputs.size() > 4 ? kernel.inputs[4] : Value{}, 4),
        z_(this->step_rows(kernel.inputs[0], 4)),
        h_(this->step_rows(kernel.outputs[0], 1)),
        gates_(this->step_rows(kernel.outputs[2], 4)),
        w_(this->operand(kernel.inputs[1])),
        h0_(this->operand(kernel.inputs[2])),
        c0_(this->operand(kernel.inputs[3])),
        c_(this->operand(kernel.outputs[1])),
        weights_(this->weights({this->units_, 4, this->units_, true})),
        states_{this->room(this->units_), this->room(this->units_)},
        sums_(this->room(weights_.row())) {}

  void run(const Run&) override {
    weights_.take(this->read(w_), this->threads_);
    z_.begin_reading(this->threads_);
    h_.begin_writing();
    gates_.begin_writing();
    c0_at_ = this->read(c0_), c_at_ = this->place(c_);
    std::copy_n(this->read(h0_), this->samples_ * this->units_, static_cast<R*>(states_[0].data()));
    this->each_share([this](const CellShare& share) { all_steps(share); });
    c_.store(this->threads_);
    for (StepRows<R>* written : {&h_, &gates_}) written->end_writing(this->threads_);
  }

 private:
  void all_steps(const CellShare& share) {
    const int64_t units = this->units_;
    R* sums = static_cast<R*>(sums_.data());
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->forward_step(k);
      R *before = static_cast<R*>(states_[k % 2].data()), *after = static_cast<R*>(states_[(k + 1) % 2].data());
      weights_.multiply(before, share, sums);
      this->each_row(
          share, t, [&](int64_t row) { fetch(row, share); },
          [&](int64_t n, int64_t) {
            step(n, t, share, sums + n * weights_.row(), before + n * units, after + n * units);
          });
      share.meet();
    }
  }

  void fetch(int64_t row, const CellShare& share) const {
    for (const StepRows<R>* rows : {&z_, &gates_, &h_}) rows->fetch(row, share);
    fetch_line(c_at_ + row * this->units_ + share.first_unit, size_t(share.units) * sizeof(R));
  }
  // Sample n at step t: `before` is the state of the step before, `after` that of this one.
  void step(int64_t n, int64_t t, const CellShare& share, const R* sums, const R* before, R* after) const {
    if constexpr (std::is_same_v<R, float>) {
      if (lie_as<float>()) return usual_step<float>(n, t, share, sums, before, after);
      if (lie_as<uint16_t>()) return usual_step<uint16_t>(n, t, share, sums, before, after);
    }
    const int64_t units = this->units_, own = share.units, from = share.first_unit, at = n * this->steps_ + t,
                  last = this->before(t);
    const RowParts<const R> z = z_.read(at, share, this->spare(share, 0)), sum = {sums + from, weights_.row() / 4};
    const RowParts<R> gates = gates_.place(at, share, this->spare(share, 1));
    const R* c_before = (last < 0 ? c0_at_ + n * units : c_at_ + (n * this->steps_ + last) * units) + from;
    R *c = c_at_ + at * units + from, *state = after + from;
    values(own, z, sum, c_before, gates, c, state);
    if (this->is_padding(n, t)) {
      std::copy_n(c_before, own, c);
      std::copy_n(before + from, own, state);
    }
    this->round_as_stored(state, own);
    gates_.keep(at, share, gates.at);
    std::copy_n(state, own, h_.place(at, share, this->spare(share, 2)).at);
    h_.keep(at, share, state);
  }

  template <typename T>
  bool lie_as() const {
    return this->usual_ && z_.template lie_as<T>() && h_.template lie_as<T>() && gates_.template lie_as<T>();
  }
  // The same, of arrays that lie as T, in one pass.
  template <typename T>
  void usual_step(int64_t n, int64_t t, const CellShare& share, const R* sums, const R* before, R* after) const {
    const int64_t units = this->units_, own = share.units, from = share.first_unit, at = n * this->steps_ + t,
                  last = this->before(t);
    const R* c_before = (last < 0 ? c0_at_ + n * units : c_at_ + (n * this->steps_ + last) * units) + from;
    R *c = c_at_ + at * units + from, *state = after + from;
    const RowParts<T> z = z_.template parts_as<T>(at, share), gates = gates_.template parts_as<T>(at, share),
                      h = h_.template parts_as<T>(at, share);
    lstm_values(LstmValues<T>{
        own, {z.at, z.gap}, {sums + from, weights_.row() / 4}, c_before, {gates.at, gates.gap}, c, state, h.at});
    if (!this->is_padding(n, t)) return;
    std::copy_n(c_before, own, c);
    std::copy_n(before + from, own, state);
    std::copy_n(state, own, h_.place(at, share, this->spare(share, 2)).at);
    h_.keep(at, share, state);
  }

  void values(int64_t n, RowParts<const R> z, RowParts<const R> sums, const R* c_before, RowParts<R> gates, R* c,
              R* h) const {
    if constexpr (std::is_same_v<R, float>)
      if (this->usual_)
        return lstm_values(
            LstmValues<float>{n, {z.at, z.gap}, {sums.at, sums.gap}, c_before, {gates.at, gates.gap}, c, h, h});
    for (int64_t gate = 0; gate < 4; ++gate) {
      R* value = gates.at + gate * gates.gap;
      for (int64_t j = 0; j < n; ++j) value[j] = z.at[gate * z.gap + j] + sums.at[gate * sums.gap + j];
      (gate < 3 ? this->gate_ : this->activation_).apply(value, value, n);
    }
    const R *i = gates.at, *f = i + gates.gap, *o = f + gates.gap, *g = o + gates.gap;
    for (int64_t j = 0; j < n; ++j) c[j] = f[j] * c_before[j] + i[j] * g[j];
    this->activation_.apply(c, h, n);
    for (int64_t j = 0; j < n; ++j) h[j] = o[j] * h[j];
  }

  StepRows<R> z_, h_, gates_;
  Operand w_, h0_, c0_, c_;
  StepWeights<R> weights_;
  Tensor states_[2], sums_;
  const R* c0_at_ = nullptr;
  R* c_at_ = nullptr;
};

template <typename R>
class LstmGradientKernel : public CellKernel<R> {
 public:
  LstmGradientKernel(const LoweredKernel& kernel, Context& context)
      : LstmGradientKernel(kernel, context, kernel.attributes.integer("state_gradient") ? 6 : 5) {}

  void run(const Run&) override {
    for (StepRows<R>* read : {&gates_, &g_}) read->begin_reading(this->threads_);
    dz_.begin_writing();
    arrays_ = {this->read(c_), this->read(c0_), gc_ ? this->read(*gc_) : nullptr};
    weights_.take(this->read(w_), this->threads_);
    for (Tensor* passed : {&dh_, &dc_}) std::fill_n(static_cast<R*>(passed->data()), passed->elements(), R(0));
    this->each_share([this](const CellShare& share) { all_steps(share); });
    std::copy_n(static_cast<R*>(dh_.data()), dh_.elements(), this->place(dh0_));
    std::copy_n(static_cast<R*>(dc_.data()), dc_.elements(), this->place(dc0_));
    dz_.end_writing(this->threads_);
    for (Operand* written : {&dh0_, &dc0_}) written->store(this->threads_);
  }

 private:
  LstmGradientKernel(const LoweredKernel& kernel, Context& context, size_t given)
      : CellKernel<R>(kernel, context, kernel.inputs[1], kernel.inputs.size() > given ? kernel.inputs[given] : Value{},
                      4),
        gates_(this->step_rows(kernel.inputs[0], 4)),
        g_(this->step_rows(kernel.inputs[4], 1)),
        dz_(this->step_rows(kernel.outputs[0], 4)),
        c_(this->operand(kernel.inputs[1])),
        w_(this->operand(kernel.inputs[2])),
        c0_(this->operand(kernel.inputs[3])),
        dh0_(this->operand(kernel.outputs[1])),
        dc0_(this->operand(kernel.outputs[2])),
        weights_(this->weights({4 * this->units_, 1, this->units_, false})),
        dh_(this->room(this->units_)),
        dc_(this->room(this->units_)),
        inner_{this->room(4 * this->units_), this->room(4 * this->units_)},
        products_(this->room(weights_.row())) {
    if (given == 6) gc_.emplace(this->operand(kernel.inputs[5]));
  }

  void all_steps(const CellShare& share) {
    const int64_t units = this->units_, first = share.first_sample, row = weights_.row();
    R *dh = static_cast<R*>(dh_.data()), *products = static_cast<R*>(products_.data());
    const bool straight = row == units && !this->may_pad();
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->backward_step(k);
      R* inner = static_cast<R*>(inner_[k % 2].data());
      this->each_row(
          share, t, [&](int64_t row) { fetch(row, share); },
          [&](int64_t n, int64_t) { step(n, t, share, inner + n * 4 * units); });
      share.meet();
      weights_.multiply(inner, share, straight ? dh : products);
      for (int64_t n = first; n < share.last_sample && !straight; ++n)
        if (!this->is_padding(n, t))
          std::copy_n(products + n * row + share.first_unit, share.units, dh + n * units + share.first_unit);
    }
  }

  void fetch(int64_t row, const CellShare& share) const {
    for (const StepRows<R>* rows : {&gates_, &g_, &dz_}) rows->fetch(row, share);
  }
  // Sample n at step t. dh and dc begin as the gradients that the next step passed. dc becomes the gradient that this
  // step passes, and dh the whole gradient of the state, which padding passes on. `inner` (4H) is what the product of
  // the step takes.
  void step(int64_t n, int64_t t, const CellShare& share, R* inner) {
    const int64_t units = this->units_, own = share.units, from = share.first_unit, at = n * this->steps_ + t,
                  last = this->before(t);
    const R* c_before = (last < 0 ? arrays_.c0 + n * units : arrays_.c + (n * this->steps_ + last) * units) + from;
    R *dh = static_cast<R*>(dh_.data()) + n * units + from, *dc = static_cast<R*>(dc_.data()) + n * units + from;
    if constexpr (std::is_same_v<R, float>)
      if (!this->is_padding(n, t)) {
        if (lie_as<float>()) return usual_step<float>(at, share, c_before, dh, dc, inner + from);
        if (lie_as<uint16_t>()) return usual_step<uint16_t>(at, share, c_before, dh, dc, inner + from);
      }
    const R *g = g_.read(at, share, this->spare(share, 0)).at,
            *gc = arrays_.gc ? arrays_.gc + at * units + from : nullptr;
    const RowParts<R> of_gates = {inner + from, units}, dz = dz_.place(at, share, this->spare(share, 1));
    if (this->is_padding(n, t)) {
      for (int64_t j = 0; j < own; ++j) dh[j] += g[j];
      if (gc)
        for (int64_t j = 0; j < own; ++j) dc[j] += gc[j];
      for (int64_t gate = 0; gate < 4; ++gate) std::fill_n(of_gates.at + gate * of_gates.gap, own, R(0));
    } else {
      const RowParts<const R> gates = gates_.read(at, share, this->spare(share, 2));
      gradients(own, gates, {arrays_.c + at * units + from, c_before, g, gc}, dh, dc, of_gates);
    }
    for (int64_t gate = 0; gate < 4; ++gate) std::copy_n(of_gates.at + gate * of_gates.gap, own, dz.at + gate * dz.gap);
    dz_.keep(at, share, dz.at);
  }

  template <typename T>
  bool lie_as() const {
    return this->usual_ && gates_.template lie_as<T>() && g_.template lie_as<T>() && dz_.template lie_as<T>();
  }
  // The same for one row, of arrays that lie as T, in one pass.
  template <typename T>
  void usual_step(int64_t at, const CellShare& share, const R* c_before, R* dh, R* dc, R* inner) const {
    const int64_t units = this->units_, first = at * units + share.first_unit;
    const RowParts<T> gates = gates_.template parts_as<T>(at, share), g = g_.template parts_as<T>(at, share),
                      dz = dz_.template parts_as<T>(at, share);
    lstm_gradients(LstmGradients<T>{share.units,
                                    {gates.at, gates.gap},
                                    arrays_.c + first,
                                    c_before,
                                    g.at,
                                    arrays_.gc ? arrays_.gc + first : nullptr,
                                    dh,
                                    dc,
                                    {inner, units},
                                    {dz.at, dz.gap}});
  }

  struct Given {
    const R *c, *c_before, *g, *gc;
  };
  void gradients(int64_t n, RowParts<const R> gates, const Given& given, R* dh, R* dc, RowParts<R> dz) {
    if constexpr (std::is_same_v<R, float>)
      if (this->usual_)
        return lstm_gradients(LstmGradients<float>{n,
                                                   {gates.at, gates.gap},
                                                   given.c,
                                                   given.c_before,
                                                   given.g,
                                                   given.gc,
                                                   dh,
                                                   dc,
                                                   {dz.at, dz.gap},
                                                   {dz.at, dz.gap}});
    for (int64_t j = 0; j < n; ++j) dh[j] += given.g[j];
    if (given.gc)
      for (int64_t j = 0; j < n; ++j) dc[j] += given.gc[j];
    const R *i = gates.at, *f = i + gates.gap, *o = f + gates.gap, *candidate = o + gates.gap;
    R *di = dz.at, *df = di + dz.gap, *d_o = df + dz.gap, *dg = d_o + dz.gap;
    // dg is room for tanh(c) until it gets its own values.
    R* y = dg;
    this->activation_.apply(given.c, y, n);
    for (int64_t j = 0; j < n; ++j) di[j] = dh[j] * o[j], d_o[j] = dh[j] * y[j];
    this->activation_.derive(di, y, di, n);
    for (int64_t j = 0; j < n; ++j) {
      const R total = dc[j] + di[j];
      di[j] = total * candidate[j], df[j] = total * given.c_before[j], dg[j] = total * i[j];
      dc[j] = total * f[j];
    }
    for (int64_t gate = 0; gate < 4; ++gate) {
      R* of_gate = dz.at + gate * dz.gap;
      (gate < 3 ? this->gate_ : this->activation_).derive(of_gate, gates.at + gate * gates.gap, of_gate, n);
    }
  }

  struct Arrays {
    const R *c, *c0, *gc;
  };
  StepRows<R> gates_, g_, dz_;
  Operand c_, w_, c0_, dh0_, dc0_;
  std::optional<Operand> gc_;
  StepWeights<R> weights_;
  Tensor dh_, dc_, inner_[2], products_;
  Arrays arrays_ = {};
};

const KernelRegistration lstm_kernels[] = {
    {ops::lstm, 0, make_cell_kernel<LstmKernel>, {.result = 2, .operand = 0}},
    {ops::lstm_grad, 0, make_cell_kernel<LstmGradientKernel>, {.result = 0, .operand = 0}}};

}  // namespace

}  // namespace neon::cpu
