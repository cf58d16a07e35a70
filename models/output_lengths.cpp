#include "models/output_lengths.h"

#include <map>

#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "backends/program.h"
#include "models/several_texts.h"

namespace neon {

namespace {

// The last output of a net for so many sequences.
Expr output_of_sequences(LayerContext& context, const Network& network, const DataLayout& data, int64_t count) {
  context.data_axes = data.batch_axes();
  context.tokens = data.tokens;
  say_texts(context, data);
  context.classes = data.classes;
  context.target_steps = data.steps_have_targets() ? data.sample[0] : 0;
  if (data.ragged) context.data_lengths = context.graph.input("lengths", DType::i32, {count});
  const DType type = data.tokens > 0 ? DType::i32 : context.dtype;
  return network.forward(context, {context.graph, context.graph.input("x", type, Shape{count}.concat(data.sample))});
}

// Runs a graph of `lengths` for sequences of 1, 2, ... `count` steps, and one more of `count`. Returns the first
// `count` numbers of each of its outputs.
std::map<std::string, std::vector<int64_t>> run_for_lengths(const Graph& graph, int64_t count) {
  std::vector<int32_t> lengths;
  for (int64_t steps = 1; steps <= count; ++steps) lengths.push_back(int32_t(steps));
  lengths.push_back(int32_t(count));
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.threads = 1});
  program->bind("lengths", lengths.data());
  program->run(1);
  std::map<std::string, std::vector<int64_t>> out;
  for (const auto& [name, value] : graph.outputs()) {
    const Tensor steps = program->output(name);
    for (int64_t k = 0; k < count; ++k) out[name].push_back(int64_t(steps.at(k)));
  }
  return out;
}

// The lengths that each output of the net gives so many sequences; invalid where these are the same.
std::vector<Value> lengths_given(LayerContext& context, const Network& network, const DataLayout& data, int64_t count) {
  std::vector<Expr> outputs = {output_of_sequences(context, network, data, count)};
  outputs.insert(outputs.end(), context.more_outputs.begin(), context.more_outputs.end());
  std::vector<Value> out;
  for (const Expr& output : outputs) {
    const Value own = context.lengths(output);
    const bool fewer = own && own != context.data_lengths && context.is_sequence(output);
    out.push_back(fewer && output.shape()[1] == data.sample[0] ? own : Value());
  }
  return out;
}

}  // namespace

std::vector<std::vector<int64_t>> steps_with_outputs(const Network& network, const DataLayout& data,
                                                     const StepOptions& options, bool training) {
  Container* const last = network.last().layer->container();  // a decoder ends with the labels
  if (!data.ragged || !data.steps_have_targets() || (last && last->seq2seq())) return {};
  Graph graph;
  LayerContext context(graph, training, options.dtype, options.seed, options.rounding == 0);
  context.caffe = options.caffe;
  const int64_t count = data.sample[0];
  // One sample more, since batch norm trains with two at least.
  const std::vector<Value> given = lengths_given(context, network, data, count + 1);
  std::vector<std::vector<int64_t>> out(given.size());
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i]) graph.output(text("steps ", i), given[i]);
  if (graph.outputs().empty()) return out;
  std::map<std::string, std::vector<int64_t>> steps = run_for_lengths(graph, count);
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i]) out[i] = std::move(steps[text("steps ", i)]);
  return out;
}

std::vector<int64_t> steps_of_output(const Network& network, const DataLayout& data, const StepOptions& options,
                                     bool training) {
  Graph graph;
  LayerContext context(graph, training, options.dtype, options.seed, options.rounding == 0);
  context.caffe = options.caffe;
  const int64_t count = data.sample[0];
  const Expr y = output_of_sequences(context, network, data, count + 1);
  const Value own = context.lengths(y);
  if (!own) return std::vector<int64_t>(size_t(count), context.is_sequence(y) ? y.shape()[1] : 0);
  graph.output("steps", own);
  return run_for_lengths(graph, count)["steps"];
}

}  // namespace neon
