#include "tests/backends/dense_block_cases.h"

#include "backends/graph/expression.h"
#include "backends/graph/windows.h"

namespace neon::test {

namespace {

using Sizes = std::vector<int64_t>;

enum class ChannelOrder {
  behind,
  before,
  flat
};  // where new channels go: all concatenations begin with the images if flat
enum class BesideBlock { none, output, sum };  // of the last concatenation, beside its batch norm

struct DenseBlock {
  Shape x{5, 16, 18, 8};
  int64_t growth = 16, filters = 3;
  ChannelOrder order = ChannelOrder::behind;
  BesideBlock reader = BesideBlock::none;
  bool relu = true, two = false;
  double epsilon_step = 0;  // of each batch norm beyond the one before

  void operator()(Graph& graph, DType dtype) const {
    Expr all = convolved({graph, graph.variable("x", dtype, x)}, "first", 24, 1);
    std::vector<Value> parts = {all};
    for (int64_t n = 0; n < kLayers; ++n) {
      const std::string layer = text("layer", n);
      const Expr made = convolved(activated(all, layer, 1e-3 + double(n) * epsilon_step), layer, growth, filters);
      parts.push_back(made);
      std::vector<Value> joined = {all, made};
      if (two) joined.push_back(apply("tanh", made));
      if (order == ChannelOrder::before) joined = {made, all};
      if (order == ChannelOrder::flat) joined = parts;
      all = Expr(graph, graph.add("concat", joined, {{"axis", int64_t(3)}}));
    }
    if (reader == BesideBlock::output) graph.output("all", all);
    Expr y = convolved(activated(all, "last", 1e-3), "last", 8, 1);
    if (reader == BesideBlock::sum) y = y + convolved(all, "beside", 8, 1);
    graph.output("y", y);
  }

  Expr activated(Expr from, const std::string& name, double epsilon) const {
    Graph& graph = from.graph();
    const Shape statistic{1, 1, 1, from.shape().back()};
    const DType wide = from.dtype() == DType::f64 ? DType::f64 : DType::f32;
    const Expr scale = Expr(graph, graph.variable(name + "/gamma", wide, statistic)) * 0.5 + 1.0;
    const Value shift = graph.variable(name + "/beta", wide, statistic);
    const Attributes attributes = {{"axes", Sizes{0, 1, 2}}, {"epsilon", epsilon}};
    const Expr y(graph, graph.add_all("batch_norm", {cast(from, wide), scale, shift}, attributes)[0]);
    return relu ? apply("relu", cast(y, from.dtype())) : cast(y, from.dtype());
  }

  static Expr convolved(Expr from, const std::string& name, int64_t maps, int64_t size) {
    Graph& graph = from.graph();
    const Value w = graph.variable(name + "/W", from.dtype(), {maps, size, size, from.shape().back()});
    const int64_t before = size / 2;
    return {graph,
            convolution(graph, from, w, Windows{{size, size}, {1, 1}, {before, before}, {before, before}, {1, 1}}, 1)};
  }
};

}  // namespace

std::vector<DenseBlockCase> dense_block_cases() {
  const DenseBlock plain;
  DenseBlock single = plain, narrow = plain, linear = plain, before = plain, flat = plain, two = plain, output = plain,
             sum = plain, epsilons = plain, few = plain;
  single.filters = 1;
  narrow.growth = 12;
  linear.relu = false;
  before.order = ChannelOrder::before, flat.order = ChannelOrder::flat;
  two.two = true;
  output.reader = BesideBlock::output, sum.reader = BesideBlock::sum;
  epsilons.epsilon_step = 0.5;
  few.x = {3, 8, 10, 8};
  return {
      {"new channels behind the others", plain},
      {"convolutions of single pixels", single},
      {"12 channels a layer", narrow},
      {"no relu", linear},
      {"new channels before the others", before},
      {"concatenations side by side", flat},
      {"two parts a layer", two},
      {"an output beside the last batch norm", output},
      {"a sum beside the last batch norm", sum},
      {"another epsilon in each batch norm", epsilons},
      {"few rows", few, false},
  };
}

}  // namespace neon::test
