// Region pooling: the loop of level_pool.cpp over the pixels of each bin, in parallel over regions; the gradient, whose
// regions may overlap, over samples.
#include "backends/graph/regions.h"

#include <omp.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "backends/cpu/operand.h"
#include "backends/elementwise/kernels.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

template <typename R>
class RegionMaximum : public Kernel {
 public:
  RegionMaximum(const LoweredKernel& kernel, Context& context)
      : x_(context, kernel.inputs[0], dtype_of<R>()),
        regions_(context, kernel.inputs[1], dtype_of<R>()),
        y_(context, kernel.outputs[0], dtype_of<R>()),
        positions_(context.slot(kernel.outputs[1])),
        scale_(R(kernel.attributes.real("scale"))),
        all_threads_(context.threads),
        threads_(y_.shape().elements() > kElementsOfOneThread ? context.threads : 1),
        pixels_(size_t(threads_), Pixels(size_t(x_.shape()[1] * x_.shape()[2]))) {}
  std::string implementation() const override { return "regions"; }

  void run(const Run&) override {
    const R* x = static_cast<const R*>(x_.load(all_threads_));
    const R* corners = static_cast<const R*>(regions_.load(all_threads_));
    R* y = static_cast<R*>(y_.place());
    const Shape &in = x_.shape(), &out = y_.shape();
    const int64_t count = out[0] * out[1], image = in[1] * in[2] * in[3], outputs = out[2] * out[3] * out[4];
#pragma omp parallel for num_threads(threads_) schedule(static) if (threads_ > 1)
    for (int64_t r = 0; r < count; ++r)
      pool(x + r / out[1] * image, corners + 4 * r, y + r * outputs, static_cast<int32_t*>(*positions_) + r * outputs,
           pixels_[size_t(omp_get_thread_num())]);
    y_.store(all_threads_);
  }

 private:
  // The pixels of a bin: their offsets in the image, and their numbers.
  struct Pixels {
    explicit Pixels(size_t most) : offsets(most), numbers(most) {}
    std::vector<int64_t> offsets;
    std::vector<int32_t> numbers;
  };

  void pool(const R* x, const R* corners, R* y, int32_t* positions, Pixels& pixels) const {
    const int64_t rows = x_.shape()[1], columns = x_.shape()[2], channels = x_.shape()[3];
    const int64_t height = y_.shape()[2], width = y_.shape()[3];
    R missing;
    const Region region = region_of(corners, scale_, missing);
    for (int64_t p = 0; p < height; ++p)
      for (int64_t q = 0; q < width; ++q, y += channels, positions += channels) {
        const Bin down = bin_of(region.rows, p, height, rows), across = bin_of(region.columns, q, width, columns);
        int64_t count = 0;
        for (int64_t i = down.begin; i < down.end; ++i)
          for (int64_t j = across.begin; j < across.end; ++j, ++count) {
            pixels.numbers[size_t(count)] = int32_t(i * columns + j);
            pixels.offsets[size_t(count)] = (i * columns + j) * channels;
          }
        if (count == 0) {
          std::fill_n(y, channels, missing);
          std::fill_n(positions, channels, -1);
          continue;
        }
        const elementwise::PoolRun run{pixels.offsets.data(), pixels.numbers.data(), count, 1, channels, 0, 0};
        elementwise::pooling_loops<R>().maximum_i32(run, x, -std::numeric_limits<R>::infinity(), y, positions);
      }
  }

  Operand x_, regions_, y_;
  void** positions_;
  const R scale_;
  const int all_threads_, threads_;
  std::vector<Pixels> pixels_;  // by thread
};

template <typename R>
class RegionMaximumGradient : public Kernel {
 public:
  RegionMaximumGradient(const LoweredKernel& kernel, Context& context)
      : y_(context, kernel.inputs[0], dtype_of<R>()),
        positions_(context.slot(kernel.inputs[1])),
        x_(context, kernel.outputs[0], dtype_of<R>()),
        all_threads_(context.threads),
        threads_(x_.shape().elements() > kElementsOfOneThread ? context.threads : 1) {}
  std::string implementation() const override { return "regions"; }

  void run(const Run&) override {
    const R* y = static_cast<const R*>(y_.load(all_threads_));
    R* x = static_cast<R*>(x_.place());
    const auto* positions = static_cast<const int32_t*>(*positions_);
    const Shape& shape = x_.shape();
    const int64_t channels = shape[3], image = shape[1] * shape[2] * channels;
    const int64_t outputs = y_.shape().slice(1, 5).elements();
#pragma omp parallel for num_threads(threads_) schedule(static) if (threads_ > 1)
    for (int64_t n = 0; n < shape[0]; ++n) {
      std::fill_n(x + n * image, image, R(0));
      for (int64_t k = 0; k < outputs; k += channels)
        for (int64_t c = 0; c < channels; ++c)
          if (const int64_t position = positions[n * outputs + k + c]; position >= 0)
            x[n * image + position * channels + c] += y[n * outputs + k + c];
    }
    x_.store(all_threads_);
  }

 private:
  Operand y_;
  void** positions_;
  Operand x_;
  const int all_threads_, threads_;
};

template <template <typename> class Kernels>
std::unique_ptr<Kernel> make_regions(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.outputs[0]).dtype == DType::f64) return std::make_unique<Kernels<double>>(kernel, context);
  return std::make_unique<Kernels<float>>(kernel, context);
}

const KernelRegistration regions_kernels[] = {{ops::region_max, 0, make_regions<RegionMaximum>},
                                              {"region_max_gradient", 0, make_regions<RegionMaximumGradient>}};

}  // namespace

}  // namespace neon::cpu
