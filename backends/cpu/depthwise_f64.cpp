// Depthwise convolution and its gradients in f64: a filter for each channel. Loops run over neighbouring channels; each
// result is summed in one fixed order.
#include "backends/cpu/convolution_geometry.h"
#include "backends/cpu/operand.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

class F64Depthwise : public Kernel {
 public:
  F64Depthwise(const LoweredKernel& kernel, Context& context)
      : first_(context, kernel.inputs[0], DType::f64),
        second_(context, kernel.inputs[1], DType::f64),
        result_(context, kernel.outputs[0], DType::f64),
        kind_(kernel.convolution()),
        relu_(kernel.relu()),
        g_(geometry_of(kernel, context)),
        threads_(context.threads),
        turned_(context.scratch.take(size_t(g_.taps() * g_.channels) * sizeof(double))),
        scratch_(context.scratch) {
    if (kernel.bias()) bias_ = std::make_unique<Operand>(context, kernel.bias(), DType::f64);
  }

  void run(const Run&) override {
    const auto *a = static_cast<const double*>(first_.load(threads_)),
               *b = static_cast<const double*>(second_.load(threads_));
    auto* const result = static_cast<double*>(result_.place());
    switch (kind_) {
      case ConvolutionKind::by_input: data_gradient(a, b, result); break;
      case ConvolutionKind::by_filters: weight_gradient(a, b, result); break;
      default: forward(a, b, bias_ ? static_cast<const double*>(bias_->load(threads_)) : nullptr, result);
    }
    result_.store(threads_);
  }
  std::string implementation() const override { return "loops"; }

 private:
  // Filters (C,taps) as (taps,C).
  const double* turned(const double* w) {
    double* const to = scratch_.at<double>(turned_);
    for (int64_t c = 0; c < g_.channels; ++c)
      for (int64_t tap = 0; tap < g_.taps(); ++tap) to[tap * g_.channels + c] = w[c * g_.taps() + tap];
    return to;
  }

  void forward(const double* x, const double* filters, const double* bias, double* y) {
    const double* const w = turned(filters);
    const int64_t channels = g_.channels;
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t i = 0; i < g_.samples * g_.outputs(); ++i) {
      double* const to = y + i * channels;
      const double* const sample = x + i / g_.outputs() * g_.pixels() * channels;
      for (int64_t c = 0; c < channels; ++c) to[c] = bias ? bias[c] : 0;
      g_.each_tap(i % g_.outputs(), [&](int64_t tap, int64_t pixel) {
        const double *const from = sample + pixel * channels, *const factors = w + tap * channels;
        for (int64_t c = 0; c < channels; ++c) to[c] += from[c] * factors[c];
      });
      if (relu_)
        for (int64_t c = 0; c < channels; ++c) to[c] = to[c] <= 0 ? 0 : to[c];
    }
  }

  void data_gradient(const double* y, const double* filters, double* x) {
    const double* const w = turned(filters);
    const int64_t channels = g_.channels;
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t n = 0; n < g_.samples; ++n) {
      double* const sample = x + n * g_.pixels() * channels;
      std::fill_n(sample, g_.pixels() * channels, 0.0);
      for (int64_t o = 0; o < g_.outputs(); ++o) {
        const double* const from = y + (n * g_.outputs() + o) * channels;
        g_.each_tap(o, [&](int64_t tap, int64_t pixel) {
          double* const to = sample + pixel * channels;
          const double* const factors = w + tap * channels;
          for (int64_t c = 0; c < channels; ++c) to[c] += from[c] * factors[c];
        });
      }
    }
  }

  // A thread has some of the channels for itself.
  void weight_gradient(const double* x, const double* y, double* filters) {
    double* const sums = scratch_.at<double>(turned_);
    const int64_t channels = g_.channels, shares = std::min<int64_t>(threads_, channels);
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t share = 0; share < shares; ++share) {
      const int64_t first = channels * share / shares, last = channels * (share + 1) / shares;
      for (int64_t tap = 0; tap < g_.taps(); ++tap)
        std::fill(sums + tap * channels + first, sums + tap * channels + last, 0.0);
      for (int64_t i = 0; i < g_.samples * g_.outputs(); ++i) {
        const double *const from = y + i * channels, *const sample = x + i / g_.outputs() * g_.pixels() * channels;
        g_.each_tap(i % g_.outputs(), [&](int64_t tap, int64_t pixel) {
          double* const to = sums + tap * channels;
          const double* const seen = sample + pixel * channels;
          for (int64_t c = first; c < last; ++c) to[c] += from[c] * seen[c];
        });
      }
      for (int64_t c = first; c < last; ++c)
        for (int64_t tap = 0; tap < g_.taps(); ++tap) filters[c * g_.taps() + tap] = sums[tap * channels + c];
    }
  }

  Operand first_, second_, result_;
  std::unique_ptr<Operand> bias_;
  ConvolutionKind kind_;
  bool relu_;
  ConvolutionGeometry g_;
  int threads_;
  size_t turned_;  // in the scratch memory
  Scratch& scratch_;
};

std::unique_ptr<Kernel> make_depthwise_f64(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.outputs[0]).dtype != DType::f64) return nullptr;
  const ConvolutionGeometry g = geometry_of(kernel, context);
  if (g.groups == 1 || g.groups != g.channels || g.groups != g.maps) return nullptr;
  return std::make_unique<F64Depthwise>(kernel, context);
}

const KernelRegistration depthwise_f64_kernels[] = {
    {ops::convolution, 8, make_depthwise_f64},
    {ops::convolution_data_gradient, 8, make_depthwise_f64},
    {ops::convolution_weight_gradient, 8, make_depthwise_f64},
};

}  // namespace

}  // namespace neon::cpu
