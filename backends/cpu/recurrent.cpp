// recurrent and recurrent_grad; backends/graph/ops_recurrent.cpp says what they compute.
#include "backends/cpu/cells.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

template <typename R>
class RecurrentKernel : public CellKernel<R> {
 public:
  RecurrentKernel(const LoweredKernel& kernel, Context& context)
      : CellKernel<R>(kernel, context, kernel.outputs[0], kernel.inputs.size() > 3 ? kernel.inputs[3] : Value{}),
        z_(this->operand(kernel.inputs[0])),
        w_(this->operand(kernel.inputs[1])),
        h0_(this->operand(kernel.inputs[2])),
        h_(this->operand(kernel.outputs[0])),
        product_(this->product(this->units_, this->units_, true)),
        state_(this->room(this->units_)),
        sums_(this->room(this->units_)) {}

  void run(const Run&) override {
    const int64_t units = this->units_;
    const R *z = this->read(z_), *h0 = this->read(h0_);
    R *h = this->place(h_), *state = static_cast<R*>(state_.data()), *sums = static_cast<R*>(sums_.data());
    product_->take(this->read(w_));
    std::copy_n(h0, this->samples_ * units, state);
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->forward_step(k);
      product_->multiply(state, sums);
      this->each_sample(4 * units, [&](int64_t n) {
        const int64_t at = (n * this->steps_ + t) * units;
        R *own = state + n * units, *sum = sums + n * units;
        if (!this->is_padding(n, t)) {
          for (int64_t j = 0; j < units; ++j) sum[j] += z[at + j];
          this->activation_.apply(sum, own, units);
          this->round_as_stored(own, units);
        }
        std::copy_n(own, units, h + at);
      });
    }
    h_.store(this->threads_);
  }

 private:
  Operand z_, w_, h0_, h_;
  std::unique_ptr<StepProduct<R>> product_;
  Tensor state_, sums_;
};

template <typename R>
class RecurrentGradientKernel : public CellKernel<R> {
 public:
  RecurrentGradientKernel(const LoweredKernel& kernel, Context& context)
      : CellKernel<R>(kernel, context, kernel.inputs[0], kernel.inputs.size() > 3 ? kernel.inputs[3] : Value{}),
        h_(this->operand(kernel.inputs[0])),
        w_(this->operand(kernel.inputs[1])),
        g_(this->operand(kernel.inputs[2])),
        dz_(this->operand(kernel.outputs[0])),
        dh0_(this->operand(kernel.outputs[1])),
        product_(this->product(this->units_, this->units_, false)),
        passed_(this->room(this->units_)),
        inner_(this->room(this->units_)),
        products_(this->room(this->units_)) {}

  void run(const Run&) override {
    const int64_t units = this->units_;
    const R *h = this->read(h_), *g = this->read(g_);
    R *dz = this->place(dz_), *passed = static_cast<R*>(passed_.data()), *inner = static_cast<R*>(inner_.data()),
      *products = static_cast<R*>(products_.data());
    product_->take(this->read(w_));
    std::fill_n(passed, passed_.elements(), R(0));
    for (int64_t k = 0; k < this->steps_; ++k) {
      const int64_t t = this->backward_step(k);
      this->each_sample(4 * units, [&](int64_t n) {
        const int64_t at = (n * this->steps_ + t) * units;
        R *dh = passed + n * units, *own = inner + n * units;
        for (int64_t j = 0; j < units; ++j) dh[j] += g[at + j];
        if (this->is_padding(n, t)) std::fill_n(own, units, R(0));
        else this->activation_.derive(dh, h + at, own, units);
        std::copy_n(own, units, dz + at);
      });
      product_->multiply(inner, products);
      for (int64_t n = 0; n < this->samples_; ++n)
        if (!this->is_padding(n, t)) std::copy_n(products + n * units, units, passed + n * units);
    }
    std::copy_n(passed, passed_.elements(), this->place(dh0_));
    for (Operand* written : {&dz_, &dh0_}) written->store(this->threads_);
  }

 private:
  Operand h_, w_, g_, dz_, dh0_;
  std::unique_ptr<StepProduct<R>> product_;
  Tensor passed_, inner_, products_;
};

const KernelRegistration recurrent_kernels[] = {{ops::recurrent, 0, make_cell_kernel<RecurrentKernel>},
                                                {ops::recurrent_grad, 0, make_cell_kernel<RecurrentGradientKernel>}};

}  // namespace

}  // namespace neon::cpu
