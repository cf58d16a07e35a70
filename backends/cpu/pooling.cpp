// Pooling: the loops of level_pool.cpp over all runs of windows, in parallel over bands, which are some rows of a
// sample's windows; of the gradients, where windows overlap, over samples. Arrays of 16 bits are converted band by
// band, so that what is computed with stays in the processor's cache.
#include <omp.h>

#include <algorithm>
#include <limits>

#include "backends/cpu/kernel.h"
#include "backends/cpu/pool_plan.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

using elementwise::Pooling;
using elementwise::PoolRun;
using Elements = PoolPlan::Elements;

constexpr int64_t kBand = 8192;  // elements of x, where one row of windows does not take more

// One of the two arrays; where its type is not that of the arithmetic, or it is written in rows apart, each thread has
// room for a band.
template <typename R>
class Side {
 public:
  Side(Context& context, Value value, int64_t band, int threads)
      : slot_(context.slot(value)),
        size_(size_of(context.type(value).dtype)),
        placement_(context.lowered.placements[size_t(value.id)]) {
    const DType dtype = context.type(value).dtype, compute = dtype_of<R>();
    if (dtype == compute && !placement_) return;
    load_ = elementwise::load_function(dtype, compute);
    store_ = elementwise::store_function(compute, dtype);
    for (int thread = 0; thread < threads; ++thread) rooms_.emplace_back(compute, Shape{band});
  }
  // Where some elements are read from, or are to be put before they are written.
  R* read(Elements of) {
    R* to = place(of);
    if (load_) load_(stored(of), to, of.end - of.begin);
    return to;
  }
  R* place(Elements of) {
    return load_ ? static_cast<R*>(rooms_[size_t(omp_get_thread_num())].data()) : reinterpret_cast<R*>(stored(of));
  }
  void write(Elements of) {
    if (!store_) return;
    const R* from = place(of);
    placement_.each_run(of.begin, of.end - of.begin, [&](int64_t element, int64_t to, int64_t n) {
      store_(from + (element - of.begin), static_cast<std::byte*>(*slot_) + size_t(to) * size_, n);
    });
  }

 private:
  std::byte* stored(Elements of) const { return static_cast<std::byte*>(*slot_) + size_t(of.begin) * size_; }

  void** slot_;
  size_t size_;
  Placement placement_;  // of what is written
  elementwise::ConvertFunction load_ = nullptr, store_ = nullptr;
  std::vector<Tensor> rooms_;  // by thread
};

// The four ops; what they have in common.
template <typename R>
class PoolKernel : public Kernel {
 public:
  PoolKernel(const LoweredKernel& kernel, Context& context, bool gradient)
      : plan_(kernel.attributes, context.type(gradient ? kernel.outputs[0] : kernel.inputs[0]).shape,
              context.type(gradient ? kernel.inputs[0] : kernel.outputs[0]).shape),
        add_(gradient && !plan_.covers_once()),
        width_(plan_.outputs / plan_.rows()),
        rows_(add_ ? plan_.rows() : plan_.rows_within(kBand)),
        threads_(plan_.samples * plan_.elements > 16384 ? context.threads : 1),
        x_(context, gradient ? kernel.outputs[0] : kernel.inputs[0], most_seen(), threads_),
        y_(context, gradient ? kernel.inputs[0] : kernel.outputs[0], rows_ * width_, threads_) {
    for (int thread = 0; thread < threads_; ++thread) places_.emplace_back(plan_);
  }
  std::string implementation() const override { return "pooling"; }

 protected:
  // Calls visit(run, x, y, where) for all runs: x and y are where a run begins, `where` is y's place in the whole
  // array.
  template <typename Visit>
  void pool(Visit&& visit) {
    each_band([&](const Band& band) {
      visit_runs(band, x_.read(band.x), y_.place(band.y), visit);
      y_.write(band.y);
    });
  }
  // The same from y to x. Where an element belongs to several windows or to none, sums begin at zero.
  template <typename Visit>
  void spread(Visit&& visit) {
    each_band([&](const Band& band) {
      R* to = x_.place(band.x);
      if (add_) std::fill_n(to, band.x.end - band.x.begin, R(0));
      visit_runs(band, to, y_.read(band.y), visit);
      x_.write(band.x);
    });
  }

  const PoolPlan plan_;
  const bool add_;

 private:
  struct Band {
    int64_t sample, first, last;  // rows of windows
    Elements x, y;                // of the whole arrays
  };
  Band band(int64_t sample, int64_t first) const {
    const int64_t last = std::min(first + rows_, plan_.rows());
    const Elements x = add_ ? Elements{0, plan_.elements} : plan_.seen_by(first, last);
    const int64_t before = sample * plan_.elements, row = sample * plan_.rows();
    return {sample, first, last, {before + x.begin, before + x.end}, {(row + first) * width_, (row + last) * width_}};
  }

  template <typename Work>
  void each_band(Work&& work) {
    const int64_t bands = (plan_.rows() + rows_ - 1) / rows_;
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t i = 0; i < plan_.samples * bands; ++i) work(band(i / bands, i % bands * rows_));
  }

  // x and y are where those elements of the band are.
  template <typename Visit>
  void visit_runs(const Band& band, R* x, R* y, Visit&& visit) {
    const int64_t sample_x = band.sample * plan_.elements, sample_y = band.sample * plan_.outputs;
    for (int64_t row = band.first; row < band.last; ++row)
      plan_.each_run(row, places_[size_t(omp_get_thread_num())], [&](const PoolRun& run, int64_t from, int64_t to) {
        visit(run, x + (sample_x + from - band.x.begin), y + (sample_y + to - band.y.begin), sample_y + to);
      });
  }

  int64_t most_seen() const {
    int64_t most = 0;
    for (int64_t first = 0; first < plan_.rows(); first += rows_)
      most = std::max(most, band(0, first).x.end - band(0, first).x.begin);
    return most;
  }

  int64_t width_, rows_;  // outputs of a row of windows; rows of a band
  int threads_;
  Side<R> x_, y_;
  std::vector<PoolPlan::Places> places_;  // by thread
};

// P is the type of positions.
template <typename R, typename P>
class MaximumKernel : public PoolKernel<R> {
 public:
  MaximumKernel(const LoweredKernel& kernel, Context& context)
      : PoolKernel<R>(kernel, context, false),
        positions_(context.slot(kernel.outputs[1])),
        least_(kernel.relu() ? R(0) : -std::numeric_limits<R>::infinity()) {}
  void run(const Run&) override {
    P* positions = static_cast<P*>(*positions_);
    this->pool([&](const PoolRun& run, const R* x, R* y, int64_t where) {
      if constexpr (sizeof(P) == 1) elementwise::pooling_loops<R>().maximum_u8(run, x, least_, y, positions + where);
      else elementwise::pooling_loops<R>().maximum_i32(run, x, least_, y, positions + where);
    });
  }

 private:
  void** positions_;
  R least_;
};

template <typename R, typename P>
class MaximumGradientKernel : public PoolKernel<R> {
 public:
  MaximumGradientKernel(const LoweredKernel& kernel, Context& context)
      : PoolKernel<R>(kernel, context, true), positions_(context.slot(kernel.inputs[1])) {}
  void run(const Run&) override {
    const P* positions = static_cast<const P*>(*positions_);
    this->spread([&](const PoolRun& run, R* x, const R* y, int64_t where) {
      if constexpr (sizeof(P) == 1)
        elementwise::pooling_loops<R>().maximum_gradient_u8(run, y, positions + where, this->add_, x);
      else elementwise::pooling_loops<R>().maximum_gradient_i32(run, y, positions + where, this->add_, x);
    });
  }

 private:
  void** positions_;
};

template <typename R>
class AverageKernel : public PoolKernel<R> {
 public:
  AverageKernel(const LoweredKernel& kernel, Context& context)
      : PoolKernel<R>(kernel, context, false), whole_(kernel.attributes.integer("count_padding")) {}
  void run(const Run&) override {
    this->pool([&](const PoolRun& run, const R* x, R* y, int64_t) {
      elementwise::pooling_loops<R>().average(run, x, R(whole_ ? this->plan_.places() : run.count), y);
    });
  }

 private:
  bool whole_;
};

template <typename R>
class AverageGradientKernel : public PoolKernel<R> {
 public:
  AverageGradientKernel(const LoweredKernel& kernel, Context& context)
      : PoolKernel<R>(kernel, context, true), whole_(kernel.attributes.integer("count_padding")) {}
  void run(const Run&) override {
    this->spread([&](const PoolRun& run, R* x, const R* y, int64_t) {
      elementwise::pooling_loops<R>().average_gradient(run, y, R(whole_ ? this->plan_.places() : run.count), this->add_,
                                                       x);
    });
  }

 private:
  bool whole_;
};

template <template <typename, typename> class Kernels>
std::unique_ptr<Kernel> make_with_positions(const LoweredKernel& kernel, Context& context) {
  const Value positions = kernel.is(ops::pool_max) ? kernel.outputs[1] : kernel.inputs[1];
  const bool f64 = context.type(kernel.outputs[0]).dtype == DType::f64;
  if (context.type(positions).dtype == DType::u8) {
    if (f64) return std::make_unique<Kernels<double, uint8_t>>(kernel, context);
    return std::make_unique<Kernels<float, uint8_t>>(kernel, context);
  }
  if (f64) return std::make_unique<Kernels<double, int32_t>>(kernel, context);
  return std::make_unique<Kernels<float, int32_t>>(kernel, context);
}

template <template <typename> class Kernels>
std::unique_ptr<Kernel> make_pooling(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.outputs[0]).dtype == DType::f64) return std::make_unique<Kernels<double>>(kernel, context);
  return std::make_unique<Kernels<float>>(kernel, context);
}

const KernelRegistration pooling_kernels[] = {
    {ops::pool_max, 0, make_with_positions<MaximumKernel>},
    {ops::pool_max_gradient, 0, make_with_positions<MaximumGradientKernel>},
    {ops::pool_avg, 0, make_pooling<AverageKernel>},
    {ops::pool_avg_gradient, 0, make_pooling<AverageGradientKernel>},
};

}  // namespace

}  // namespace neon::cpu
