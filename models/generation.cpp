#include "models/generation.h"

#include "models/adversarial.h"

namespace neon {

StepGraph generation_graph(const Network& network, const DataLayout& data, const GenerationSteps& asked,
                           const StepOptions& options) {
  const int64_t steps = asked.steps;
  StepGraph step;
  Graph& graph = step.graph;
  LayerContext context(graph, false, options.dtype, options.seed, options.rounding == 0);
  context.caffe = options.caffe;
  context.data_axes = data.batch_axes();
  context.tokens = data.tokens;
  context.classes = data.classes;
  context.streams = options.batch;
  context.carried_prefix = kGenerationPrefix;
  context.places = asked.places;
  context.goes_on = true;
  if (asked.places > 0) context.place = graph.input("place", DType::i32, {options.batch});
  const Expr tokens(graph, graph.input("tokens", DType::i32, {options.batch, steps}));
  const Expr y = network.forward(context, tokens);
  const Shape wanted{options.batch, steps, data.tokens};
  if (y.shape() != wanted || !context.is_sequence(y))
    fail(ErrorKind::config, "the net gives ", context.sample_shape(y), " for ", steps,
         " tokens; to go on with a text, ", "it must give ", wanted.slice(1, 3), ", an output for each of the ",
         data.tokens, " tokens that may come next");
  const DType dtype = options.dtype == DType::f64 ? DType::f64 : DType::f32;
  graph.output("y", reshape(cast(y, dtype), {options.batch * steps, data.tokens}));
  for (const Assignment& a : context.carried_updates) graph.assign(a.variable, a.value);
  step.parameters = context.parameters;
  step.states = context.states;
  return step;
}

StepGraph made_samples_graph(const Network& network, const DataLayout& data, const StepOptions& options) {
  StepGraph step;
  Graph& graph = step.graph;
  LayerContext context(graph, false, options.dtype, options.seed, options.rounding == 0);
  context.caffe = options.caffe;
  const Link& link = network.last();
  const Expr noise = link.layer->container()->adversarial()->noise(context, link.name, options.batch);
  Expr made = network.forward_branch(context, 0, noise);
  if (data.sample.rank() == 3) made = reshape(made, {options.batch, data.sample[1], data.sample[2], data.sample[0]});
  network.forward_branch(context, 1, made);  // its arrays are in the checkpoint, too
  graph.output("x", cast(made, compute_type(options.dtype)));
  step.parameters = context.parameters;
  step.states = context.states;
  return step;
}

bool makes_images(const Network& network, const SampleMeaning& meaning) {
  Container* const container = network.last().layer->container();
  return container && container->adversarial() && meaning.is_image() &&
         (meaning.sample[0] == 1 || meaning.sample[0] == 3);
}

}  // namespace neon
