#include "neon/cli/kernel_work.h"

#include <algorithm>
#include <map>
#include <set>

#include "backends/graph/expression.h"
#include "backends/graph/fused.h"
#include "backends/graph/op.h"
#include "backends/variables.h"

namespace neon {

namespace {

// Each instruction that computes counts once for each element that it runs over.
double flops_of_segment(const Segment& segment) {
  double all = 1, kept = 1;
  for (int64_t i = 0; i < segment.domain.rank(); ++i) {
    all *= double(segment.domain[i]);
    if (!segment.reduced[size_t(i)]) kept *= double(segment.domain[i]);
  }
  double out = double(segment.totals.size()) * all;
  for (const Instruction& instruction : segment.body) {
    if (instruction.kind == Instruction::Kind::reduce) out += all;
    if (instruction.kind != Instruction::Kind::compute) continue;
    out += instruction.reach == Reach::full ? all : instruction.reach == Reach::kept ? kept : 1;
  }
  return out;
}

double flops_of_code(const FusedKernel& code) {
  double out = 0;
  for (const Segment& segment : code.segments) out += flops_of_segment(segment);
  return out;
}

// The arrays that a fused kernel reads and writes, by value; of one that it reads through indices, the rows asked for.
std::map<Value, double> bytes_of_fused(const FusedKernel& kernel, const Graph& graph) {
  std::map<Value, double> out;
  for (const Segment& segment : kernel.segments) {
    for (const Instruction& instruction : segment.body) {
      if (instruction.kind != Instruction::Kind::load) continue;
      const TensorType& type = graph.type(instruction.value);
      const double rows = double(segment.domain.elements()) * double(size_of(type.dtype));
      double& bytes = out[instruction.value];
      bytes = std::max(bytes, instruction.index ? std::min(rows, double(type.bytes())) : double(type.bytes()));
      if (instruction.index) out[instruction.index] = double(graph.type(instruction.index).bytes());
    }
    for (const Store& store : segment.stores) out[store.value] = double(graph.type(store.value).bytes());
  }
  for (const Store& store : kernel.post_stores) out[store.value] = double(graph.type(store.value).bytes());
  if (const auto& product = kernel.product)
    for (Value value : {product->rows, product->weights}) out[value] = double(graph.type(value).bytes());
  return out;
}

// The flops of the node of `op` whose first inputs are these.
double flops_of_node(const Op& op, const std::vector<Value>& inputs, const Graph& graph) {
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(i);
    const bool reads_the_same =
        node.inputs.size() <= inputs.size() && std::equal(node.inputs.begin(), node.inputs.end(), inputs.begin());
    if (node.op == &op && reads_the_same) return op.flops(graph, node);
  }
  return 0;
}

double flops_of_op(const LoweredKernel& kernel, const Graph& graph) {
  if (!kernel.op->flops || kernel.outputs.empty()) return 0;
  const Attachment* filters = kernel.find(Attachment::Kind::filters);
  const double beside = filters && kernel.convolution() == ConvolutionKind::by_input
                            ? flops_of_node(*filters->op, {filters->value, kernel.inputs[0]}, graph)
                            : 0;
  // A kernel that folds or finishes what its op makes may not store it.
  const Attachment* walk = kernel.find(kernel.folds() ? Attachment::Kind::folds : Attachment::Kind::finish);
  const Node& made_by = graph.producer(walk && walk->value ? walk->value : kernel.outputs[0]);
  if (made_by.op == kernel.op) return kernel.op->flops(graph, made_by) + beside;
  // A kernel that pools, say, has the pooling's outputs, and its own op stands before.
  std::vector<Value> inputs = kernel.inputs;
  if (const Attachment* prologue = kernel.find(Attachment::Kind::prologue))
    inputs.insert(inputs.begin(), prologue->value);
  return flops_of_node(*kernel.op, inputs, graph) + beside;
}

double best_milliseconds(const Graph& graph, const DeviceOptions& device) {
  constexpr int kRuns = 5;
  Variables variables;
  const auto program = compile_program(graph, variables, device);
  program->time_kernels(true);
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    program->run(uint64_t(run));
    const std::vector<double> took = program->kernel_milliseconds();
    const double longest = *std::ranges::max_element(took);
    if (run == 0 || longest < best) best = longest;
  }
  return best;
}

}  // namespace

KernelWork work_of(const LoweredKernel& kernel, const Lowered& lowered) {
  KernelWork out;
  if (kernel.fused) {
    out.flops = flops_of_code(*kernel.fused);
    if (const auto& product = kernel.fused->product)
      out.flops += 2 * double(lowered.graph.shape(product->result).elements()) *
                   double(lowered.graph.shape(product->rows).back());
    for (const auto& [value, bytes] : bytes_of_fused(*kernel.fused, lowered.graph)) out.bytes += bytes;
    return out;
  }
  out.flops = flops_of_op(kernel, lowered.graph);
  for (const FusedKernel* code : {kernel.prologue(), kernel.folds(), kernel.finish()})
    if (code) out.flops += flops_of_code(*code);
  std::set<Value> moved(kernel.inputs.begin(), kernel.inputs.end());
  moved.insert(kernel.outputs.begin(), kernel.outputs.end());
  for (const Value value : moved)
    if (value) out.bytes += double(lowered.graph.type(value).bytes());
  return out;
}

double Ceiling::share(const KernelWork& work, double milliseconds) const {
  const double seconds = std::max(work.flops / flops_per_second, work.bytes / bytes_per_second);
  return milliseconds > 0 ? seconds * 1e3 / milliseconds : 0;
}

Ceiling measure_ceiling(DType type, const DeviceOptions& device) {
  const int64_t side = device.gpu ? 8192 : 2048, elements = int64_t(1) << (device.gpu ? 26 : 24);
  Ceiling out;
  Graph product;
  const Value a = product.variable("a", type, {side, side}), b = product.variable("b", type, {side, side});
  product.assign(product.variable("c", type, {side, side}), matmul(product, a, b));
  const double operations = 2 * double(side) * double(side) * double(side);
  out.flops_per_second = operations / best_milliseconds(product, device) * 1e3;
  Graph sum;
  const Value x = sum.variable("x", type, {elements}), y = sum.variable("y", type, {elements});
  sum.assign(x, sum.add("add", {x, y}));
  out.bytes_per_second = 3.0 * double(elements) * double(size_of(type)) / best_milliseconds(sum, device) * 1e3;
  return out;
}

}  // namespace neon
