// Convolution and its gradients in f32 in loops of our own, for the cases in which oneDNN has but reference code. The
// innermost loop runs over neighbouring channels; each result is summed in one fixed order.
#include <omp.h>

#include <algorithm>

#include "backends/cpu/convolution_geometry.h"
#include "backends/cpu/operand.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

// to[i] += factor * from[i]
void add_scaled(float factor, const float* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
}

class LoopConvolution : public Kernel {
 public:
  LoopConvolution(const LoweredKernel& kernel, Context& context)
      : first_(context, kernel.inputs[0], DType::f32),
        second_(context, kernel.inputs[1], DType::f32),
        result_(context, kernel.outputs[0], DType::f32),
        relu_(kernel.relu()),
        g_(geometry_of(kernel, context)),
        threads_(g_.products() > 65536 ? context.threads : 1),
        all_threads_(context.threads) {
    if (kernel.bias()) bias_ = std::make_unique<Operand>(context, kernel.bias(), DType::f32);
    if (kernel.convolution() == ConvolutionKind::forward) {
      run_ = &LoopConvolution::forward;
      turned_ = Tensor(DType::f32, {std::max<int64_t>(second_.shape().elements(), 1)});
    } else {
      run_ = kernel.convolution() == ConvolutionKind::by_input ? &LoopConvolution::data_gradient
                                                               : &LoopConvolution::weight_gradient;
    }
  }

  void run(const Run&) override {
    const float *a = static_cast<const float*>(first_.load(all_threads_)),
                *b = static_cast<const float*>(second_.load(all_threads_));
    (this->*run_)(a, b, static_cast<float*>(result_.place()));
    result_.store(all_threads_);
  }
  std::string implementation() const override { return "loops"; }

 private:
  // Filters (K,taps,C/groups) as (groups,taps,C/groups,K/groups), so that neighbouring maps lie side by side.
  const float* turned(const float* w) {
    float* to = static_cast<float*>(turned_.data());
    const int64_t taps = g_.taps(), channels = g_.channels_of_group(), maps = g_.maps_of_group();
    for (int64_t k = 0; k < g_.maps; ++k)
      for (int64_t i = 0; i < taps * channels; ++i)
        to[(k / maps * taps * channels + i) * maps + k % maps] = w[k * taps * channels + i];
    return to;
  }

  void forward(const float* x, const float* filters, float* y) {
    const float* w = turned(filters);
    const float* bias = bias_ ? static_cast<const float*>(bias_->load(all_threads_)) : nullptr;
    const int64_t outputs = g_.outputs(), taps = g_.taps(), channels = g_.channels_of_group(),
                  maps = g_.maps_of_group();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t i = 0; i < g_.samples * outputs; ++i) {
      float* to = y + i * g_.maps;
      for (int64_t k = 0; k < g_.maps; ++k) to[k] = bias ? bias[k] : 0.0f;
      const float* sample = x + i / outputs * g_.pixels() * g_.channels;
      g_.each_tap(i % outputs, [&](int64_t tap, int64_t pixel) {
        for (int64_t group = 0; group < g_.groups; ++group)
          for (int64_t c = 0; c < channels; ++c)
            add_scaled(sample[pixel * g_.channels + group * channels + c],
                       w + ((group * taps + tap) * channels + c) * maps, to + group * maps, maps);
      });
      if (relu_)
        for (int64_t k = 0; k < g_.maps; ++k) to[k] = to[k] <= 0 ? 0.0f : to[k];
    }
  }

  void data_gradient(const float* y, const float* w, float* x) {
    const int64_t outputs = g_.outputs(), taps = g_.taps(), channels = g_.channels_of_group(),
                  maps = g_.maps_of_group();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t n = 0; n < g_.samples; ++n) {
      float* sample = x + n * g_.pixels() * g_.channels;
      std::fill_n(sample, g_.pixels() * g_.channels, 0.0f);
      for (int64_t o = 0; o < outputs; ++o) {
        const float* from = y + (n * outputs + o) * g_.maps;
        g_.each_tap(o, [&](int64_t tap, int64_t pixel) {
          for (int64_t k = 0; k < g_.maps; ++k)
            add_scaled(from[k], w + (k * taps + tap) * channels, sample + pixel * g_.channels + k / maps * channels,
                       channels);
        });
      }
    }
  }

  void weight_gradient(const float* x, const float* y, float* w) {
    const int64_t outputs = g_.outputs(), taps = g_.taps(), channels = g_.channels_of_group(),
                  maps = g_.maps_of_group();
    // A thread has some of the maps for itself.
    const int64_t shares = std::min<int64_t>(threads_, g_.maps);
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t share = 0; share < shares; ++share) {
      const int64_t first = g_.maps * share / shares, last = g_.maps * (share + 1) / shares;
      std::fill(w + first * taps * channels, w + last * taps * channels, 0.0f);
      for (int64_t i = 0; i < g_.samples * outputs; ++i) {
        const float *from = y + i * g_.maps, *sample = x + i / outputs * g_.pixels() * g_.channels;
        g_.each_tap(i % outputs, [&](int64_t tap, int64_t pixel) {
          for (int64_t k = first; k < last; ++k)
            add_scaled(from[k], sample + pixel * g_.channels + k / maps * channels, w + (k * taps + tap) * channels,
                       channels);
        });
      }
    }
  }

  Operand first_, second_, result_;
  std::unique_ptr<Operand> bias_;
  bool relu_;
  ConvolutionGeometry g_;
  int threads_, all_threads_;
  Tensor turned_;
  void (LoopConvolution::*run_)(const float*, const float*, float*) = nullptr;
};

std::unique_ptr<Kernel> make_convolution_loops(const LoweredKernel& kernel, Context& context) {
  return std::make_unique<LoopConvolution>(kernel, context);
}

const KernelRegistration convolution_loops_kernels[] = {
    {ops::convolution, 10, make_convolution_loops},
    {ops::convolution_data_gradient, 10, make_convolution_loops},
    {ops::convolution_weight_gradient, 10, make_convolution_loops},
};

}  // namespace

}  // namespace neon::cpu
