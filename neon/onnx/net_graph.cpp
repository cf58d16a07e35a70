#include "neon/onnx/net_graph.h"

#include <cstring>

#include "backends/device/device.h"
#include "backends/graph/ops.h"
#include "backends/graph/passes.h"

namespace neon::onnx {

namespace {

// Two primes that are no size of a layer.
constexpr int64_t kFirstBatch = 10007, kSecondBatch = 10009;
constexpr int64_t kSmallBatches[] = {2, 3, 5, 7, 11, 13, 17, 19};

// The nodes that these values need, alone in a graph that has them as outputs.
Graph part_of(const Graph& from, const std::map<std::string, Value>& outputs) {
  std::vector<bool> live(size_t(from.node_count()), false);
  for (const auto& [name, value] : outputs) live[size_t(from.producer_index(value))] = true;
  for (int i = from.node_count() - 1; i >= 0; --i)
    for (size_t k = 0; live[size_t(i)] && k < from.node(i).inputs.size(); ++k)
      live[size_t(from.producer_index(from.node(i).inputs[k]))] = true;
  Graph to;
  to.sequences = from.sequences;
  std::vector<Value> mapped(size_t(from.value_count()));
  for (int i = 0; i < from.node_count(); ++i) {
    if (!live[size_t(i)]) continue;
    const Node& node = from.node(i);
    std::vector<Value> inputs;
    for (const Value input : node.inputs) inputs.push_back(mapped[size_t(input.id)]);
    const Scope scope(to, node.scope);
    const std::vector<Value> made = to.add_all(node.op->name, inputs, node.attributes);
    for (size_t k = 0; k < made.size(); ++k) mapped[size_t(node.outputs[k].id)] = made[k];
  }
  for (const auto& [name, value] : outputs) to.output(name, mapped[size_t(value.id)]);
  return to;
}

// Compound ops that ONNX has, too.
bool stays(const Graph&, const Node& node, const DeviceKernels&) {
  return node.op->is(ops::softmax) || node.op->is(ops::log_softmax) || node.op->is(ops::batch_matmul);
}

Graph expanded(const Graph& graph) {
  DeviceKernels kernels;
  kernels.keeps = stays;
  return expand(part_of(graph, {{"y", graph.outputs().at("y")}}), kernels);
}

bool alike(const Graph& a, const Graph& b) {
  bool out = a.node_count() == b.node_count();
  for (int i = 0; out && i < a.node_count(); ++i)
    out = a.node(i).op == b.node(i).op && a.node(i).inputs == b.node(i).inputs;
  return out;
}

// The part of `x` at one place of an axis.
Tensor element_of(const Tensor& x, int axis, int64_t place) {
  const Shape& shape = x.shape();
  const int64_t row = shape.slice(axis + 1, shape.rank()).elements(), length = shape[axis];
  Tensor out(x.dtype(), shape.with(axis, 1));
  for (int64_t i = 0; i < out.elements(); ++i) out.set(i, x.at(i / row * row * length + place * row + i % row));
  return out;
}

bool same_numbers(const Tensor& a, const Tensor& b) { return std::memcmp(a.data(), b.data(), a.bytes()) == 0; }

std::string name_of_output(Value value) { return text("value/", value.id); }

}  // namespace

std::string place_of(const Node& node) { return text(node.scope, ": op ", node.op->name); }

NetGraph::NetGraph(const std::function<Graph(int64_t batch)>& describe)
    : first_(expanded(describe(kFirstBatch))), second_(expanded(describe(kSecondBatch))) {
  if (!alike(first_, second_))
    fail(ErrorKind::config, "the net computes other things for other numbers of samples, which ONNX files have not");
  small_ = first_;
  for (const int64_t batch : kSmallBatches)
    if (Graph few = expanded(describe(batch)); alike(first_, few)) {
      small_ = std::move(few);
      break;
    }
  find_constants();
}

std::vector<int64_t> NetGraph::of_both(std::span<const int64_t> a, std::span<const int64_t> b, int node) const {
  std::vector<int64_t> out(a.begin(), a.end());
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const int64_t times = a[i] / kFirstBatch;
    if (a[i] != times * kFirstBatch || b[i] != times * kSecondBatch || times < 1)
      fail(ErrorKind::config, place_of(first_.node(node)),
           " depends on the number of samples in a way that ONNX files ", "cannot say: ", a[i], " for ", kFirstBatch,
           ", ", b[i], " for ", kSecondBatch);
    out[i] = -times;
  }
  return out;
}

std::vector<int64_t> NetGraph::sizes(Value value) const {
  return of_both(first_.shape(value).sizes(), second_.shape(value).sizes(), first_.producer_index(value));
}

std::vector<int64_t> NetGraph::numbers(int node, std::string_view attribute) const {
  return of_both(first_.node(node).attributes.integers(attribute), second_.node(node).attributes.integers(attribute),
                 node);
}

void NetGraph::check_same_attributes(int node) const {
  if (first_.node(node).attributes != second_.node(node).attributes)
    fail(ErrorKind::config, place_of(first_.node(node)), " depends on the number of samples in a way that ONNX files ",
         "cannot say");
}

void NetGraph::find_constants() {
  fixed_.resize(size_t(first_.value_count()), false);
  constant_ = fixed_;
  for (int i = 0; i < first_.node_count(); ++i) {
    const Node& node = first_.node(i);
    const OpTraits& traits = node.op->traits;
    bool fixed = !traits.draws && traits.leaf != LeafKind::input && traits.leaf != LeafKind::scalar, constant = true;
    for (const Value input : node.inputs) fixed = fixed && is_fixed(input), constant = constant && is_constant(input);
    for (const Value output : node.outputs) {
      fixed_[size_t(output.id)] = fixed;
      constant_[size_t(output.id)] = fixed && constant && first_.shape(output) == second_.shape(output);
    }
  }
}

// Whether the translation needs the numbers of that operand.
bool NetGraph::is_taken(const Node& node, size_t operand) const {
  const Value value = node.inputs[operand];
  return is_fixed(value) && !is_fixed(node.outputs[0]) && first_.producer(value).op->traits.leaf != LeafKind::constant;
}

// The array with size 1 along the axes that depend on the number of samples; empty where its parts differ there.
Tensor NetGraph::once(Value value, Tensor tensor) const {
  for (int axis = 0; axis < tensor.shape().rank(); ++axis) {
    if (first_.shape(value)[axis] == second_.shape(value)[axis]) continue;
    const Tensor one = element_of(tensor, axis, 0);
    for (int64_t i = 1; i < tensor.shape()[axis]; ++i)
      if (!same_numbers(one, element_of(tensor, axis, i))) return {};
    tensor = one;
  }
  return tensor;
}

std::map<Value, Tensor> NetGraph::constants(Variables& variables) const {
  std::map<Value, Tensor> out;
  std::map<std::string, Value> computed;
  for (int i = 0; i < first_.node_count(); ++i) {
    const Node& node = first_.node(i);
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (!is_taken(node, k)) continue;
      const Value input = node.inputs[k];
      const Node& maker = first_.producer(input);
      if (maker.op->traits.leaf == LeafKind::variable) out[input] = variables.at(maker.attributes.string("name"));
      else computed[name_of_output(input)] = input;
    }
  }
  if (computed.empty()) return out;
  const Graph graph = part_of(small_, computed);
  const auto program = compile_program(graph, variables, {});
  program->run(0);
  for (const auto& [name, value] : computed)
    if (const Tensor tensor = once(value, program->output(name).clone()); !tensor.empty()) out[value] = tensor;
  return out;
}

}  // namespace neon::onnx
