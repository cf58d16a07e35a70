// With a row for every pixel, P = N H W, and filters w (K,C):
//   convolution                    y (P,K) = x (P,C) · wᵀ
//   convolution_data_gradient      x (P,C) = y (P,K) · w
//   convolution_weight_gradient    w (K,C) = yᵀ · x, of the operands x and y
#include "backends/cuda/pointwise.h"

#include <algorithm>
#include <optional>

#include "backends/cuda/convolution.h"
#include "backends/cuda/disk_cache.h"
#include "backends/cuda/product.h"
#include "backends/cuda/timing.h"

namespace neon::cuda {

namespace {

// Nothing where it is none, or one that cuBLASLt does not take.
std::optional<ProductCase> product_of_pixels(const LoweredKernel& kernel, const Lowered& lowered) {
  const Graph& graph = lowered.graph;
  if (!is_pointwise(kernel, graph) || !is_of_one_type(kernel, graph)) return {};
  auto rows = [&](Value value, bool transposed) {
    const Shape& shape = graph.shape(value);
    const int64_t columns = shape.back();
    return Matrix{shape.elements() / columns, columns, columns, transposed};
  };
  const bool forward = kernel.op == "convolution", of_filters = kernel.op == "convolution_weight_gradient";
  ProductCase out{.dtype = graph.dtype(kernel.outputs[0]),
                  .a = rows(kernel.inputs[of_filters], of_filters),
                  .b = rows(kernel.inputs[!of_filters], forward),
                  .c = rows(kernel.outputs[0], false),
                  .bias = bool(kernel.bias),
                  .relu = kernel.relu,
                  .swapped = of_filters};
  // Filters (K,1,1,C) have a row for each map.
  const Placement& placement = lowered.placements[size_t(kernel.outputs[0].id)];
  if (placement.lies_together(graph.shape(kernel.outputs[0]).elements())) return out;
  if (placement.row != out.c.columns) return {};
  out.c.stride = placement.stride;
  return out;
}

// Which of two does the kernel first, by the clock.
size_t faster_of(LibraryKernel* const (&both)[2], const LoweredKernel& kernel, const Graph& graph,
                 const std::shared_ptr<Device>& device) {
  auto array = [&](Value value) { return value ? varied(device, graph.type(value)) : Memory(); };
  const Memory a = array(kernel.inputs[0]), b = array(kernel.inputs[1]), bias = array(kernel.bias),
               c = array(kernel.outputs[0]),
               workspace(device, std::max(both[0]->workspace_bytes(), both[1]->workspace_bytes()), "timing");
  return fastest_of(*device, 2,
                    [&](size_t i) { both[i]->launch(a.data(), b.data(), bias.data(), c.data(), workspace.data()); });
}

// Which library did it faster, once that is known.
class Choice {
 public:
  Choice(const LoweredKernel& kernel, const Graph& graph, const Device& device, const LibraryOptions& options)
      : cache_("library", text(device.name(), " cudnn ", convolution_version(), " cublaslt ", product_version())),
        key_(text(kernel.op, " ", graph.type(kernel.inputs[0]), " ", graph.type(kernel.inputs[1]),
                  kernel.bias ? " bias" : "", kernel.relu ? " relu" : "", options.tf32 ? " tf32" : "")) {
    cache_.read(key_, known);
  }
  void write(const std::string& library) const { cache_.write(key_, library); }
  std::string known;

 private:
  DiskCache cache_;
  std::string key_;
};

// Of cuDNN's kernel and cuBLASLt's, either of which may be null.
std::unique_ptr<LibraryKernel> make_faster(const LoweredKernel& kernel, const Graph& graph, const ProductCase& product,
                                           const std::shared_ptr<Device>& device, const LibraryOptions& options) {
  const Choice choice(kernel, graph, *device, options);
  std::unique_ptr<LibraryKernel> by_cudnn, by_product;
  if (choice.known != "cublaslt") by_cudnn = make_convolution(kernel, graph, device, options);
  if (choice.known != "cudnn" || !by_cudnn) by_product = make_product(product, device, options);
  if (!by_cudnn || !by_product) return std::move(by_cudnn ? by_cudnn : by_product);
  auto& faster = faster_of({by_cudnn.get(), by_product.get()}, kernel, graph, device) == 0 ? by_cudnn : by_product;
  choice.write(faster->library());
  return std::move(faster);
}

}  // namespace

void prepare_convolutions(const std::vector<const LoweredKernel*>& kernels, const Lowered& lowered,
                          const Device& device, const LibraryOptions& options) {
  const Graph& graph = lowered.graph;
  std::vector<const LoweredKernel*> asked;
  for (const LoweredKernel* kernel : kernels) {
    const Value result = kernel->outputs[0];
    if (!lowered.placements[size_t(result.id)].lies_together(graph.shape(result).elements())) continue;
    const bool chosen = options.timed && product_of_pixels(*kernel, lowered);
    if (!chosen || Choice(*kernel, graph, device, options).known != "cublaslt") asked.push_back(kernel);
  }
  if (!asked.empty()) plan_convolutions(asked, graph, device, options);
}

std::unique_ptr<LibraryKernel> make_convolution_or_product(const LoweredKernel& kernel, const Lowered& lowered,
                                                           std::shared_ptr<Device> device,
                                                           const LibraryOptions& options) {
  const Graph& graph = lowered.graph;
  const Value result = kernel.outputs[0];
  const auto product = product_of_pixels(kernel, lowered);
  std::unique_ptr<LibraryKernel> out;
  if (lowered.placements[size_t(result.id)].lies_together(graph.shape(result).elements())) {
    if (product && options.timed) return make_faster(kernel, graph, *product, device, options);
    out = make_convolution(kernel, graph, device, options);
  }
  if (!out && product) out = make_product(*product, device, options);
  return out;
}

}  // namespace neon::cuda
