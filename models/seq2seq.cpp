#include "models/seq2seq.h"

#include "transforms/parts.h"

namespace neon {

Expr Seq2Seq::tokens_of(LayerContext& context) {
  Graph& graph = context.graph;
  const Value labels = context.target_labels;
  const int64_t samples = graph.shape(labels)[0], steps = graph.shape(labels)[1];
  const Expr start(graph, broadcast_to(graph, graph.constant(double(context.classes), DType::f32), {samples, 1}));
  const Expr each = cast(context.expr(labels), DType::f32), counts = apply("greater_equal", each, each.constant(0));
  Expr tokens = start;
  if (steps > 1) {
    // A step without a label is followed by the start token.
    const Expr known = apply("select", counts, each, each.constant(double(context.classes)));
    tokens = beside({start, part(known, 1, 0, steps - 1)}, 1);
  }
  const Expr out = cast(tokens, DType::i32);
  context.set_axes(out, {Axis::sample, Axis::time});
  // Steps behind the last label are padding.
  const Expr number = cast(context.expr(iota(graph, {1, steps}, 1)), DType::f32) + 1.0;
  context.set_lengths(out, cast(graph, reshape(max(number * counts, {1}), {samples}), DType::i32));
  return out;
}

namespace {

void add_names(const Chain& chain, std::set<std::string>& names) {
  for (const Link& link : chain.links) {
    names.insert(link.name);
    if (Container* container = link.layer->container())
      for (const Chain& branch : container->branches()) add_names(branch, names);
  }
}

void add_inputs(const Chain& chain, std::set<std::string>& names) {
  for (const Link& link : chain.links) {
    names.insert(link.layer->common.inputs.begin(), link.layer->common.inputs.end());
    if (Container* container = link.layer->container())
      for (const Chain& branch : container->branches()) add_inputs(branch, names);
  }
}

// A layer of a decoder may keep steps, but it sees none that it has not kept. `names` are those of the decoder's
// layers: the steps of other layers are all there.
void check_sight(const Chain& chain, const std::set<std::string>& names) {
  for (const Link& link : chain.links) {
    const std::vector<std::string>& inputs = link.layer->common.inputs;
    const Sight sight = link.layer->sight();
    if (Container* container = link.layer->container()) {
      for (const Chain& branch : container->branches()) check_sight(branch, names);
    } else if (sight == Sight::before || (sight == Sight::any && (inputs.size() != 2 || names.contains(inputs[1])))) {
      fail(ErrorKind::config, "the decoder's layer ", link.name, " sees ",
           sight == Sight::any ? "steps that follow, which are not predicted yet"
                               : "steps before, which it does not keep while labels are predicted one by one",
           "; recurrent cells, DotAttention and attention with causal: true do without");
    }
  }
}

}  // namespace

void Seq2Seq::check(const LayerContext& context) const {
  if (context.classes == 0)
    fail(ErrorKind::config, "Seq2Seq predicts labels, but the targets of the data set are no classes");
  std::set<std::string> names;
  add_names(decoder(), names);
  check_sight(decoder(), names);
}

void Seq2Seq::check_decoded(const LayerContext& context, Expr y) {
  const Shape& shape = y.shape();
  if (shape.rank() == 3 && context.is_sequence(y) && shape[1] == 1 && shape[2] == context.classes) return;
  fail(ErrorKind::config, "the decoder gives ", context.sample_shape(y), " for a step, but the data set has ",
       context.classes, " classes: end it with Affine: {nout: classes, activation: Softmax}");
}

std::set<std::string> Seq2Seq::read_by_decoder() const {
  std::set<std::string> own, inputs;
  add_names(decoder(), own);
  add_inputs(decoder(), inputs);
  std::erase_if(inputs, [&](const std::string& name) { return own.contains(name); });
  return inputs;
}

int64_t Seq2Seq::steps_of(const LayerContext& context) const {
  if (params.steps > 0) return params.steps;
  if (context.target_labels) return context.graph.shape(context.target_labels)[1];
  if (context.target_steps > 0) return context.target_steps;
  fail(ErrorKind::config, "Seq2Seq: the data set does not say how many labels a target has; give steps");
}

namespace {

const Registration<Layer, Seq2Seq> seq2seq_registration{
    "Seq2Seq",
    "An encoder reads a sequence, and a decoder predicts a sequence of labels (Sutskever et al. 2014). The decoder "
    "begins with the encoder's last states, and reads the labels before each one.",
    {}};

}  // namespace

}  // namespace neon
