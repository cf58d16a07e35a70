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
        z_(this->operand(kernel.inputs[0])),
        w_(this->operand(kernel.inputs[1])),
        h0_(this->operand(kernel.inputs[2])),
        h_(this->operand(kernel.outputs[0])),
        weights_(this->weights({this->units_, 1, this->units_, true})),
        states_{this->room(this->units_), this->room(this->units_)},
        sums_(this->room(weights_.row())) {}

  void run(const Run&) override {
    weights_.take(this->read(w_), this->threads_);
    arrays_ = {this->read(z_), this->place(h_)};
    std::copy_n(this->read(h0_), this->samples_ * this->units_, static_cast<R*>(states_[0].data()));
    this->each_share([this](const CellShare& share) { all_steps(share); });
    h_.store(this->threads_);
  }

 private:
  void all_steps(const CellShare& share) {
    const int64_t units = this->units_, first = share.first_sample, from = share.first_unit, own = share.units;
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->forward_step(k);
      R *before = static_cast<R*>(states_[k % 2].data()), *after = static_cast<R*>(states_[(k + 1) % 2].data());
      R* sums = static_cast<R*>(sums_.data());
      weights_.multiply(before + first * units, share.samples(), from, own, sums + first * weights_.row());
      for (int64_t n = first; n < share.last_sample; ++n) {
        const int64_t at = (n * this->steps_ + t) * units + from;
        R *state = after + n * units + from, *sum = sums + n * weights_.row() + from;
        if (this->is_padding(n, t)) {
          std::copy_n(before + n * units + from, own, state);
        } else {
          for (int64_t j = 0; j < own; ++j) sum[j] += arrays_.z[at + j];
          this->activation_.apply(sum, state, own);
          this->round_as_stored(state, own);
        }
        std::copy_n(state, own, arrays_.h + at);
      }
      share.meet();
    }
  }

  struct Arrays {
    const R* z;
    R* h;
  };
  Operand z_, w_, h0_, h_;
  StepWeights<R> weights_;
  Tensor states_[2], sums_;
  Arrays arrays_ = {};
};

template <typename R>
class RecurrentGradientKernel : public CellKernel<R> {
 public:
  RecurrentGradientKernel(const LoweredKernel& kernel, Context& context)
      : CellKernel<R>(kernel, context, kernel.inputs[0], kernel.inputs.size() > 3 ? kernel.inputs[3] : Value{}, 1),
        h_(this->operand(kernel.inputs[0])),
        w_(this->operand(kernel.inputs[1])),
        g_(this->operand(kernel.inputs[2])),
        dz_(this->operand(kernel.outputs[0])),
        dh0_(this->operand(kernel.outputs[1])),
        weights_(this->weights({this->units_, 1, this->units_, false})),
        passed_(this->room(this->units_)),
        inner_{this->room(this->units_), this->room(this->units_)},
        products_(this->room(weights_.row())) {}

  void run(const Run&) override {
    weights_.take(this->read(w_), this->threads_);
    arrays_ = {this->read(h_), this->read(g_), this->place(dz_)};
    std::fill_n(static_cast<R*>(passed_.data()), passed_.elements(), R(0));
    this->each_share([this](const CellShare& share) { all_steps(share); });
    std::copy_n(static_cast<R*>(passed_.data()), passed_.elements(), this->place(dh0_));
    for (Operand* written : {&dz_, &dh0_}) written->store(this->threads_);
  }

 private:
  void all_steps(const CellShare& share) {
    const int64_t units = this->units_, first = share.first_sample, from = share.first_unit, own = share.units;
    R *passed = static_cast<R*>(passed_.data()), *products = static_cast<R*>(products_.data());
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->backward_step(k);
      R* inner = static_cast<R*>(inner_[k % 2].data());
      for (int64_t n = first; n < share.last_sample; ++n) {
        const int64_t at = (n * this->steps_ + t) * units + from;
        R *dh = passed + n * units + from, *dz = inner + n * units + from;
        for (int64_t j = 0; j < own; ++j) dh[j] += arrays_.g[at + j];
        if (this->is_padding(n, t)) std::fill_n(dz, own, R(0));
        else this->activation_.derive(dh, arrays_.h + at, dz, own);
        std::copy_n(dz, own, arrays_.dz + at);
      }
      share.meet();
      weights_.multiply(inner + first * units, share.samples(), from, own, products + first * weights_.row());
      for (int64_t n = first; n < share.last_sample; ++n)
        if (!this->is_padding(n, t)) std::copy_n(products + n * weights_.row() + from, own, passed + n * units + from);
    }
  }

  struct Arrays {
    const R *h, *g;
    R* dz;
  };
  Operand h_, w_, g_, dz_, dh0_;
  StepWeights<R> weights_;
  Tensor passed_, inner_[2], products_;
  Arrays arrays_ = {};
};

const KernelRegistration recurrent_kernels[] = {{ops::recurrent, 0, make_cell_kernel<RecurrentKernel>},
                                                {ops::recurrent_grad, 0, make_cell_kernel<RecurrentGradientKernel>}};

}  // namespace

}  // namespace neon::cpu
