#include "tests/backends/net_of_branches.h"

#include "backends/graph/op.h"
#include "neon/core/random.h"

namespace neon::test {

namespace {

using Numbers = std::vector<int64_t>;

}  // namespace

NetOfBranches::NetOfBranches(Graph& graph, DType dtype, const Shape& image)
    : graph(graph), dtype(dtype), x(input("x", image)) {}

Expr NetOfBranches::product(Expr from, int64_t maps, int64_t size, int64_t groups) {
  const Shape filters{maps, size, size, from.shape().back() / groups};
  return {graph, convolution(graph, from, variable(filters), windows(size), groups)};
}

Expr NetOfBranches::layer(Expr from, int64_t maps, int64_t size) {
  return apply("relu", product(from, maps, size) + variable({maps}));
}

Windows NetOfBranches::windows(int64_t size) {
  const int64_t side = size / 2;
  return {{size, size}, {1, 1}, {side, side}, {side, side}, {1, 1}};
}

Expr NetOfBranches::transposed(Expr from, int64_t maps) {
  return data_gradient(from, variable({from.shape().back(), 1, 1, maps}));
}

Expr NetOfBranches::data_gradient(Expr y, Expr w) {
  const Shape& shape = y.shape();
  return {graph, deconvolution(graph, y, w, windows(w.shape()[1]), 1, {shape[1], shape[2]})};
}

Expr NetOfBranches::weight_gradient(Expr from, Expr y) {
  const Attributes attributes = {{"strides", Numbers{1, 1}},
                                 {"padding", Numbers{0, 0, 0, 0}},
                                 {"dilation", Numbers{1, 1}},
                                 {"groups", int64_t(1)},
                                 {"sizes", Numbers{1, 1}}};
  return {graph, graph.add("convolution_weight_gradient", {from, y}, attributes)};
}

Expr NetOfBranches::largest(Expr from) {
  const Attributes attributes = {
      {"window", Numbers{3, 3, 1}}, {"strides", Numbers{1, 1, 1}}, {"padding", Numbers{1, 1, 1, 1, 0, 0}}};
  return {graph, graph.add_all("pool_max", {from}, attributes)[0]};
}

Expr NetOfBranches::mean_of_four(Expr from) {
  const Attributes attributes = {{"window", Numbers{2, 2, 1}},
                                 {"strides", Numbers{1, 1, 1}},
                                 {"padding", Numbers{0, 1, 0, 1, 0, 0}},
                                 {"count_padding", int64_t(1)}};
  return {graph, graph.add("pool_avg", {from}, attributes)};
}

Expr NetOfBranches::joined(const std::vector<Expr>& parts, int64_t axis) {
  return {graph, graph.add("concat", {parts.begin(), parts.end()}, {{"axis", axis}})};
}

Expr NetOfBranches::part(Expr from, int64_t axis, int64_t first, int64_t count) {
  return {graph, graph.add("slice", {from}, {{"axis", axis}, {"first", first}, {"count", count}})};
}

std::function<void(Graph&, DType)> over(const Shape& image, BuildBranches build) {
  return [=](Graph& graph, DType dtype) {
    NetOfBranches net(graph, dtype, image);
    build(net);
  };
}

Graph build_branches(const std::function<void(Graph&, DType)>& build, DType dtype) {
  Graph graph;
  build(graph, dtype);
  const auto found = graph.outputs().find("y");
  if (found == graph.outputs().end()) return graph;
  std::vector<Value> leaves = graph.leaves(LeafKind::variable);
  for (Value leaf : graph.leaves(LeafKind::input)) leaves.push_back(leaf);
  const Value y = found->second;
  const std::vector<Value> found_gradients = gradients(graph, y, leaves, graph.input("seed", dtype, graph.shape(y)));
  for (size_t i = 0; i < leaves.size(); ++i)
    if (found_gradients[i])
      graph.output("gradient of " + graph.producer(leaves[i]).attributes.string("name"), found_gradients[i]);
  return graph;
}

Tensor join_data(const Graph& graph, Value leaf) {
  Tensor out(graph.dtype(leaf), graph.shape(leaf));
  Stream stream(1, graph.producer(leaf).attributes.string("name"));
  // -1 or 1 in a quarter of the places, else 0; what has no sign, or is a row's index, is not below 0.
  const int least = out.dtype() == DType::u8 || out.dtype() == DType::i32 ? 0 : -1;
  for (int64_t i = 0; i < out.elements(); ++i) {
    const int64_t drawn = int64_t(stream.below(8));
    out.set(i, drawn == 0 ? least : drawn == 1 ? 1 : 0);
  }
  return out;
}

}  // namespace neon::test
