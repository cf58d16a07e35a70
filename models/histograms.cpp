#include "models/histograms.h"

#include <algorithm>
#include <array>
#include <map>

#include "models/exchange.h"
#include "neon/core/key_error.h"
#include "neon/core/message.h"

namespace neon {

namespace {

// The part of a parameter LAYER/W that a histogram may ask for: its own name, W, or its gradient's, dW.
std::string part_of(const Parameter& p) { return p.name.substr(p.name.rfind('/') + 1); }

// LAYER/W as neon named it in a metrics file: LAYER_W, or LAYER_dW.
std::string flat_name(const Parameter& p, bool gradient) {
  const std::string part = part_of(p);
  std::string out = p.name.substr(0, p.name.size() - part.size());
  std::ranges::replace(out, '/', '_');
  return out + (gradient ? "d" : "") + part;
}

void check_known(const StepGraph& step, const std::vector<std::string>& tensors) {
  std::vector<std::string> known;
  for (const Parameter& p : step.parameters)
    for (const std::string& name : {part_of(p), "d" + part_of(p)})
      if (std::ranges::find(known, name) == known.end()) known.push_back(name);
  known.push_back(kOutputs);
  for (const std::string& name : tensors)
    if (name != kAllArrays && std::ranges::find(known, name) == known.end())
      fail_about("callbacks", "Hist: no layer has '", name, "'", did_you_mean(name, known),
                 " (known: ", list_text(known), ")");
}

// One number each, in the order of kRangeParts.
using RangeParts = std::array<Expr, 4>;

// x has padding where `own`, if it has a value, is not 1.
RangeParts range_of(Expr x, Expr own) {
  const DType dtype = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const auto one = [](Expr e) { return reshape(e, {1}); };
  const auto all = [](Expr e) { return all_axes(e.shape()); };
  Expr low = cast(x, dtype), high = low, count = low;
  if (own.value()) {
    // Padding gets the opposite end, which changes none.
    const Expr kept(x.graph(), broadcast_to(x.graph(), cast(own, dtype), x.shape()));
    const auto filled = [&](Expr with) {
      return apply("select", kept, count, Expr(x.graph(), broadcast_to(x.graph(), with, x.shape())));
    };
    low = filled(max(count, all(count))), high = filled(-max(-count, all(count)));
    count = apply("select", kept, count, count.constant(1));
  }
  const auto counted = [&](const char* how) {
    return one(sum(cast(apply(how, count, count.constant(0)), dtype), all(count)));
  };
  return {one(-max(-low, all(low))), one(max(high, all(high))), counted("less"), counted("equal")};
}

void output_range(const std::string& name, const RangeParts& parts) {
  for (size_t k = 0; k < parts.size(); ++k)
    parts[k].graph().output(text("range/", name, "/", kRangeParts[k]), parts[k]);
}

}  // namespace

void add_histograms(StepGraph& step, const StepOptions& options, const std::vector<Value>& stored,
                    const std::vector<Value>& gradients) {
  const std::vector<std::string>& tensors = options.histograms;
  if (tensors.empty()) return;
  check_known(step, tensors);
  if (options.ranges && options.share.ranks > 1)
    fail_about("callbacks", "Hist: ranges: true is for one device, and this run has ", options.share.ranks,
               "; leave ranges out");
  Graph& graph = step.graph;
  Scope scope(graph, "histograms");
  const Value watched = graph.scalar("watched");
  const bool all = std::ranges::count(tensors, kAllArrays) > 0;
  using Of = StepGraph::Histogram::Of;
  auto add = [&](const Parameter& p, Value of, bool gradient) {
    const std::string name = flat_name(p, gradient);
    Expr counts(graph, histogram(graph, of, kSizes, kSizeOfZero, watched));
    if (p.is_split()) counts = cast(over_ranks(p, cast(counts, DType::f64)), counts.dtype());
    graph.output("hist/" + name, counts);
    if (options.ranges) output_range(name, range_of({graph, of}, Expr()));
    step.histograms.push_back({name, gradient ? Of::gradients : Of::weights, p.whole_shape().elements(),
                               size_of(graph.dtype(of)) == 2 && p.shape.rank() > 1});
  };
  for (size_t i = 0; i < step.parameters.size(); ++i) {
    const Parameter& p = step.parameters[i];
    const bool weights = options.player == 0 && (all || std::ranges::count(tensors, part_of(p)) > 0);
    const bool slopes = all || std::ranges::count(tensors, "d" + part_of(p)) > 0;
    if (weights) add(p, stored[i], false);
    if (slopes && p.trained) add(p, gradients[i], true);
  }
}

namespace {

// How many elements of y (N,T,...) are of padding, one number; without a value where none is.
Expr padded_elements(LayerContext& context, Expr y) {
  const Expr own = unpadded(context, y);
  if (!own.value()) return own;
  const double of_step = double(y.shape().elements()) / double(own.shape().elements());
  return reshape(sum((1.0 - own) * of_step, all_axes(own.shape())), {1});
}

// Padding counts as zeros, and is taken from these.
Expr counts_of(LayerContext& context, Expr y, Value watched) {
  Graph& graph = context.graph;
  const auto counts = [&](Expr x) { return Expr(graph, histogram(graph, x, kSizes, kSizeOfZero, watched)); };
  const Expr padded = padded_elements(context, y);
  if (!padded.value()) return counts(y);
  const Expr own(graph, broadcast_to(graph, cast(unpadded(context, y), y.dtype()), y.shape()));
  const Expr all = cast(counts(apply("select", own, y, y.constant(0))), DType::f64);
  const Expr number(graph, iota(graph, {kSizes}, 0));
  const Expr first = cast(apply("equal", number, number.constant(0)), DType::f64);
  const Expr when = cast(Expr(graph, watched), DType::f64);
  return all - first * (cast(padded, DType::f64) * reshape(when, {1}));
}

// A layer may run several times; its range is that of all its outputs.
void add_range(LayerContext& context, const LayerOutput& output, std::map<std::string, RangeParts>& ranges) {
  const RangeParts now = range_of(output.y, unpadded(context, output.y));
  const auto [place, is_first] = ranges.emplace(output.layer, now);
  if (is_first) return;
  RangeParts& before = place->second;
  before = {apply("minimum", before[0], now[0]), apply("maximum", before[1], now[1]), before[2] + now[2],
            before[3] + now[3]};
}

}  // namespace

void add_output_histograms(StepGraph& step, LayerContext& context, const StepOptions& options) {
  if (!std::ranges::count(options.histograms, kOutputs) || options.player > 0) return;
  Graph& graph = step.graph;
  Scope scope(graph, "histograms");
  const Value watched = graph.scalar("watched");
  std::vector<std::pair<std::string, Expr>> all;
  std::map<std::string, RangeParts> ranges;
  for (const LayerOutput& output : context.layer_outputs) {
    if (!is_floating(output.y.dtype())) continue;
    const Expr counts = counts_of(context, own_samples(context, output.y), watched);
    const auto known = std::ranges::find(all, output.layer, &std::pair<std::string, Expr>::first);
    if (known == all.end()) all.emplace_back(output.layer, counts);
    else known->second = cast(known->second, DType::f64) + cast(counts, DType::f64);
    if (options.ranges) add_range(context, output, ranges);
  }
  if (all.empty())
    fail_about("callbacks", "Hist: y is for outputs of layers, and the rule of this net takes none; leave y out");
  for (auto& [layer, counts] : all) {
    if (!options.share.counts) counts = cast(counts, DType::f64) * 0.0;  // another rank has the sample
    if (options.share.ranks > 1) counts = {graph, exchange(graph, {cast(counts, DType::f64)})[0]};
    std::string name = layer + "_" + kOutputs;
    std::ranges::replace(name, '/', '_');
    graph.output("hist/" + name, cast(counts, DType::i32));
    if (options.ranges) output_range(name, ranges.at(layer));
    step.histograms.push_back({name, StepGraph::Histogram::Of::outputs});
  }
}

}  // namespace neon
