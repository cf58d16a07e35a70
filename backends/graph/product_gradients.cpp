// The gradient of a convolution's filters is one product, dw (K, R S C) = dy (K, N P Q) · columns(x) (R S C, N P Q)ᵀ.
// Tensor cores take 32-bit operands only where both lie along the sum, and images lie across it; turned first, they are
// multiplied at the full rate. Seen on an H200: 160 TFLOP/s as images lie, 380 along the sum, and 3.5 TB/s of turning.
#include "backends/graph/expression.h"
#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "backends/graph/rewrite.h"
#include "backends/graph/windows.h"

namespace neon {

namespace {

constexpr int64_t kLeastMaps = 384;                            // with fewer, turning takes longer than it saves
constexpr int64_t kLeastWork = int64_t(1) << 30;               // multiplications; below, kernels wait for each other
constexpr int64_t kMostBytes = int64_t(1) << 30, kAtOnce = 4;  // of the columns; numbers of a 16-byte access

using Sizes = std::vector<int64_t>;

}  // namespace

Graph with_product_gradients(const Graph& graph) {
  return rewritten(graph, [](Graph& to, const Node& node) {
    std::vector<Value> out;
    if (node.op->traits.convolution != ConvolutionKind::by_filters || node.attributes.integer("groups") != 1)
      return out;
    const Shape x = to.shape(node.inputs[0]), y = to.shape(node.inputs[1]);
    if (x.rank() != 4 || to.dtype(node.inputs[0]) != DType::f32) return out;
    const Sizes& size = node.attributes.integers("sizes");
    const int64_t maps = y.back(), rows = size[0] * size[1] * x.back(),
                  sums = y.elements() / std::max<int64_t>(maps, 1);
    if (maps < kLeastMaps || maps % kAtOnce || rows % kAtOnce || sums % kAtOnce || maps * rows * sums < kLeastWork ||
        4 * rows * sums > kMostBytes)
      return out;
    Attributes windows = {{"strides", node.attributes.integers("strides")},
                          {"padding", node.attributes.integers("padding")},
                          {"dilation", node.attributes.integers("dilation")},
                          {"sizes", size}};
    const Attributes pixels = {
        {"strides", Sizes{1, 1}}, {"padding", Sizes(4, 0)}, {"dilation", Sizes{1, 1}}, {"sizes", Sizes{1, 1}}};
    const Value seen = to.add(ops::columns, {node.inputs[0]}, std::move(windows));
    const Value turned = to.add(ops::columns, {node.inputs[1]}, pixels);
    const Value product =
        to.add(ops::matmul, {turned, seen}, {{"transpose_a", int64_t(0)}, {"transpose_b", int64_t(1)}});
    return std::vector{reshape(to, product, {maps, size[0], size[1], x.back()})};
  });
}

}  // namespace neon
