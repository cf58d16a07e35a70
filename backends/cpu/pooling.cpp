// Pooling: the loops of level_pool.cpp over all runs of windows, in parallel over rows of outputs; the gradients, whose
// windows may overlap, over samples.
#include <omp.h>

#include <algorithm>
#include <limits>

#include "backends/cpu/operand.h"
#include "backends/cpu/pool_plan.h"

namespace neon::cpu {

namespace {

using elementwise::Pooling;
using elementwise::PoolRun;

template <typename R>
const Pooling<R>& loops() {
  if constexpr (std::is_same_v<R, float>) return *elementwise::active_level().pool_f32;
  else return *elementwise::active_level().pool_f64;
}

// The four ops; what they have in common.
template <typename R>
class PoolKernel : public Kernel {
 public:
  PoolKernel(const LoweredKernel& kernel, Context& context, Value x, Value y)
      : plan_(kernel.attributes, context.type(x).shape, context.type(y).shape),
        input_(context, kernel.inputs[0], dtype_of<R>()),
        result_(context, kernel.outputs[0], dtype_of<R>()),
        all_threads_(context.threads),
        threads_(plan_.samples * plan_.elements > 16384 ? context.threads : 1) {
    for (int thread = 0; thread < threads_; ++thread) places_.emplace_back(plan_);
  }
  std::string implementation() const override { return "pooling"; }

 protected:
  const R* load() { return static_cast<const R*>(input_.load(all_threads_)); }
  R* place() { return static_cast<R*>(result_.place()); }
  void store() { result_.store(all_threads_); }

  // Calls visit(run, x, y) with where each run begins in the whole arrays, rows in parallel.
  template <typename Visit>
  void each_row(Visit&& visit) {
    const int64_t rows = plan_.rows();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t i = 0; i < plan_.samples * rows; ++i) visit_row(i / rows, i % rows, visit);
  }
  // The same in parallel over samples, each after `prepare` of its part of x.
  template <typename Prepare, typename Visit>
  void each_sample(Prepare&& prepare, Visit&& visit) {
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t n = 0; n < plan_.samples; ++n) {
      prepare(n * plan_.elements, plan_.elements);
      for (int64_t row = 0; row < plan_.rows(); ++row) visit_row(n, row, visit);
    }
  }

  const PoolPlan plan_;

 private:
  template <typename Visit>
  void visit_row(int64_t n, int64_t row, Visit&& visit) {
    plan_.each_run(row, places_[size_t(omp_get_thread_num())], [&](const PoolRun& run, int64_t x, int64_t y) {
      visit(run, n * plan_.elements + x, n * plan_.outputs + y);
    });
  }

  Operand input_, result_;
  int all_threads_, threads_;
  std::vector<PoolPlan::Places> places_;  // by thread
};

// P is the type of positions.
template <typename R, typename P>
class MaximumKernel : public PoolKernel<R> {
 public:
  MaximumKernel(const LoweredKernel& kernel, Context& context)
      : PoolKernel<R>(kernel, context, kernel.inputs[0], kernel.outputs[0]),
        positions_(context.slot(kernel.outputs[1])),
        least_(kernel.relu ? R(0) : -std::numeric_limits<R>::infinity()) {}
  void run(const Run&) override {
    const R* x = this->load();
    R* y = this->place();
    P* positions = static_cast<P*>(*positions_);
    this->each_row([&](const PoolRun& run, int64_t from, int64_t to) {
      if constexpr (sizeof(P) == 1) loops<R>().maximum_u8(run, x + from, least_, y + to, positions + to);
      else loops<R>().maximum_i32(run, x + from, least_, y + to, positions + to);
    });
    this->store();
  }

 private:
  void** positions_;
  R least_;
};

// The gradients go from y to x. Where an element belongs to several windows or to none, sums begin at zero.
template <typename R, typename P>
class MaximumGradientKernel : public PoolKernel<R> {
 public:
  MaximumGradientKernel(const LoweredKernel& kernel, Context& context)
      : PoolKernel<R>(kernel, context, kernel.outputs[0], kernel.inputs[0]),
        positions_(context.slot(kernel.inputs[1])),
        add_(!this->plan_.covers_once()) {}
  void run(const Run&) override {
    const R* y = this->load();
    R* x = this->place();
    const P* positions = static_cast<const P*>(*positions_);
    this->each_sample(
        [&](int64_t first, int64_t n) {
          if (add_) std::fill_n(x + first, n, R(0));
        },
        [&](const PoolRun& run, int64_t to, int64_t from) {
          if constexpr (sizeof(P) == 1) loops<R>().maximum_gradient_u8(run, y + from, positions + from, add_, x + to);
          else loops<R>().maximum_gradient_i32(run, y + from, positions + from, add_, x + to);
        });
    this->store();
  }

 private:
  void** positions_;
  bool add_;
};

template <typename R>
class AverageKernel : public PoolKernel<R> {
 public:
  AverageKernel(const LoweredKernel& kernel, Context& context)
      : PoolKernel<R>(kernel, context, kernel.inputs[0], kernel.outputs[0]),
        whole_(kernel.attributes.integer("count_padding")) {}
  void run(const Run&) override {
    const R* x = this->load();
    R* y = this->place();
    this->each_row([&](const PoolRun& run, int64_t from, int64_t to) {
      loops<R>().average(run, x + from, R(whole_ ? this->plan_.places() : run.count), y + to);
    });
    this->store();
  }

 private:
  bool whole_;
};

template <typename R>
class AverageGradientKernel : public PoolKernel<R> {
 public:
  AverageGradientKernel(const LoweredKernel& kernel, Context& context)
      : PoolKernel<R>(kernel, context, kernel.outputs[0], kernel.inputs[0]),
        whole_(kernel.attributes.integer("count_padding")),
        add_(!this->plan_.covers_once()) {}
  void run(const Run&) override {
    const R* y = this->load();
    R* x = this->place();
    this->each_sample(
        [&](int64_t first, int64_t n) {
          if (add_) std::fill_n(x + first, n, R(0));
        },
        [&](const PoolRun& run, int64_t to, int64_t from) {
          const R divisor = R(whole_ ? this->plan_.places() : run.count);
          loops<R>().average_gradient(run, y + from, divisor, add_, x + to);
        });
    this->store();
  }

 private:
  bool whole_, add_;
};

template <template <typename, typename> class Kernels>
std::unique_ptr<Kernel> make_with_positions(const LoweredKernel& kernel, Context& context) {
  const Value positions = kernel.op == "pool_max" ? kernel.outputs[1] : kernel.inputs[1];
  const bool f64 = context.type(kernel.outputs[0]).dtype == DType::f64;
  if (context.type(positions).dtype == DType::u8) {
    if (f64) return std::make_unique<Kernels<double, uint8_t>>(kernel, context);
    return std::make_unique<Kernels<float, uint8_t>>(kernel, context);
  }
  if (f64) return std::make_unique<Kernels<double, int32_t>>(kernel, context);
  return std::make_unique<Kernels<float, int32_t>>(kernel, context);
}

template <template <typename> class Kernels>
std::unique_ptr<Kernel> make(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.outputs[0]).dtype == DType::f64) return std::make_unique<Kernels<double>>(kernel, context);
  return std::make_unique<Kernels<float>>(kernel, context);
}

const KernelRegistration registrations[] = {
    {"pool_max", 0, make_with_positions<MaximumKernel>},
    {"pool_max_gradient", 0, make_with_positions<MaximumGradientKernel>},
    {"pool_avg", 0, make<AverageKernel>},
    {"pool_avg_gradient", 0, make<AverageGradientKernel>},
};

}  // namespace

}  // namespace neon::cpu
