// Convolutions computed in f32, and their gradients by x, with fewer products than adding up directly takes: 36 for a
// tile of 4 x 4 outputs of 3 x 3 filters (144) or 2 x 2 of 5 x 5 (100). Tiles go through all of it together, patches to
// places, places times filters, sums to outputs, while they are in a cache: where filters are small some tiles in each
// thread's, else more of them in all threads', each of which multiplies by some of the filters.
#include <omp.h>

#include <algorithm>

#include "backends/cpu/block_product.h"
#include "backends/cpu/winograd.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

constexpr int64_t kMapsTogether = 32;   // filters of which a thread takes some channels at once
constexpr int64_t kColumnsOfItem = 32;  // of a product, that a thread takes at once of those shared

class WinogradConvolution : public Kernel {
 public:
  WinogradConvolution(const LoweredKernel& kernel, Context& context, const Windows& windows, bool turned)
      : x_(context, kernel.inputs[0], DType::f32),
        w_(context, kernel.inputs[1], DType::f32),
        y_(context, kernel.outputs[0], DType::f32),
        turned_(turned),
        relu_(kernel.relu()),
        threads_(context.threads),
        scratch_(context.scratch),
        tiles_(x_.shape(), y_.shape(), windows),
        patches_{0, x_.shape()[3]},
        sums_{0, y_.shape()[3]},
        filters_{x_.shape()[3], y_.shape()[3]},
        blocks_(tiles_.count(), filters_.rows + filters_.channels, filters_.bytes(), threads_),
        outside_(DType::f32, {x_.shape()[3]}) {
    if (kernel.bias()) bias_.emplace(context, kernel.bias(), DType::f32);
    patches_.rows = sums_.rows = blocks_.together;
    if (context.is_fixed(kernel.inputs[1])) kept_filters_ = Tensor(DType::f32, {filters_.elements()});
    part_ = scratch_.take(4 * size_t(shared_filters() + blocks_.sets * (patches_.elements() + sums_.elements()) +
                                     threads_ * own_floats()));
  }
  std::string implementation() const override { return text("winograd:", elementwise::active_level().name); }

  void run(const Run& run) override {
    const auto* x = static_cast<const float*>(x_.load(threads_));
    const bool spread = run.news || !keeps_filters();
    const auto* w = spread ? static_cast<const float*>(w_.load(threads_)) : nullptr;
    const auto* bias = bias_ ? static_cast<const float*>(bias_->load(threads_)) : nullptr;
    auto* y = static_cast<float*>(y_.place());
#pragma omp parallel num_threads(threads_)
    {
      if (spread) spread_filters(w);
      if (blocks_.shared) run_together(x, bias, y);
      else run_apart(x, bias, y);
    }
    y_.store(threads_);
  }

 private:
  int64_t size() const { return w_.shape()[1]; }
  // Floats of one thread: filters on their way to spread_block's columns, and an output of a tile that lies outside y.
  int64_t turning_floats() const { return turned_ ? 0 : size() * size() * kWinogradChannels * kMapsTogether; }
  int64_t own_floats() const { return turning_floats() + filters_.channels; }
  // In the scratch memory: places of the filters, each set's patches and sums, what threads have for themselves.
  float* filters() { return keeps_filters() ? kept_filters_.as<float>().data() : scratch_.at<float>(part_); }
  bool keeps_filters() const { return !kept_filters_.empty(); }
  int64_t shared_filters() const { return keeps_filters() ? 0 : filters_.elements(); }
  float* patches(int set) {
    return scratch_.at<float>(part_) + shared_filters() + set * (patches_.elements() + sums_.elements());
  }
  float* sums(int set) { return patches(set) + patches_.elements(); }
  float* turning() { return patches(blocks_.sets) + omp_get_thread_num() * own_floats(); }
  float* beyond() { return turning() + turning_floats(); }

  // w -> filters(), of each place (C,K); of those turned around (K,C), as what they multiply has K channels.
  void spread_filters(const float* w) {
    if (turned_) {
#pragma omp for schedule(static)
      for (int64_t k = 0; k < filters_.rows; ++k) spread_turned(w, k);
    } else {
      const int64_t strips = filters_.rows / kWinogradChannels;
#pragma omp for schedule(static)
      for (int64_t item = 0; item < strips * divided_up(filters_.channels, kMapsTogether); ++item)
        spread_block(w, item % strips * kWinogradChannels, item / strips * kMapsTogether);
    }
  }

  void spread_turned(const float* w, int64_t k) {
    const int64_t taps = size() * size(), channels = filters_.channels;
    const float* pixels[kWinogradPlaces];
    for (int64_t tap = 0; tap < taps; ++tap) pixels[tap] = w + (k * taps + taps - 1 - tap) * channels;
    loops_.values[size() - 2](pixels, channels, filters() + k * channels, filters_.step());
  }

  // Some channels of some filters (K,R,S,C), by way of (R,S,16,32).
  void spread_block(const float* w, int64_t first_c, int64_t first_k) {
    const int64_t taps = size() * size(), count = std::min(kMapsTogether, filters_.channels - first_k);
    float* const block = turning();
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t k = 0; k < count; ++k) {
        const float* const from = w + ((first_k + k) * taps + tap) * filters_.rows + first_c;
        for (int64_t c = 0; c < kWinogradChannels; ++c)
          block[(tap * kWinogradChannels + c) * kMapsTogether + k] = from[c];
      }
    for (int64_t c = 0; c < kWinogradChannels; ++c) {
      const float* pixels[kWinogradPlaces];
      for (int64_t tap = 0; tap < taps; ++tap) pixels[tap] = block + (tap * kWinogradChannels + c) * kMapsTogether;
      loops_.values[size() - 2](pixels, count, filters() + (first_c + c) * filters_.channels + first_k,
                                filters_.step());
    }
  }

  // Each thread some of the tiles.
  void run_apart(const float* x, const float* bias, float* y) {
    const int set = omp_get_thread_num();
#pragma omp for schedule(dynamic)
    for (int64_t block = 0; block < blocks_.count(); ++block) {
      const int64_t count = blocks_.of(block);
      for (int64_t i = 0; i < count; ++i) spread(x, blocks_.first(block) + i, i, set);
      for (int64_t place = 0; place < kWinogradPlaces; ++place) multiply(place, 0, filters_.channels, count, set);
      for (int64_t i = 0; i < count; ++i) finish(blocks_.first(block) + i, i, set, bias, y);
    }
  }

  // All threads the same tiles, each some places and filters.
  void run_together(const float* x, const float* bias, float* y) {
    const int64_t columns = filters_.channels, parts = divided_up(columns, kColumnsOfItem);
    for (int64_t block = 0; block < blocks_.count(); ++block) {
      const int64_t count = blocks_.of(block);
#pragma omp for schedule(static)
      for (int64_t i = 0; i < count; ++i) spread(x, blocks_.first(block) + i, i, 0);
#pragma omp for schedule(static)
      for (int64_t item = 0; item < kWinogradPlaces * parts; ++item) {
        const int64_t first = item % parts * kColumnsOfItem;
        multiply(item / parts, first, std::min(kColumnsOfItem, columns - first), count, 0);
      }
#pragma omp for schedule(static)
      for (int64_t i = 0; i < count; ++i) finish(blocks_.first(block) + i, i, 0, bias, y);
    }
  }

  void spread(const float* x, int64_t tile, int64_t row, int set) {
    const float* pixels[kWinogradPlaces];
    tiles_.patch(tile, x, outside_.as<float>().data(), pixels);
    loops_.patch(pixels, patches_.channels, patches(set) + row * patches_.channels, patches_.step());
  }

  // sums (tiles,K) of a place, columns from `first` on: patches (tiles,C) times filters (C,K)
  void multiply(int64_t place, int64_t first, int64_t columns, int64_t tiles, int set) {
    const BlockProduct product{tiles, filters_.rows,     columns,           filters_.rows,
                               1,     filters_.channels, filters_.channels, false};
    multiply_blocks(product, patches(set) + place * patches_.step(), filters() + place * filters_.step() + first,
                    sums(set) + place * sums_.step() + first);
  }

  void finish(int64_t tile, int64_t row, int set, const float* bias, float* y) {
    float* pixels[kWinogradPlaces];
    tiles_.outputs(tile, y, beyond(), pixels);
    const auto& results = turned_ ? loops_.results : loops_.outputs;
    results[tiles_.side() - 2](sums(set) + row * sums_.channels, sums_.step(), sums_.channels, bias, relu_, pixels);
  }

  Operand x_, w_, y_;
  std::optional<Operand> bias_;
  bool turned_;  // it is the gradient: filters are turned around, and their outputs its inputs
  bool relu_;
  int threads_;
  Scratch& scratch_;
  size_t part_ = 0;
  WinogradTiles tiles_;
  const elementwise::Winograd& loops_ = *elementwise::active_level().winograd;
  Places patches_, sums_, filters_;
  Tensor kept_filters_;  // places of filters that the program does not write; else they are in the scratch memory
  TileBlocks blocks_;
  Tensor outside_;  // zeros
};

std::unique_ptr<Kernel> make(const LoweredKernel& kernel, Context& context) {
  const TensorType &a = context.type(kernel.inputs[0]), &y = context.type(kernel.outputs[0]);
  const Shape& w = context.type(kernel.inputs[1]).shape;
  if (!computes_in_f32(y.dtype)) return nullptr;
  Windows windows = windows_of(kernel.attributes, {w.begin() + 1, w.end() - 1});
  const bool turned = kernel.convolution() == ConvolutionKind::by_input;
  if (turned) {
    const auto other = windows.turned();
    if (!other) return nullptr;
    windows = *other;
  }
  // With 452 it took 0.85 of oneDNN's time, with 815 it took 0.72.
  constexpr double kLeastSaved = 400;
  if (!suits_winograd(windows, kernel.attributes.integer("groups"), a.shape, w, y.shape, kLeastSaved)) return nullptr;
  return std::make_unique<WinogradConvolution>(kernel, context, windows, turned);
}

const KernelRegistration convolution_winograd_kernels[] = {
    {ops::convolution, -1, make},
    {ops::convolution_data_gradient, -1, make},
};

}  // namespace

}  // namespace neon::cpu
