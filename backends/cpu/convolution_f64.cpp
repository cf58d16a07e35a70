// Convolution and its gradients in f64, which oneDNN does not have, as products of matrices: pixels under a filter, or
// those that an input pixel was seen by, are packed as a product's blocks are, and never stand in memory as a whole.
#include "backends/cpu/convolution_geometry.h"
#include "backends/cpu/operand.h"
#include "backends/cpu/packed_product.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

using Geometry = ConvolutionGeometry;

// The taps of a filter, in order, whose channels are among `depth` numbers from `first` on:
// visit(tap, its first channel, channels, their place among the numbers).
template <typename Visit>
void each_tap_among(int64_t first, int64_t depth, int64_t channels, Visit&& visit) {
  int64_t tap = first / channels, channel = first % channels;
  for (int64_t at = 0; at < depth; ++tap, channel = 0) {
    const int64_t count = std::min(channels - channel, depth - at);
    visit(tap, channel, count, at);
    at += count;
  }
}

// Copies so many numbers; in the padding it writes zeros.
inline void copy_or_zero(bool there, const double* from, int64_t count, double* to) {
  if (there)
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  else
    for (int64_t i = 0; i < count; ++i) to[i] = 0;
}

// Numbers under the windows of `outputs` outputs, a line of `step` numbers for each: of those that a filter of the
// group meets, `count` from the first on. x: the group's first channel.
void copy_patches(const Geometry& g, const double* x, int64_t first_output, int64_t outputs, int64_t first,
                  int64_t count, double* to, int64_t step) {
  for (int64_t i = first_output; i < first_output + outputs; ++i, to += step) {
    const double* const sample = x + i / g.outputs() * g.pixels() * g.channels;
    const Geometry::Place window = g.window_of(i % g.outputs());
    each_tap_among(first, count, g.channels_of_group(),
                   [&](int64_t tap, int64_t channel, int64_t channels, int64_t at) {
                     const int64_t pixel = g.pixel_under(window, tap);
                     copy_or_zero(pixel >= 0, sample + pixel * g.channels + channel, channels, to + at);
                   });
  }
}

// Rows are outputs, the depth has what lies under their windows.
struct LeftPatches {
  const Geometry& g;
  const double* x;
  static bool turned() { return false; }
  void operator()(int64_t first_row, int64_t rows, int64_t first, int64_t depth, double* to) const {
    copy_patches(g, x, first_row, rows, first, depth, to, PackedProduct::kLeftRow);
  }
};

// The depth are outputs, columns what lies under their windows.
struct RightPatches {
  const Geometry& g;
  const double* x;
  void operator()(int64_t first, int64_t depth, int64_t first_column, int64_t columns, double* to) const {
    copy_patches(g, x, first, depth, first_column, columns, to, PackedProduct::kColumns);
  }
};

// Rows are input pixels, the depth has the maps of a group at each tap, of the output that saw the pixel there.
struct LeftOutputs {
  const Geometry& g;
  const double* y;  // of the group's first map
  static bool turned() { return false; }
  void operator()(int64_t first_row, int64_t rows, int64_t first, int64_t depth, double* to) const {
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t pixel = first_row + i;
      const double* const sample = y + pixel / g.pixels() * g.outputs() * g.maps;
      const Geometry::Place place = g.padded_place(pixel % g.pixels());
      double* const row = to + i * PackedProduct::kLeftRow;
      each_tap_among(first, depth, g.maps_of_group(), [&](int64_t tap, int64_t map, int64_t count, int64_t at) {
        const int64_t output = g.output_above(place, tap);
        copy_or_zero(output >= 0, sample + output * g.maps + map, count, row + at);
      });
    }
  }
};

// The depth has the maps of a group at each tap, columns are channels, of filters (K,taps,C/groups).
struct RightFilters {
  const Geometry& g;
  const double* w;  // of the group's first map
  void operator()(int64_t first, int64_t depth, int64_t first_column, int64_t columns, double* to) const {
    const int64_t channels = g.channels_of_group(), taps = g.taps();
    each_tap_among(first, depth, g.maps_of_group(), [&](int64_t tap, int64_t map, int64_t count, int64_t at) {
      for (int64_t k = 0; k < count; ++k)
        std::copy_n(w + ((map + k) * taps + tap) * channels + first_column, columns,
                    to + (at + k) * PackedProduct::kColumns);
    });
  }
};

class F64Convolution : public Kernel {
 public:
  F64Convolution(const LoweredKernel& kernel, Context& context)
      : first_(context, kernel.inputs[0], DType::f64),
        second_(context, kernel.inputs[1], DType::f64),
        result_(context, kernel.outputs[0], DType::f64),
        kind_(kernel.convolution()),
        relu_(kernel.relu()),
        g_(geometry_of(kernel, context)),
        threads_(context.threads),
        product_(make_product(context.scratch)) {
    if (kernel.bias()) bias_ = std::make_unique<Operand>(context, kernel.bias(), DType::f64);
  }

  void run(const Run&) override {
    const auto *a = static_cast<const double*>(first_.load(threads_)),
               *b = static_cast<const double*>(second_.load(threads_));
    const auto* bias = bias_ ? static_cast<const double*>(bias_->load(threads_)) : nullptr;
    auto* const result = static_cast<double*>(result_.place());
    for (int64_t group = 0; group < g_.groups; ++group) run_group(group, a, b, bias, result);
    result_.store(threads_);
  }
  std::string implementation() const override { return "blocks"; }

 private:
  int64_t under_filter() const { return g_.taps() * g_.channels_of_group(); }

  PackedProduct make_product(Scratch& scratch) const {
    const int64_t maps = g_.maps_of_group(), channels = g_.channels_of_group();
    switch (kind_) {
      case ConvolutionKind::by_input: return {scratch, g_.samples * g_.pixels(), g_.taps() * maps, channels, threads_};
      case ConvolutionKind::by_filters: return {scratch, maps, g_.samples * g_.outputs(), under_filter(), threads_};
      default: return {scratch, g_.samples * g_.outputs(), under_filter(), maps, threads_};
    }
  }

  void run_group(int64_t group, const double* a, const double* b, const double* bias, double* result) {
    const int64_t maps = g_.maps_of_group(), of_maps = group * maps, of_channels = group * g_.channels_of_group(),
                  of_filters = of_maps * under_filter();
    switch (kind_) {
      case ConvolutionKind::by_input:
        product_.run(LeftOutputs{g_, a + of_maps}, RightFilters{g_, b + of_filters}, BiasAndRelu{},
                     result + of_channels, g_.channels);
        break;
      case ConvolutionKind::by_filters:
        product_.run(LeftMatrix{b + of_maps, 1, g_.maps}, RightPatches{g_, a + of_channels}, BiasAndRelu{},
                     result + of_filters, under_filter());
        break;
      default:
        product_.run(LeftPatches{g_, a + of_channels}, RightMatrix{b + of_filters, 1, under_filter()},
                     BiasAndRelu{bias ? bias + of_maps : nullptr, relu_}, result + of_maps, g_.maps);
    }
  }

  Operand first_, second_, result_;
  std::unique_ptr<Operand> bias_;
  ConvolutionKind kind_;
  bool relu_;
  Geometry g_;
  int threads_;
  PackedProduct product_;
};

std::unique_ptr<Kernel> make_convolution_f64(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.outputs[0]).dtype != DType::f64) return nullptr;
  return std::make_unique<F64Convolution>(kernel, context);
}

const KernelRegistration convolution_f64_kernels[] = {
    {ops::convolution, 9, make_convolution_f64},
    {ops::convolution_data_gradient, 9, make_convolution_f64},
    {ops::convolution_weight_gradient, 9, make_convolution_f64},
};

}  // namespace

}  // namespace neon::cpu
