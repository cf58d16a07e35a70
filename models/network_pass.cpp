// One pass through the layers of a network: each adds its ops to the graph. An error in a layer names its
// place in the spec and the shapes up to it.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "backends/graph/flops.h"
#include "layers/signs.h"
#include "models/adversarial.h"
#include "models/coded_columns.h"
#include "models/network.h"
#include "models/seq2seq.h"
#include "models/shared_start.h"

namespace neon {

namespace {

constexpr std::string_view kArrow = " -> ";
constexpr size_t kFirstTold = 2, kLastTold = 10;
constexpr int kSamples = -1;  // in place of a row

// The shapes through a deep net without those in its middle.
std::string shortened(const std::string& shapes) {
  std::vector<size_t> arrows;
  for (size_t at = shapes.find(kArrow); at != shapes.npos; at = shapes.find(kArrow, at + 1)) arrows.push_back(at);
  if (arrows.size() <= kFirstTold + kLastTold + 1) return shapes;
  const size_t from = arrows[kFirstTold - 1], to = arrows[arrows.size() - kLastTold];
  return text(shapes.substr(0, from), kArrow, "... ", arrows.size() - kFirstTold - kLastTold + 1, " more",
              shapes.substr(to));
}

// Merged branches are a sequence where one of them has its steps, unless the layer says what they are. It ends where
// the first of these branches ends.
void keep_steps_of_branches(LayerContext& context, const std::vector<Expr>& branches, Expr y) {
  if (context.has_axes(y) || y.shape().rank() != 3) return;
  Value least;
  for (const Expr& branch : branches) {
    if (!context.is_sequence(branch) || branch.shape().slice(0, 2) != y.shape().slice(0, 2)) continue;
    context.mark_sequence(y);
    const Value lengths = context.lengths(branch);
    if (!lengths || lengths == least) continue;
    least = least ? cast(minimum(context.expr(least), context.expr(lengths)), DType::i32) : lengths;
  }
  if (least) context.set_lengths(y, least);
}

class Pass {
 public:
  Pass(LayerContext& context, std::vector<LayerRow>* rows) : context_(context), rows_(rows) {}

  // x is the output of the layer in row `from`; kSamples: of none.
  Expr run(const Chain& chain, Expr x, std::string shapes, int depth = 0, size_t branch = 0, int from = kSamples) {
    end_ = from;
    for (const Link& link : chain.links) {
      if (predicts_labels_ && link.kind != kOfEachOutput)
        guarded(link, shapes, [&]() -> Expr { refuse_after_decoder(link); });
      std::vector<Expr> inputs = inputs_of(link, x, shapes);
      std::vector<int> sources = sources_of(link);
      const size_t row = begin_row(link, depth, branch);
      const size_t parameters_before = context_.parameters.size();
      Container* container = link.layer->container();
      if (container)
        std::ranges::transform(inputs, inputs.begin(), [&](Expr each) { return own_samples(context_, each); });
      if (container && container->adversarial())
        x = judged(link, *container->adversarial(), inputs[0], shapes, depth, sources);
      else if (container && container->seq2seq())
        x = translated(link, *container->seq2seq(), inputs[0], shapes, depth, sources);
      else if (container) x = merged(link, *container, inputs, shapes, depth, sources);
      else x = guarded(link, shapes, [&] { return described(link, inputs); });
      end_ = int(row);
      places_.emplace(link.name, end_);
      outputs_.emplace(link.name, x);  // a branch that begins at a node leaves it as it is, for the branches after it
      if (from_ops_of_its_own(x)) context_.layer_outputs.push_back({link.name, x});
      shapes += text(kArrow, link.name, " ", context_.sample_shape(x));
      if (rows_) end_row(row, x, container ? context_.parameters.size() : parameters_before, std::move(sources));
      branch = 0;
    }
    if (depth == 0) context_.shapes = shortened(shapes);
    return own_samples(context_, x);
  }

  void know(const std::string& name, Expr x, int row = kSamples) { outputs_[name] = x, places_[name] = row; }
  Expr output_of(const std::string& name) const { return own_samples(context_, outputs_.at(name)); }

 private:
  static constexpr int kNothing = -2;                              // in place of a row
  static constexpr std::string_view kOfEachOutput = "Activation";  // the layer that may follow a Seq2Seq

  // Seq2Seq predicts the label of its decoder's largest output, so no layer behind it may make another output the
  // largest.
  [[noreturn]] static void refuse_after_decoder(const Link& link) {
    fail(ErrorKind::config, "the labels that Seq2Seq predicts are those of its decoder's outputs, which ", link.name,
         " would change; end the net with Seq2Seq, and put what follows into its decoder");
  }

  // Whether the layer has made x itself. Otherwise x is the output of an earlier layer, passed on as it was.
  bool from_ops_of_its_own(Expr x) const {
    const auto is_x = [&](const auto& known) { return known.second.value() == x.value(); };
    return std::ranges::count_if(outputs_, is_x) == 1;
  }

  // The layer's inputs: those that it names, otherwise x, the output of the layer before. Where it names some, `shapes`
  // begins anew with theirs.
  std::vector<Expr> inputs_of(const Link& link, Expr x, std::string& shapes) const {
    const std::vector<std::string>& names = link.layer->common.inputs;
    if (names.empty()) return {x};
    std::vector<Expr> out;
    shapes.clear();
    for (const std::string& name : names) {
      out.push_back(outputs_.at(name));
      shapes += text(shapes.empty() ? "" : ", ", name, " ", context_.sample_shape(out.back()));
    }
    return out;
  }

  // The rows of these inputs.
  std::vector<int> sources_of(const Link& link) const {
    std::vector<int> out;
    for (const std::string& name : link.layer->common.inputs) out.push_back(places_.at(name));
    return out.empty() ? std::vector{end_} : out;
  }

  Expr described(const Link& link, const std::vector<Expr>& inputs) {
    const std::string& share = link.layer->common.share;
    links_[link.name] = &link;
    context_.sharing.begin(share, !share.empty() && links_.at(share)->kind == link.kind);
    const Expr y = apply_layer(*link.layer, context_, inputs);
    if (!share.empty() && !context_.sharing.has_taken())
      fail(ErrorKind::config, "share: ", link.kind, " has no array to take from ", share, ", which is ",
           links_.at(share)->kind, "; layers of one class share all arrays, layers of two classes W alone");
    for (const Sharing::Unused& unused : context_.sharing.unused()) check_start(link, *links_.at(unused.owner), unused);
    return y;
  }

  // `sources` are the rows of the inputs, and become those of what is merged.
  Expr merged(const Link& link, Container& container, const std::vector<Expr>& inputs, const std::string& shapes,
              int depth, std::vector<int>& sources) {
    std::vector<Expr> outputs;
    std::vector<int> ends;
    size_t number = 0;
    for (const Chain& branch : container.branches()) {
      const Link& first = branch.links.front();
      const size_t input = inputs.size() == 1 ? 0 : number;
      Expr x = inputs[input];
      int from = sources[input];
      if (first.met_before) x = own_samples(context_, outputs_.at(first.name)), from = places_.at(first.name);
      const Expr entered = container.enter(number++, x);
      context_.keep_axes(x, entered);
      if (is_dropped(context_, x)) context_.dropped.insert_or_assign(entered, context_.dropped.at(x));
      outputs.push_back(
          run(branch, entered, text(shapes, kArrow, link.name, " branch ", number), depth + 1, number, from));
      ends.push_back(end_);
    }
    if (number == 0) outputs = inputs;
    else sources = std::move(ends);
    const Expr y = guarded(link, shapes, [&] {
      if (predicts_labels_ && outputs.size() > 1) refuse_after_decoder(link);
      return container.merge(context_, outputs);
    });
    keep_steps_of_branches(context_, outputs, y);
    pass_dropped(context_, container, outputs, y);
    return y;
  }

  // The discriminator's outputs for x. The generator describes itself, too, so that a checkpoint's arrays all have a
  // place.
  Expr judged(const Link& link, const GenerativeAdversarial& layer, Expr x, const std::string& shapes, int depth,
              std::vector<int>& sources) {
    const Expr noise = layer.noise(context_, link.name, x.shape()[0]);
    run(layer.generator(), noise, text(context_.sample_shape(noise), kArrow, link.name, " generator"), depth + 1, 1,
        kNothing);
    const int generated = end_;
    const Expr y = run(layer.discriminator(), context_.channels_last(x),
                       text(shapes, kArrow, link.name, " discriminator"), depth + 1, 2, sources[0]);
    sources = {generated, end_};
    return y;
  }

  // The outputs (N,L,K) of a decoder for the labels of the targets, or, where these are not known, for its own.
  Expr translated(const Link& link, const Seq2Seq& layer, Expr x, const std::string& shapes, int depth,
                  std::vector<int>& sources) {
    guarded(link, shapes, [&] { return layer.check(context_), x; });
    PassedStates encoder;
    context_.passed = &encoder;
    context_.memory = run(layer.encoder(), x, text(shapes, kArrow, link.name, " encoder"), depth + 1, 1, sources[0]);
    const std::string before = text(shapes, kArrow, link.name, " decoder");
    const PassedStates first = encoder.for_decoder(layer.params.connections);
    const int64_t tokens = std::exchange(context_.tokens, context_.classes + 1);
    Pass own = *this;
    Expr y;
    if (context_.target_labels) {
      PassedStates states = first;
      context_.passed = &states;
      y = run(layer.decoder(), Seq2Seq::tokens_of(context_), before, depth + 1, 2, end_);
      sources = {end_};
      guarded(link, shapes, [&] { return states.check_connections(), y; });
      context_.again = true;
    }
    if (context_.decodes || !y.value()) {
      const Expr predicted = own.decoded(link, layer, first, before, depth + 1);
      if (!y.value()) y = predicted, sources = {own.end_};
    }
    context_.again = false;
    context_.tokens = tokens;
    context_.passed = nullptr;
    context_.memory = {};
    predicts_labels_ = true;
    return y;
  }

  // Step by step: a step reads the label that was chosen for the step before. Layers that keep steps keep them in the
  // states.
  Expr decoded(const Link& link, const Seq2Seq& layer, const PassedStates& first, const std::string& shapes,
               int depth) {
    Graph& graph = context_.graph;
    const Expr memory = context_.memory;
    guarded(link, shapes, [&] { return context_.places = layer.steps_of(context_), memory; });
    LabelSearch search(context_, memory.shape()[0], layer.beam_options());
    const auto number = [&](double value, const Shape& shape) {
      return cast(graph, broadcast_to(graph, graph.constant(value, DType::f32), shape), DType::i32);
    };
    context_.memory = search.for_rows(memory);
    for (const std::string& name : layer.read_by_decoder()) outputs_[name] = search.for_rows(output_of(name));
    PassedStates states = search.for_rows(first);
    Expr token = context_.expr(number(double(context_.classes), {search.rows(), 1}));
    for (int64_t t = 0; t < context_.places; ++t) {
      Pass step = *this;
      if (context_.again) step.rows_ = nullptr;
      context_.set_axes(token, {Axis::sample, Axis::time});
      context_.place = number(double(t), {search.rows()});
      context_.passed = &states;
      const Expr y = step.run(layer.decoder(), token, shapes, depth, 2, end_);
      end_ = step.end_;
      token = guarded(link, shapes, [&] { return Seq2Seq::check_decoded(context_, y), search.choose(y); });
      states = search.chosen(states.for_next_step());
      context_.again = true;
    }
    context_.place = {}, context_.places = 0;
    const auto [labels, out] = search.found();
    context_.decoded = labels;
    context_.memory = memory;
    context_.mark_sequence(out);
    return out;
  }

  Expr guarded(const Link& link, const std::string& shapes, auto&& describe) {
    Scope scope(context_.graph, link.name);
    context_.layer = link.name;
    first_node_ = context_.graph.node_count();
    try {
      return describe();
    } catch (const Error& error) {
      const std::string place = link.where.to_string();
      throw Error(error.kind(), text(place, place.empty() ? "" : ": ", error.what(),
                                     "; shapes so far: ", shortened(text(shapes, kArrow)), link.name));
    }
  }

  // The row of a container stands before those of its branches, and is filled in after them.
  size_t begin_row(const Link& link, int depth, size_t branch) {
    if (!rows_) return 0;
    const std::vector<Setting::Entry>& made = link.resolved.entries;  // CLASS: {...}
    rows_->push_back({link.name,
                      link.kind,
                      {},
                      0,
                      0,
                      0,
                      link.where,
                      depth,
                      branch,
                      made.empty() ? Setting() : made[0].value,
                      {},
                      link.layer->container() != nullptr});
    return rows_->size() - 1;
  }

  void end_row(size_t index, Expr after, size_t first_parameter, std::vector<int> sources) {
    LayerRow& row = (*rows_)[index];
    row.inputs = std::move(sources);
    row.output = context_.sample_shape(after);
    row.flops = flops_of(context_.graph, first_node_, context_.graph.node_count()) / double(after.shape()[0]);
    for (size_t i = first_parameter; i < context_.parameters.size(); ++i) {
      const Parameter& p = context_.parameters[i];
      row.parameters += p.shape.elements();
      if (!p.trained) row.frozen += p.shape.elements();
    }
  }

  LayerContext& context_;
  std::vector<LayerRow>* rows_;
  int first_node_ = 0;                 // of the layer that described itself last
  int end_ = kSamples;                 // the row of that layer
  bool predicts_labels_ = false;       // a Seq2Seq has described itself
  std::map<std::string, int> places_;  // rows of layers
  std::map<std::string, Expr> outputs_;
  std::map<std::string, const Link*> links_;  // by the layers' names
};

// An output in the order of axes that is wanted of it.
Expr in_order(const LayerContext& context, Expr y) {
  if (y.shape().rank() == 2) return y;
  return context.outputs_channels_last ? context.channels_last(y) : context.channels_first(y);
}

}  // namespace

namespace {

// The samples as the first layer takes them.
Expr begun(LayerContext& context, Expr x) {
  if (context.data_lengths) context.set_lengths(x, context.data_lengths);
  if (!context.data_axes.empty()) context.set_axes(x, Axes(context.data_axes));
  else if (!context.data_channels_last) context.mark_channels_first(x);
  if (const Shape sample = context.sample_shape(x); context.data_axes.empty() && sample.rank() == 3)
    context.image = {sample[1], sample[2]};
  return with_columns_looked_up(context, x);
}

// The row of the tables of embedded columns.
LayerRow row_of_tables(const LayerContext& context, Expr x) {
  LayerRow out{
      .name = kColumnTables, .kind = "Embedding", .output = context.sample_shape(x), .where = {}, .inputs = {-1}};
  for (const Parameter& p : context.parameters) {
    out.parameters += p.shape.elements();
    if (!p.trained) out.frozen += p.shape.elements();
  }
  return out;
}

}  // namespace

Expr Network::forward_to_last(LayerContext& context, Expr x) const {
  x = begun(context, x);
  Chain before = chain_;
  before.links.pop_back();
  Pass pass(context, nullptr);
  pass.know(kDataName, x);
  return pass.run(before, x, context.sample_shape(x).to_string());
}

Expr Network::forward_branch(LayerContext& context, size_t branch, Expr x) const {
  Pass pass(context, nullptr);
  return pass.run(last().layer->container()->branches()[branch], x, context.sample_shape(x).to_string(), 1);
}

Expr Network::images_in(LayerContext& context, Expr x) const { return context.channels_last(begun(context, x)); }

// The names of layers in `chain`, branches included, from which others take parameters.
static void add_lenders(const Chain& chain, std::set<std::string>& names) {
  for (const Link& link : chain.links) {
    if (!link.layer->common.share.empty()) names.insert(link.layer->common.share);
    if (Container* const container = link.layer->container())
      for (const Chain& branch : container->branches()) add_lenders(branch, names);
  }
}

static void refuse_name_of_tables(const Chain& chain) {
  for (const Link& link : chain.links) {
    if (link.name == kColumnTables)
      fail(ErrorKind::config, link.where.to_string(), ": ", link.path, ": a layer is named ", in_quotes(kColumnTables),
           ", the name of the tables of embedded columns; give it another name");
    if (Container* const container = link.layer->container())
      for (const Chain& branch : container->branches()) refuse_name_of_tables(branch);
  }
}

Expr Network::forward(LayerContext& context, Expr x, std::vector<LayerRow>* rows) const {
  const Expr samples = x;
  x = begun(context, samples);
  std::string shapes = context.sample_shape(samples).to_string();
  const bool looked_up = !context.coded_columns.empty();
  if (looked_up) refuse_name_of_tables(chain_);
  if (looked_up) shapes += text(kArrow, kColumnTables, " ", context.sample_shape(x));
  if (looked_up && rows) rows->push_back(row_of_tables(context, x));
  const int row = looked_up && rows ? 0 : kSamples;
  std::set<std::string> lenders;
  add_lenders(chain_, lenders);
  context.sharing.set_lenders(std::move(lenders));
  Pass pass(context, rows);
  pass.know(kDataName, x, row);
  Expr y = pass.run(chain_, x, shapes, 0, 0, row);
  if (!context.output_layers.empty()) {
    context.more_outputs.clear();
    for (const std::string& name : context.output_layers) context.more_outputs.push_back(pass.output_of(name));
    y = context.more_outputs.front();
    context.more_outputs.erase(context.more_outputs.begin());
  }
  for (Expr& more : context.more_outputs) more = in_order(context, more);
  return in_order(context, y);
}

}  // namespace neon
