// Convolution and its gradients in loops of our own, for f64, which oneDNN does not have, and for the cases in which it
// has but reference code. The innermost loop runs over neighbouring channels; each result is summed in one fixed order.
#include <omp.h>

#include <algorithm>

#include "backends/cpu/operand.h"
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"

namespace neon::cpu {

namespace {

constexpr int kSpace = 3;  // axes between batch and channels; of two, the first has one element

// A convolution of x (N,in...,C) with w (K,filter...,C/groups) to y (N,out...,K).
struct Geometry {
  Geometry(const Attributes& attributes, const Shape& x, const Shape& w, const Shape& y)
      : samples(x[0]), groups(attributes.integer("groups")), channels(x.back()), maps(y.back()) {
    const Windows windows = windows_of(attributes, {w.begin() + 1, w.end() - 1});
    const int first = kSpace - windows.axes();
    for (int axis = 0; axis < windows.axes(); ++axis) {
      const size_t i = size_t(axis);
      in[first + axis] = x[axis + 1];
      out[first + axis] = y[axis + 1];
      filter[first + axis] = w[axis + 1];
      stride[first + axis] = windows.strides[i];
      before[first + axis] = windows.before[i];
      dilation[first + axis] = windows.dilation[i];
    }
  }
  int64_t taps() const { return filter[0] * filter[1] * filter[2]; }
  int64_t pixels() const { return in[0] * in[1] * in[2]; }
  int64_t outputs() const { return out[0] * out[1] * out[2]; }
  int64_t channels_of_group() const { return channels / groups; }
  int64_t maps_of_group() const { return maps / groups; }
  double products() const {
    return double(samples) * double(outputs()) * double(taps()) * double(channels_of_group()) * double(maps);
  }

  // Calls visit(tap, pixel) for each tap of output `o` that lies in the input, in order.
  template <typename Visit>
  void each_tap(int64_t o, Visit&& visit) const {
    const int64_t start[kSpace] = {o / (out[1] * out[2]) * stride[0] - before[0],
                                   o / out[2] % out[1] * stride[1] - before[1], o % out[2] * stride[2] - before[2]};
    for (int64_t t = 0; t < filter[0]; ++t) {
      const int64_t d = start[0] + t * dilation[0];
      if (d < 0 || d >= in[0]) continue;
      for (int64_t r = 0; r < filter[1]; ++r) {
        const int64_t h = start[1] + r * dilation[1];
        if (h < 0 || h >= in[1]) continue;
        for (int64_t s = 0; s < filter[2]; ++s) {
          const int64_t w = start[2] + s * dilation[2];
          if (w >= 0 && w < in[2]) visit((t * filter[1] + r) * filter[2] + s, (d * in[1] + h) * in[2] + w);
        }
      }
    }
  }

  int64_t samples, groups, channels, maps;
  int64_t in[kSpace] = {1, 1, 1}, out[kSpace] = {1, 1, 1}, filter[kSpace] = {1, 1, 1}, stride[kSpace] = {1, 1, 1},
          before[kSpace] = {}, dilation[kSpace] = {1, 1, 1};
};

// to[i] += factor * from[i]
template <typename R>
void add_scaled(R factor, const R* from, R* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
}

template <typename R>
class LoopConvolution : public Kernel {
 public:
  LoopConvolution(const LoweredKernel& kernel, Context& context)
      : first_(context, kernel.inputs[0], dtype_of<R>()),
        second_(context, kernel.inputs[1], dtype_of<R>()),
        result_(context, kernel.outputs[0], dtype_of<R>()),
        relu_(kernel.relu()),
        g_(kernel.convolution() == ConvolutionKind::forward
               ? Geometry(kernel.attributes, first_.shape(), second_.shape(), result_.shape())
           : kernel.convolution() == ConvolutionKind::by_input
               ? Geometry(kernel.attributes, result_.shape(), second_.shape(), first_.shape())
               : Geometry(kernel.attributes, first_.shape(), result_.shape(), second_.shape())),
        threads_(g_.products() > 65536 ? context.threads : 1),
        all_threads_(context.threads) {
    if (kernel.bias()) bias_ = std::make_unique<Operand>(context, kernel.bias(), dtype_of<R>());
    if (kernel.convolution() == ConvolutionKind::forward) {
      run_ = &LoopConvolution::forward;
      turned_ = Tensor(dtype_of<R>(), {std::max<int64_t>(second_.shape().elements(), 1)});
    } else {
      run_ = kernel.convolution() == ConvolutionKind::by_input ? &LoopConvolution::data_gradient
                                                               : &LoopConvolution::weight_gradient;
    }
  }

  void run(const Run&) override {
    const R *a = static_cast<const R*>(first_.load(all_threads_)),
            *b = static_cast<const R*>(second_.load(all_threads_));
    (this->*run_)(a, b, static_cast<R*>(result_.place()));
    result_.store(all_threads_);
  }
  std::string implementation() const override { return "loops"; }

 private:
  // Filters (K,taps,C/groups) as (groups,taps,C/groups,K/groups), so that neighbouring maps lie side by side.
  const R* turned(const R* w) {
    R* to = static_cast<R*>(turned_.data());
    const int64_t taps = g_.taps(), channels = g_.channels_of_group(), maps = g_.maps_of_group();
    for (int64_t k = 0; k < g_.maps; ++k)
      for (int64_t i = 0; i < taps * channels; ++i)
        to[(k / maps * taps * channels + i) * maps + k % maps] = w[k * taps * channels + i];
    return to;
  }

  void forward(const R* x, const R* filters, R* y) {
    const R* w = turned(filters);
    const R* bias = bias_ ? static_cast<const R*>(bias_->load(all_threads_)) : nullptr;
    const int64_t outputs = g_.outputs(), taps = g_.taps(), channels = g_.channels_of_group(),
                  maps = g_.maps_of_group();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t i = 0; i < g_.samples * outputs; ++i) {
      R* to = y + i * g_.maps;
      for (int64_t k = 0; k < g_.maps; ++k) to[k] = bias ? bias[k] : R(0);
      const R* sample = x + i / outputs * g_.pixels() * g_.channels;
      g_.each_tap(i % outputs, [&](int64_t tap, int64_t pixel) {
        for (int64_t group = 0; group < g_.groups; ++group)
          for (int64_t c = 0; c < channels; ++c)
            add_scaled(sample[pixel * g_.channels + group * channels + c],
                       w + ((group * taps + tap) * channels + c) * maps, to + group * maps, maps);
      });
      if (relu_)
        for (int64_t k = 0; k < g_.maps; ++k) to[k] = to[k] <= 0 ? R(0) : to[k];
    }
  }

  void data_gradient(const R* y, const R* w, R* x) {
    const int64_t outputs = g_.outputs(), taps = g_.taps(), channels = g_.channels_of_group(),
                  maps = g_.maps_of_group();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t n = 0; n < g_.samples; ++n) {
      R* sample = x + n * g_.pixels() * g_.channels;
      std::fill_n(sample, g_.pixels() * g_.channels, R(0));
      for (int64_t o = 0; o < outputs; ++o) {
        const R* from = y + (n * outputs + o) * g_.maps;
        g_.each_tap(o, [&](int64_t tap, int64_t pixel) {
          for (int64_t k = 0; k < g_.maps; ++k)
            add_scaled(from[k], w + (k * taps + tap) * channels, sample + pixel * g_.channels + k / maps * channels,
                       channels);
        });
      }
    }
  }

  void weight_gradient(const R* x, const R* y, R* w) {
    const int64_t outputs = g_.outputs(), taps = g_.taps(), channels = g_.channels_of_group(),
                  maps = g_.maps_of_group();
    // A thread has some of the maps for itself.
    const int64_t shares = std::min<int64_t>(threads_, g_.maps);
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t share = 0; share < shares; ++share) {
      const int64_t first = g_.maps * share / shares, last = g_.maps * (share + 1) / shares;
      std::fill(w + first * taps * channels, w + last * taps * channels, R(0));
      for (int64_t i = 0; i < g_.samples * outputs; ++i) {
        const R *from = y + i * g_.maps, *sample = x + i / outputs * g_.pixels() * g_.channels;
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
  Geometry g_;
  int threads_, all_threads_;
  Tensor turned_;
  void (LoopConvolution::*run_)(const R*, const R*, R*) = nullptr;
};

std::unique_ptr<Kernel> make_convolution_loops(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.outputs[0]).dtype == DType::f64)
    return std::make_unique<LoopConvolution<double>>(kernel, context);
  return std::make_unique<LoopConvolution<float>>(kernel, context);
}

const KernelRegistration convolution_loops_kernels[] = {
    {ops::convolution, 10, make_convolution_loops},
    {ops::convolution_data_gradient, 10, make_convolution_loops},
    {ops::convolution_weight_gradient, 10, make_convolution_loops},
};

}  // namespace

}  // namespace neon::cpu
