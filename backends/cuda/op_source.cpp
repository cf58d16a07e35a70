#include "backends/cuda/op_source.h"

#include <map>

#include "backends/cuda/attention_plan.h"
#include "backends/cuda/code_text.h"
#include "backends/cuda/depthwise_source.h"
#include "backends/graph/folds.h"
#include "backends/graph/ops.h"

namespace neon::cuda {

namespace {

struct Entry {
  SourceWriter writer;
  std::string_view functions;
};

std::map<std::string, Entry, std::less<>>& table() {
  static std::map<std::string, Entry, std::less<>> entries;
  return entries;
}

bool is_small_product(const LoweredKernel& kernel, const Graph& graph) {
  const int64_t inner = graph.shape(kernel.inputs[0])[kernel.attributes.integer("transpose_a") ? 0 : 1];
  return inner * graph.shape(kernel.outputs[0]).elements() <= kMostWork;
}

}  // namespace

SourceRegistration::SourceRegistration(std::string_view op, SourceWriter writer, std::string_view functions) {
  const bool fresh = table().try_emplace(std::string(op), Entry{writer, functions}).second;
  NEON_ASSERT(fresh);
}

bool has_source(const Op& op) { return table().count(op.name) > 0; }

DType arithmetic_of(const LoweredKernel& kernel, const Graph& graph) {
  bool wide = false;
  for (Value value : kernel.outputs)
    wide = wide || graph.dtype(value) == DType::i32 || graph.dtype(value) == DType::i64 ||
           graph.dtype(value) == DType::f64;
  for (Value value : kernel.inputs) wide = wide || graph.dtype(value) == DType::f64;
  return wide ? DType::f64 : DType::f32;
}

bool asks_library(const LoweredKernel& kernel, const SourceContext& context) {
  const Graph& graph = context.lowered.graph;
  if (kernel.op && is_attention(*kernel.op))
    return context.timed &&
           is_of_library(attention_case(graph, kernel.inputs, kernel.attributes, kernel.is(ops::attention_grad)));
  const bool product = kernel.is_matrix_product() && !is_small_product(kernel, graph);
  if (!product && (kernel.convolution() == ConvolutionKind::none || is_depthwise(kernel, graph))) return false;
  for (const auto& values : {kernel.inputs, kernel.outputs})
    for (Value value : values)
      if (context.sequences.count(context.lowered.storage[size_t(value.id)].id)) return false;
  return true;
}

std::vector<Value> library_arrays(const LoweredKernel& kernel) {
  if (is_attention(*kernel.op)) {
    std::vector<Value> out = kernel.inputs;
    out.insert(out.end(), kernel.outputs.begin(), kernel.outputs.end());
    return out;
  }
  const auto sums = kernel.folds() ? shifted_sums(*kernel.folds(), kernel.outputs[0]) : std::nullopt;
  return {kernel.inputs[0],
          kernel.inputs[1],
          kernel.bias(),
          kernel.addend(),
          kernel.outputs[0],
          sums ? sums->sum : Value{},
          sums ? sums->squares : Value{}};
}

Source op_source(const LoweredKernel& kernel, SourceContext& context) {
  const Graph& graph = context.lowered.graph;
  const auto found = table().find(kernel.op->name);
  if (graph.shape(kernel.outputs[0]).elements() == 0) {
    const DType compute = arithmetic_of(kernel, graph);
    CodeText code(context, compute);
    const std::string_view functions = found == table().end() ? std::string_view() : found->second.functions;
    return kernel_source(code, compute, std::string(functions), "", 1);
  }
  if (found == table().end())
    fail(ErrorKind::failed, "op ", kernel.op->name, " has no kernel on the GPU yet; -b cpu runs it");
  return found->second.writer(kernel, context);
}

}  // namespace neon::cuda
