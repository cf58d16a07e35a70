// The gradient by filters that see one pixel each: dw = sum over pixels of dy' x. oneDNN makes a product for each
// sample, whose rows are the fewer channels. Their sum has the samples in their order, whatever the number of threads.
// 16 images of 112 x 112, 96 channels and 16 filters took 50 to 58 ms as a convolution's gradient. They take 11 ms so,
// on one core of Zen 5. Images of 28 x 28 and smaller ones gain nothing.
#include <omp.h>

#include "backends/cpu/onednn.h"
#include "backends/cpu/onednn_kernel.h"
#include "backends/cpu/onednn_part.h"
#include "backends/graph/lower.h"

namespace neon::cpu {

namespace {

constexpr int64_t kLeastPixels = 1024, kMostProductBytes = int64_t(16) << 20;

struct PixelSizes {
  int64_t samples, pixels, channels, filters;
  int64_t rows() const { return std::min(channels, filters); }
  int64_t columns() const { return std::max(channels, filters); }
  bool turned() const { return channels < filters; }  // products are (channels, filters)
  int64_t product_bytes() const { return samples * channels * filters * int64_t(sizeof(float)); }
};

// For each sample, its fewer channels (rows, pixels) times the others (pixels, columns).
dnnl::matmul::primitive_desc product_of(const PixelSizes& s, const dnnl::primitive_attr& attributes) {
  using memory = dnnl::memory;
  const auto type = memory::data_type::f32;
  const memory::desc a({s.samples, s.rows(), s.pixels}, type, memory::format_tag::acb),
      b({s.samples, s.pixels, s.columns()}, type, memory::format_tag::abc),
      c({s.samples, s.rows(), s.columns()}, type, memory::format_tag::abc);
  return {dnnl::matmul::desc(a, b, c), attributes, onednn_engine()};
}

class PixelGradient : public OnednnKernel {
 public:
  // x (N,..,C), dy (N,..,K) -> dw (K,1,..,1,C)
  PixelGradient(const LoweredKernel& kernel, Context& context, const PixelSizes& sizes,
                const dnnl::matmul::primitive_desc& product)
      : OnednnKernel(kernel, context, memory::data_type::f32),
        sizes_(sizes),
        threads_(context.threads),
        scratch_(context.scratch),
        result_(context, kernel.outputs[0], DType::f32) {
    set_primitive(dnnl::matmul(product), product);
    read(DNNL_ARG_SRC, kernel.inputs[sizes.turned() ? 0 : 1], product.src_desc(), product.src_desc());
    read(DNNL_ARG_WEIGHTS, kernel.inputs[sizes.turned() ? 1 : 0], product.weights_desc(), product.weights_desc());
    products_ = memory(product.dst_desc(), onednn_engine(), nullptr);
    place_ = context.scratch.take(size_t(sizes.product_bytes()));
    take(DNNL_ARG_DST, products_);
  }

  static dnnl::primitive_attr scratch_apart() { return attributes(); }

  void run(const Run& run) override {
    const auto* products = reinterpret_cast<const float*>(scratch_.at(place_));
    products_.set_data_handle(scratch_.at(place_));
    OnednnKernel::run(run);
    auto* to = static_cast<float*>(result_.place());
    const int64_t k = sizes_.filters, c = sizes_.channels;
#pragma omp parallel for num_threads(threads_) schedule(static) if (k * c * sizes_.samples > kElementsOfOneThread)
    for (int64_t filter = 0; filter < k; ++filter)
      for (int64_t channel = 0; channel < c; ++channel) {
        const int64_t at = sizes_.turned() ? channel * k + filter : filter * c + channel;
        float sum = 0;
        for (int64_t n = 0; n < sizes_.samples; ++n) sum += products[n * k * c + at];
        to[filter * c + channel] = sum;
      }
    result_.store(threads_);
  }

 private:
  PixelSizes sizes_;
  int threads_;
  Scratch& scratch_;
  Operand result_;
  memory products_;
  size_t place_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_pixel_gradient(const LoweredKernel& kernel, Context& context) {
  const Shape &x = context.type(kernel.inputs[0]).shape, &dw = context.type(kernel.outputs[0]).shape;
  if (!is_pointwise(kernel, context.lowered.graph)) return nullptr;
  const PixelSizes sizes{x[0], x.slice(1, x.rank() - 1).elements(), x.back(), dw[0]};
  if (sizes.pixels < kLeastPixels || sizes.product_bytes() > kMostProductBytes) return nullptr;
  const dnnl::matmul::primitive_desc product = product_of(sizes, PixelGradient::scratch_apart());
  if (!std::string_view(product.impl_info_str()).starts_with("brg")) return nullptr;  // as without AVX-512
  return std::make_unique<PixelGradient>(kernel, context, sizes, product);
}

}  // namespace neon::cpu
