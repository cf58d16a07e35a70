#include "models/guided_graph.h"

#include <algorithm>

#include "backends/graph/guided_gradient.h"
#include "models/batch.h"
#include "models/coded_columns.h"

namespace neon {

StepGraph guided_graph(const Network& network, const std::string& layer, const DataLayout& data, int64_t set_size,
                       const StepOptions& options) {
  StepGraph step;
  Graph& graph = step.graph;
  LayerContext context(graph, false, options.dtype, options.seed, options.rounding == 0);
  context.caffe = options.caffe;
  context.data_channels_last = channels_last(data, options);
  say_columns(context, data);
  context.classes = data.classes;
  context.output_layers = {layer};
  context.outputs_channels_last = true;
  DataLayout samples = data;
  samples.target_is_input = true;
  samples.drop_classes();
  const Batch batch = batch_of(graph, samples, set_size, options, false);
  const Expr maps = cast(network.forward(context, batch.x), context.arithmetic_dtype);
  if (maps.shape().rank() != 4)
    fail(ErrorKind::config, "GuidedBackprop is for convolutions of images, and ", layer, " gives ", maps.shape());
  const Expr best = max(maps, {1, 2});
  const Shape shape{maps.shape()[0], maps.shape()[3]};
  const Expr chosen(graph, graph.input("chosen", best.dtype(), shape));
  const Expr rows(graph, reshape(graph, best, shape));
  const Expr sum_of_chosen = sum(rows * chosen, {0, 1});
  const std::vector<Value> wanted = {batch.x};
  const Value guided = guided_gradients(graph, sum_of_chosen, wanted)[0];
  const auto with_channels_last = [&](Expr images) {
    images = cast(images, best.dtype());
    return context.data_channels_last ? images : Expr(graph, transpose(graph, images, {0, 2, 3, 1}));
  };
  graph.output("x", with_channels_last(batch.x));
  graph.output("best", rows);
  graph.output("guided", with_channels_last({graph, guided}));
  step.parameters = context.parameters;
  step.states = context.states;
  return step;
}

std::vector<std::string> convolutions_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> out;
  for (const Parameter& p : parameters)
    if (p.layer_class == "Convolution" && !std::ranges::count(out, p.owner)) out.push_back(p.owner);
  return out;
}

}  // namespace neon
