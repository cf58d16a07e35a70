// The nodes that max pooling and its gradient take along.
#include <algorithm>

#include "backends/graph/epilogue.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

using Sizes = std::vector<int64_t>;
// A GPU's warp keeps some filters in registers, which its tensor cores take 32 bytes at once.
constexpr size_t kMostFilterBytes = 128, kBytesAtOnce = 32;
constexpr int64_t kFiltersAtOnce = 32;

bool is_two_by_two(const Attributes& pooling) {
  return pooling.integers("window") == Sizes{2, 2, 1} && pooling.integers("strides") == Sizes{2, 2, 1} &&
         pooling.integers("padding") == Sizes(6, 0);
}

}  // namespace

// Whether node `n` is pooling that a convolution of few channels, plus bias, may take along: then nobody else reads
// what that makes, which would be the largest array of many nets.
bool Epilogues::may_pool(const LoweredKernel& convolution, int n) const {
  if (n < 0 || convolution.convolution() != ConvolutionKind::forward || !convolution.bias() ||
      !graph_.node(n).op->is(ops::pool_max) || !is_two_by_two(graph_.node(n).attributes))
    return false;
  const Value x = convolution.inputs[0], y = graph_.node(n).outputs[0];
  return is_pointwise(convolution, graph_) && sees_patches(x, convolution.inputs[1]) &&
         graph_.shape(y)[1] == graph_.shape(x)[1] / 2 && graph_.shape(y)[2] == graph_.shape(x)[2] / 2 &&
         !assigned_[size_t(n)] && !is_joined(y);
}

// Whether filters w (K,1,1,C), or a gradient by them, are of patches x (N,H,W,C), and of a type and sizes that a kernel
// with pooling takes.
bool Epilogues::sees_patches(Value x, Value w) const {
  const DType dtype = graph_.dtype(x);
  const Shape& filters = graph_.shape(w);
  const size_t bytes = size_t(filters.back()) * size_of(dtype);
  return graph_.producer(x).op->is(ops::patches) && std::ranges::count(options_.kernels.pooled_types, dtype) > 0 &&
         graph_.dtype(w) == dtype && filters.elements() == filters[0] * filters.back() && bytes <= kMostFilterBytes &&
         bytes % kBytesAtOnce == 0 && filters[0] % kFiltersAtOnce == 0;
}

void Epilogues::take_pooling(LoweredKernel& convolution, int n) {
  const Node& pooling = graph_.node(n);
  convolution.attachments.push_back({.kind = Attachment::Kind::pooling, .op = pooling.op});
  convolution.outputs = pooling.outputs;
  take_node(n);
}

// The gradient of max pooling takes the derivative of an activation after it along, and the sums over the pixels of
// what it spreads. Only where the derivative would have been a kernel without others, and not what a concatenation
// reads, too: its parts are read where they lie by fused kernels alone.
void Epilogues::take_gate(LoweredKernel& kernel, int pooling) {
  const int d = graph_.producer_index(kernel.inputs[0]);
  const Value given = kernel.inputs[0];
  if (taken_[size_t(d)] || !is_gate(d) ||
      roles_[size_t(graph_.producer_index(graph_.node(d).inputs[0]))] == Role::fusible)
    return;
  std::vector<int> nodes = {d, pooling};
  for (int user : uses_[size_t(given.id)])
    if (user != pooling) nodes.push_back(user);
  const bool by_channel =
      kernel.attributes.integers("window").back() == 1 && kernel.attributes.integers("strides").back() == 1;
  const bool sums = nodes.size() == 3 && by_channel && sums_pixels(nodes[2]);
  if ((nodes.size() > 2 && !sums) || is_joined(graph_.node(d).inputs[1])) return;
  const int filters = sums ? gradient_by_filters(kernel) : -1;
  if (filters >= 0) nodes.push_back(filters);
  const bool small = graph_.type(given).bytes() < size_t(options_.kernels.pooled_bytes);
  if ((small && filters < 0) || !may_be_one(nodes)) return;
  kernel.inputs[0] = graph_.node(d).inputs[0];
  take_derivative(kernel, graph_.node(d));
  if (sums) {
    kernel.outputs.push_back(graph_.node(nodes[2]).outputs[0]);
    kernel.attachments.push_back({.kind = Attachment::Kind::sums});
  }
  if (filters >= 0) {
    const Node& gradient = graph_.node(filters);
    kernel.attachments.push_back({.kind = Attachment::Kind::filters, .value = gradient.inputs[0], .op = gradient.op});
    kernel.inputs.push_back(gradient.inputs[0]);
    kernel.outputs[0] = graph_.node(filters).outputs[0];
  }
  make_one(nodes);
  for (int n : nodes) {
    if (n == pooling) continue;
    take_node(n);
  }
}

// The gradient by a first convolution's filters that alone reads the result of pooling's gradient; -1 without one. The
// result, mostly zeros, then need not be written.
int Epilogues::gradient_by_filters(const LoweredKernel& pooling) const {
  const int n = only_use(pooling.outputs[0]);
  if (n < 0 || assigned_[size_t(n)] || !is_two_by_two(pooling.attributes)) return -1;
  const Node& node = graph_.node(n);
  const bool found = node.op->traits.convolution == ConvolutionKind::by_filters &&
                     node.inputs[1] == pooling.outputs[0] && sees_patches(node.inputs[0], node.outputs[0]);
  return found ? n : -1;
}

// Whether node `n` sums over all axes but the last.
bool Epilogues::sums_pixels(int n) const {
  if (n == graph_.node_count() || graph_.node(n).op->traits.reduction != Reduction::sum || assigned_[size_t(n)])
    return false;
  const auto& axes = graph_.node(n).attributes.integers("axes");
  const int last = graph_.shape(graph_.node(n).inputs[0]).rank() - 1;
  bool all = int(axes.size()) == last;
  for (int axis = 0; axis < last; ++axis) all = all && std::ranges::count(axes, axis) == 1;
  return all;
}

}  // namespace neon
