// recurrent and recurrent_grad; backends/graph/ops_recurrent.cpp says what they compute.
#include "backends/cpu/cells.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

template <typename R>
class RecurrentKernel : public CellKernel<R> {
 public:
  RecurrentKernel(const LoweredKernel& kernel, Context& context)
      : CellKernel<R>(kernel, context, kernel.outputs[0], kernel.inputs.size() > 3 ? kernel.inputs[3] : Value{}, 1),
        z_(this->step_rows(kernel.inputs[0], 1)),
        h_(this->step_rows(kernel.outputs[0], 1)),
        w_(this->operand(kernel.inputs[1])),
        h0_(this->operand(kernel.inputs[2])),
        weights_(this->weights({this->units_, 1, this->units_, true})),
        states_{this->room(this->units_), this->room(this->units_)},
        sums_(this->room(weights_.row())) {}

  void run(const Run&) override {
    weights_.take(this->read(w_), this->threads_);
    z_.begin_reading(this->threads_);
    h_.begin_writing();
    std::copy_n(this->read(h0_), this->samples_ * this->units_, static_cast<R*>(states_[0].data()));
    this->each_share([this](const CellShare& share) { all_steps(share); });
    h_.end_writing(this->threads_);
  }

 private:
  void all_steps(const CellShare& share) {
    const int64_t units = this->units_, from = share.first_unit, own = share.units;
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->forward_step(k);
      R *before = static_cast<R*>(states_[k % 2].data()), *after = static_cast<R*>(states_[(k + 1) % 2].data());
      R* sums = static_cast<R*>(sums_.data());
      weights_.multiply(before, share, sums);
      const auto fetch = [&](int64_t row) {
        for (const StepRows<R>* rows : {&z_, &h_}) rows->fetch(row, share);
      };
      this->each_row(share, t, fetch, [&](int64_t n, int64_t at) {
        R *state = after + n * units + from, *sum = sums + n * weights_.row() + from;
        if (this->is_padding(n, t)) {
          std::copy_n(before + n * units + from, own, state);
        } else {
          const R* z = z_.read(at, share, this->spare(share, 0)).at;
          for (int64_t j = 0; j < own; ++j) sum[j] += z[j];
          this->activation_.apply(sum, state, own);
          this->round_as_stored(state, own);
        }
        std::copy_n(state, own, h_.place(at, share, this->spare(share, 1)).at);
        h_.keep(at, share, state);
      });
      share.meet();
    }
  }

  StepRows<R> z_, h_;
  Operand w_, h0_;
  StepWeights<R> weights_;
  Tensor states_[2], sums_;
};

template <typename R>
class RecurrentGradientKernel : public CellKernel<R> {
 public:
  RecurrentGradientKernel(const LoweredKernel& kernel, Context& context)
      : CellKernel<R>(kernel, context, kernel.inputs[0], kernel.inputs.size() > 3 ? kernel.inputs[3] : Value{}, 1),
        h_(this->step_rows(kernel.inputs[0], 1)),
        g_(this->step_rows(kernel.inputs[2], 1)),
        dz_(this->step_rows(kernel.outputs[0], 1)),
        w_(this->operand(kernel.inputs[1])),
        dh0_(this->operand(kernel.outputs[1])),
        weights_(this->weights({this->units_, 1, this->units_, false})),
        passed_(this->room(this->units_)),
        inner_{this->room(this->units_), this->room(this->units_)},
        products_(this->room(weights_.row())) {}

  void run(const Run&) override {
    weights_.take(this->read(w_), this->threads_);
    for (StepRows<R>* read : {&h_, &g_}) read->begin_reading(this->threads_);
    dz_.begin_writing();
    std::fill_n(static_cast<R*>(passed_.data()), passed_.elements(), R(0));
    this->each_share([this](const CellShare& share) { all_steps(share); });
    std::copy_n(static_cast<R*>(passed_.data()), passed_.elements(), this->place(dh0_));
    dz_.end_writing(this->threads_);
    dh0_.store(this->threads_);
  }

 private:
  void all_steps(const CellShare& share) {
    const int64_t units = this->units_, first = share.first_sample, from = share.first_unit, own = share.units;
    R *passed = static_cast<R*>(passed_.data()), *products = static_cast<R*>(products_.data());
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->backward_step(k);
      R* inner = static_cast<R*>(inner_[k % 2].data());
      const auto fetch = [&](int64_t row) {
        for (const StepRows<R>* rows : {&h_, &g_, &dz_}) rows->fetch(row, share);
      };
      this->each_row(share, t, fetch, [&](int64_t n, int64_t at) {
        R *dh = passed + n * units + from, *dz = inner + n * units + from;
        const R* g = g_.read(at, share, this->spare(share, 0)).at;
        for (int64_t j = 0; j < own; ++j) dh[j] += g[j];
        if (this->is_padding(n, t)) std::fill_n(dz, own, R(0));
        else this->activation_.derive(dh, h_.read(at, share, this->spare(share, 1)).at, dz, own);
        std::copy_n(dz, own, dz_.place(at, share, this->spare(share, 2)).at);
        dz_.keep(at, share, dz);
      });
      share.meet();
      weights_.multiply(inner, share, products);
      for (int64_t n = first; n < share.last_sample; ++n)
        if (!this->is_padding(n, t)) std::copy_n(products + n * weights_.row() + from, own, passed + n * units + from);
    }
  }

  StepRows<R> h_, g_, dz_;
  Operand w_, dh0_;
  StepWeights<R> weights_;
  Tensor passed_, inner_[2], products_;
};

const KernelRegistration recurrent_kernels[] = {
    {ops::recurrent, 0, make_cell_kernel<RecurrentKernel>, {.result = 0, .operand = 0}},
    {ops::recurrent_grad, 0, make_cell_kernel<RecurrentGradientKernel>, {.result = 0, .operand = 2}}};

}  // namespace

}  // namespace neon::cpu
