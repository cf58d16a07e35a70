// A dense block (Huang et al. 2016) normalises concatenations of channels of which each is a part of the next, and adds
// up the gradients by all of them. Each is dx = gain g - (offset + slope (x - average)), with sums over the batch in
// offset and slope. So a gradient is known as a whole only after its sums, and a kernel would read g and x twice. The
// sum of several needs no whole one: with R = sum gain g, and offset and slope added up for each channel,
//   sum dx = R - (offset + slope (x - average))
// is computed where it is read, part by part. The walk that makes the sums of a summand adds it to R.
#include <algorithm>
#include <map>
#include <optional>

#include "backends/graph/batch_norm.h"
#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "backends/graph/rewrite.h"
#include "backends/graph/statistics.h"

namespace neon {

namespace {

Value without_cast(const Graph& graph, Value value) {
  return graph.producer(value).op->is(ops::cast) ? graph.producer(value).inputs[0] : value;
}

// The parts of a concatenation of channels; none of anything else.
std::vector<Value> channel_parts(const Graph& graph, Value value) {
  const Node& maker = graph.producer(value);
  const bool joins = maker.op->is(ops::concat) && maker.attributes.integer("axis") == graph.shape(value).rank() - 1;
  return joins ? maker.inputs : std::vector<Value>{};
}

// Whether a batch norm has one number for each channel, of so many pixels that x is read for the sums alone.
bool has_many_rows(const Graph& graph, const Node& norm) {
  const Shape &x = graph.shape(norm.inputs[0]), &gamma = graph.shape(norm.inputs[1]);
  return gamma.elements() == gamma.back() && x.elements() >= kManyRows * std::max<int64_t>(gamma.elements(), 1);
}

// Channels of an array, `first` and those behind it. The part that a concatenation has there, if they are one.
Expr channels(Expr x, int64_t first, int64_t count) {
  Graph& graph = x.graph();
  int64_t at = 0;
  for (Value part : channel_parts(graph, x)) {
    const int64_t own = graph.shape(part).back();
    if (at == first && own == count) return {graph, part};
    at += own;
  }
  return {graph,
          graph.add(ops::slice, {x}, {{"axis", int64_t(x.shape().rank() - 1)}, {"first", first}, {"count", count}})};
}

// A sum of gradients as whole = raw - (offset + slope (x - average)).
struct Unfinished {
  Expr raw, offset, slope, x, average;

  Expr whole() const {
    const Expr x_in_full = cast(x, offset.dtype());
    return cast(cast(raw, offset.dtype()) - (offset + slope * (x_in_full - average)), raw.dtype());
  }
  Unfinished part(int64_t first, int64_t count) const {
    return {channels(raw, first, count), channels(offset, first, count), channels(slope, first, count),
            channels(x, first, count), channels(average, first, count)};
  }
  // The averages of one channel in two batch norms may differ by their rounding.
  Unfinished plus(const Unfinished& other) const {
    Expr more = other.offset;
    if (average.value() != other.average.value()) more = more + other.slope * (average - other.average);
    return {raw + other.raw, offset + more, slope + other.slope, x, average};
  }
};

class DenseBlocks {
 public:
  // The results of a node of the graph that is being made, if others take their place.
  std::vector<Value> replaced(Graph& to, const Node& node) {
    if (node.op->is(ops::batch_norm_grad)) return gradient(to, node);
    const std::optional<Unfinished> sum = sum_of(node);
    return sum ? std::vector<Value>{keep(*sum)} : std::vector<Value>{};
  }

 private:
  std::vector<Value> gradient(Graph& to, const Node& node) {
    const Expr x(to, without_cast(to, node.inputs[0]));
    if (!has_many_rows(to, node) || channel_parts(to, x).empty()) return {};
    const BatchNormGradient g = apart(to, node);
    return {keep({g.gain * g.g, g.offset, g.slope, x, g.average}), g.dgamma, g.dbeta};
  }

  // The result of a cast, a slice of channels or a sum of unfinished gradients.
  std::optional<Unfinished> sum_of(const Node& node) const {
    const auto of = [&](size_t input) {
      const auto found = unfinished_.find(node.inputs[input]);
      return found == unfinished_.end() ? nullptr : &found->second;
    };
    const bool adds = node.op->is(ops::add);
    const size_t first = adds && !of(0) ? 1 : 0;
    if (node.inputs.empty() || !of(first)) return {};
    Unfinished out = *of(first);
    if (node.op->is(ops::cast)) {
      out.raw = cast(out.raw, DType(node.attributes.integer("dtype")));
      return out;
    }
    if (node.op->is(ops::slice) && node.attributes.integer("axis") == out.x.shape().rank() - 1)
      return out.part(node.attributes.integer("first"), node.attributes.integer("count"));
    if (!adds) return {};
    const Value other = node.inputs[1 - first];
    if (first == 0 && of(1) && of(1)->x.value() == out.x.value()) return out.plus(*of(1));
    out.raw = out.raw + Expr(out.raw.graph(), other);
    return out;
  }

  Value keep(const Unfinished& sum) {
    const Value whole = sum.whole();
    unfinished_.emplace(whole, sum);
    return whole;
  }

  std::map<Value, Unfinished> unfinished_;  // by the whole
};

}  // namespace

Graph with_dense_blocks(const Graph& graph) {
  DenseBlocks blocks;
  return rewritten(graph, [&](Graph& to, const Node& node) { return blocks.replaced(to, node); });
}

}  // namespace neon
