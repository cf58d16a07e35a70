// The gradient of a convolution's filters with fewer products than adding up directly takes: as a correlation of images
// with their outputs' gradients, tile by tile, r x r results of 6 x 6 pixels and m x m gradients. The 36 products are
// summed over all tiles before they are brought to a filter.
#include <omp.h>

#include <algorithm>

#include "backends/cpu/block_product.h"
#include "backends/cpu/winograd.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

constexpr int64_t kRowsOfItem = 56;  // of a product, that a thread takes at once of those shared

class WinogradGradient : public Kernel {
 public:
  WinogradGradient(const LoweredKernel& kernel, Context& context, const Windows& windows)
      : x_(context, kernel.inputs[0], DType::f32),
        dy_(context, kernel.inputs[1], DType::f32),
        dw_(context, kernel.outputs[0], DType::f32),
        threads_(context.threads),
        scratch_(context.scratch),
        tiles_(x_.shape(), dy_.shape(), windows),
        patches_{0, channels()},
        gradients_{0, maps()},
        sums_{maps(), channels()},
        blocks_(tiles_.count(), channels() + maps(), sums_.bytes(), threads_),
        outside_(DType::f32, {std::max(channels(), maps())}) {
    patches_.rows = gradients_.rows = blocks_.together;
    part_ = scratch_.take(4 * size_t(blocks_.sets * set_floats()));
  }
  std::string implementation() const override { return text("winograd:", elementwise::active_level().name); }

  void run(const Run&) override {
    const auto* x = static_cast<const float*>(x_.load(threads_));
    const auto* dy = static_cast<const float*>(dy_.load(threads_));
    auto* dw = static_cast<float*>(dw_.place());
#pragma omp parallel num_threads(threads_)
    {
      if (blocks_.shared) add_together(x, dy);
      else add_apart(x, dy);
      const int sets = blocks_.shared ? 1 : omp_get_num_threads();
#pragma omp for schedule(static)
      for (int64_t k = 0; k < maps(); ++k) finish(k, sets, dw);
    }
    dw_.store(threads_);
  }

 private:
  int64_t channels() const { return x_.shape()[3]; }
  int64_t maps() const { return dy_.shape()[3]; }
  int64_t size() const { return dw_.shape()[1]; }
  int64_t set_floats() const { return sums_.elements() + patches_.elements() + gradients_.elements(); }
  float* sums(int set) { return scratch_.at<float>(part_) + set * set_floats(); }
  float* patches(int set) { return sums(set) + sums_.elements(); }
  float* gradients(int set) { return patches(set) + patches_.elements(); }

  // Each thread some of the tiles, all places.
  void add_apart(const float* x, const float* dy) {
    const int set = omp_get_thread_num();
    std::fill(sums(set), sums(set) + sums_.elements(), 0.0f);
#pragma omp for schedule(static)
    for (int64_t block = 0; block < blocks_.count(); ++block) {
      for (int64_t i = 0; i < blocks_.of(block); ++i) spread(x, dy, blocks_.first(block) + i, i, set);
      for (int64_t place = 0; place < kWinogradPlaces; ++place)
        multiply(place, 0, maps(), blocks_.of(block), true, set);
    }
  }

  // All threads the same tiles, each some places and rows of them.
  void add_together(const float* x, const float* dy) {
    const int64_t parts = divided_up(maps(), kRowsOfItem);
    for (int64_t block = 0; block < blocks_.count(); ++block) {
#pragma omp for schedule(static)
      for (int64_t i = 0; i < blocks_.of(block); ++i) spread(x, dy, blocks_.first(block) + i, i, 0);
#pragma omp for schedule(static)
      for (int64_t item = 0; item < kWinogradPlaces * parts; ++item) {
        const int64_t first = item % parts * kRowsOfItem;
        multiply(item / parts, first, std::min(kRowsOfItem, maps() - first), blocks_.of(block), block > 0, 0);
      }
    }
  }

  void spread(const float* x, const float* dy, int64_t tile, int64_t row, int set) {
    const float* const outside = outside_.as<float>().data();
    const float* pixels[kWinogradPlaces];
    tiles_.patch(tile, x, outside, pixels);
    loops_.patch(pixels, channels(), patches(set) + row * channels(), patches_.step());
    tiles_.outputs(tile, dy, outside, pixels);
    loops_.values[tiles_.side() - 2](pixels, maps(), gradients(set) + row * maps(), gradients_.step());
  }

  // sums (K,C) of a place, rows from `first` on: gradients' transpose (K,tiles) times patches (tiles,C)
  void multiply(int64_t place, int64_t first, int64_t rows, int64_t tiles, bool add, int set) {
    const BlockProduct product{rows, tiles, channels(), 1, maps(), channels(), channels(), add};
    multiply_blocks(product, gradients(set) + place * gradients_.step() + first, patches(set) + place * patches_.step(),
                    sums(set) + place * sums_.step() + first * channels());
  }

  // All sets' sums of a filter -> dw (K,R,S,C)
  void finish(int64_t k, int sets, float* dw) {
    float* const row = sums(0) + k * channels();
    for (int set = 1; set < sets; ++set)
      for (int64_t place = 0; place < kWinogradPlaces; ++place) {
        const float* const from = sums(set) + place * sums_.step() + k * channels();
        for (int64_t c = 0; c < channels(); ++c) row[place * sums_.step() + c] += from[c];
      }
    float* pixels[kWinogradPlaces];
    for (int64_t tap = 0; tap < size() * size(); ++tap) pixels[tap] = dw + (k * size() * size() + tap) * channels();
    loops_.results[size() - 2](row, sums_.step(), channels(), nullptr, false, pixels);
  }

  Operand x_, dy_, dw_;
  int threads_;
  Scratch& scratch_;
  size_t part_ = 0;
  WinogradTiles tiles_;
  const elementwise::Winograd& loops_ = *elementwise::active_level().winograd;
  Places patches_, gradients_, sums_;
  TileBlocks blocks_;
  Tensor outside_;  // zeros
};

std::unique_ptr<Kernel> make(const LoweredKernel& kernel, Context& context) {
  const TensorType& dw = context.type(kernel.outputs[0]);
  if (!computes_in_f32(dw.dtype)) return nullptr;
  const Windows windows = windows_of(kernel.attributes, {dw.shape.begin() + 1, dw.shape.end() - 1});
  // With 683 it took 1.06 times oneDNN's time, with 723 it took 1.00, with 768 it took 0.79; but of 16 channels by 16
  // filters 1.3 times, with 815.
  constexpr double kLeastSaved = 750;
  constexpr int64_t kLeastFilters = 2 * kWinogradChannels * kWinogradChannels;
  if (dw.shape[0] * dw.shape.back() < kLeastFilters) return nullptr;
  if (!suits_winograd(windows, kernel.attributes.integer("groups"), context.type(kernel.inputs[0]).shape, dw.shape,
                      context.type(kernel.inputs[1]).shape, kLeastSaved))
    return nullptr;
  return std::make_unique<WinogradGradient>(kernel, context, windows);
}

const KernelRegistration winograd_gradient_kernel(ops::convolution_weight_gradient, -1, make);

}  // namespace

}  // namespace neon::cpu
