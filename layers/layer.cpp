#include "layers/layer.h"

#include <algorithm>
#include <utility>

#include "backends/graph/draw_places.h"
#include "layers/default_init.h"
#include "layers/signs.h"

namespace neon {

const Parameter* Sharing::find(const Parameter& p, const std::string& layer, const std::vector<Parameter>& all) {
  if (from_.empty()) return nullptr;
  NEON_ASSERT(p.name.starts_with(layer));
  const std::string part = p.name.substr(layer.size());  // "/W", "_bias/b"
  if (!same_class_ && part != "/W") return nullptr;
  std::string name = from_ + part;
  if (const auto further = names_.find(name); further != names_.end()) name = further->second;
  const auto found = std::ranges::find(all, name, &Parameter::name);
  if (found == all.end())
    fail(ErrorKind::config, "share: ", from_, " has no array ", name, ", but this layer has ", p.name, " ", p.shape,
         "; give both layers the same parameters");
  if (found->whole_shape() != p.shape)
    fail(ErrorKind::config, "share: ", p.name, " has the shape ", p.shape, ", but ", name, " has ",
         found->whole_shape(), "; layers that share weights have weights of one shape");
  if (!p.vectors.empty())
    fail(ErrorKind::config, "share: ", p.name, " is ", name, ", which has values already; leave vectors out, or give ",
         "them to ", found->owner);
  if (p.trained ? !found->asked && p.layer_class == found->layer_class : found->asked)
    fail(ErrorKind::config, "share: ", p.name, " is ", name, ", which is ", found->asked ? "" : "not ",
         "trained; give both layers the same update");
  if (p.fill != found->fill && !p.initializer && !found->initializer)
    fail(ErrorKind::config, "share: ", p.name, " is ", name, ", which begins as ", found->fill, ", not as ", p.fill,
         "; give both layers the same parameters");
  if (p.initializer && text_of_default(p.initializer).empty())
    unused_.push_back({p.initializer, name, found->owner, found->initializer});
  names_[p.name] = name;
  ++taken_;
  return &*found;
}

namespace {

// This rank's rows of a parameter whose rows ranks share as evenly as they can. Arrays of one axis, such as biases, are
// small: each rank has all of them.
Parameter own_share(Parameter p, const BatchShare& share) {
  if (p.is_split() || p.shape.rank() < 2 || p.shape[0] < share.ranks) return p;
  const BatchShare own = share_of(p.shape[0], p.shape[0], {share.of.rank, share.ranks});
  p.gathered = true;
  p.part = {0, own.first, p.shape[0]};
  p.shape = p.shape.with(0, own.count);
  return p;
}

}  // namespace

RankRows gathered_rows(const Parameter& p, const BatchShare& share) {
  return {counts_of_ranks(share_of(p.part.all, p.part.all, {share.of.rank, share.ranks})), share.of.rank};
}

namespace {

// The array of a parameter in that type, of all ranks' rows where a step gathers them.
Expr read_parameter(LayerContext& context, const Parameter& p, DType type) {
  Graph& graph = context.graph;
  const Expr own = cast(Expr(graph, graph.variable(p.name, context.master_dtype, p.shape)), type);
  if (!p.gathered) return own;
  for (const LayerContext::Gathered& known : context.gathered)
    if (known.parameter == p.name && graph.dtype(known.whole) == type) return {graph, known.whole};
  context.gathered.push_back({p.name, all_gather(graph, own, gathered_rows(p, context.share))});
  return {graph, context.gathered.back().whole};
}

}  // namespace

Expr LayerContext::parameter(Parameter p, DType type) {
  ++weights_read;
  for (const Parameter& other : parameters) {
    if (other.name != p.name) continue;
    if (again) return read_parameter(*this, other, type);
    fail(ErrorKind::config, "two parameters are named '", p.name, "': give the layers different names");
  }
  if (const Parameter* other = sharing.find(p, layer, parameters)) return read_parameter(*this, *other, type);
  p.asked = p.trained;
  if (p.initializer) p.initializer->check(p.block());
  if (p.initializer && p.initializer->freezes()) p.trained = false;
  if (const auto given = part_names_.find(p.layer); given != part_names_.end()) p.layer = given->second;
  p.owner = layer;
  if (freeze.holds(p)) p.trained = false;
  if (sharded && share.ranks > 1) p = own_share(std::move(p), share);
  parameters.push_back(std::move(p));
  return read_parameter(*this, parameters.back(), type);
}

bool is_trained(const LayerContext& context, Expr stored) {
  const std::string& name = context.graph.producer(stored).attributes.string("name");
  return std::ranges::find(context.parameters, name, &Parameter::name)->trained;
}

Expr LayerContext::state(const std::string& name, const Shape& shape, double fill) {
  ++weights_read;
  if (!again) states.push_back({name, shape, fill, layer});
  const Expr stored(graph, graph.variable(name, arithmetic_dtype, shape));
  for (const Assignment& a : state_updates)
    if (again && a.variable == stored.value()) return {graph, a.value};
  return stored;
}

void LayerContext::update_state(Expr state, Expr value) {
  for (Assignment& a : state_updates)
    if (a.value == state.value()) return void(a.value = value);
  state_updates.push_back({state, value, {}});
}

Expr draw_for_samples(LayerContext& context, const Shape& shape, const std::string& stream) {
  const BatchShare& share = context.share;
  DrawPlaces places;
  if (context.sequences > 0)
    places = draws_by_sample(share.count ? share.first : 0, shape.elements() / context.sequences);
  else if (share.count) places.first = share.first * (shape.elements() / share.count);
  return context.expr(uniform(context.graph, shape, context.seed, stream, places));
}

// The variable of a carried state: a row for each stream.
Value LayerContext::carrier(const std::string& name, DType type, const Shape& shape) {
  return graph.variable(text(carried_prefix, name, kCarried), type, shape.with(0, streams));
}

Expr LayerContext::carried(const std::string& name, DType type, const Shape& shape) {
  if (passed)
    if (const Expr given = passed->begin(name, shape); given.value()) return cast(given, type);
  if (streams == 0 || passed) return expr(broadcast_to(graph, graph.constant(0, type), shape));
  Value rows = carrier(name, type, shape);
  // The last batch of an epoch has the streams that are one piece longer, the first ones.
  if (shape[0] < streams)
    rows = graph.add("slice", {rows}, {{"axis", int64_t(0)}, {"first", int64_t(0)}, {"count", shape[0]}});
  const Expr start = expr(graph.scalar(kStreamStart, arithmetic_dtype)),
             kept = expr(cast(graph, rows, arithmetic_dtype));
  return cast(apply("select", start, kept.constant(0), kept), type);
}

void LayerContext::carry(const std::string& name, Expr value) {
  if (passed) return passed->leave(name, value);
  if (value.shape()[0] != streams || share.whole < share.places) return;  // without streams, or after their last pieces
  carried_updates.push_back({carrier(name, value.dtype(), value.shape()), value, {}});
}

namespace {

// Axes of x (N,...,C) such that channels come first, or back.
std::vector<int64_t> rotated(const Shape& shape, bool channels_first) {
  const int64_t last = shape.rank() - 1;
  std::vector<int64_t> axes = {0};
  if (channels_first) axes.push_back(last);
  for (int64_t axis = channels_first ? 1 : 2; axis < (channels_first ? last : last + 1); ++axis) axes.push_back(axis);
  if (!channels_first) axes.push_back(1);
  return axes;
}

bool has_space(const Shape& shape) { return shape.rank() == 4 || shape.rank() == 5; }

// As layers take them: channels last.
Axes usual_axes(const Shape& shape) {
  if (shape.rank() == 4) return {Axis::sample, Axis::height, Axis::width, Axis::channel};
  if (shape.rank() == 5) return {Axis::sample, Axis::depth, Axis::height, Axis::width, Axis::channel};
  Axes out(size_t(shape.rank()), Axis::feature);
  if (!out.empty()) out[0] = Axis::sample;
  return out;
}

}  // namespace

Axes LayerContext::axes(Expr x) const {
  const auto given = axes_.find(x);
  return given == axes_.end() ? usual_axes(x.shape()) : given->second;
}

void LayerContext::keep_axes(Expr from, Expr to) {
  if (const auto given = axes_.find(from); given != axes_.end()) set_axes(to, Axes(given->second));
  if (const Value given = lengths(from)) set_lengths(to, given);
}

void LayerContext::mark_sequence(Expr y, Expr x) {
  mark_sequence(y);
  if (const Value given = lengths(x)) set_lengths(y, given);
}

Value LayerContext::lengths(Expr x) const {
  const auto found = lengths_.find(x);
  return found == lengths_.end() ? Value() : found->second;
}

bool LayerContext::is_sequence(Expr x) const {
  const Axes all = axes(x);
  return all.size() == 3 && all[1] == Axis::time;
}

bool LayerContext::are_tokens(Expr x) const {
  return axes(x) == Axes{Axis::sample, Axis::time} && x.dtype() == DType::i32;
}

void LayerContext::mark_channels_first(Expr x) {
  Axes all = usual_axes(x.shape());
  if (has_space(x.shape())) std::rotate(all.begin() + 1, all.end() - 1, all.end());
  set_axes(x, std::move(all));
}

bool LayerContext::is_channels_first(Expr x) const {
  const Axes all = axes(x);
  return all.size() > 1 && all[1] == Axis::channel;
}

Expr LayerContext::channels_last(Expr x) const {
  if (!is_channels_first(x) || !has_space(x.shape())) return x;
  return {graph, transpose(graph, x, rotated(x.shape(), false))};
}

Expr LayerContext::channels_first(Expr x) const {
  if (is_channels_first(x) || !has_space(x.shape())) return x;
  return {graph, transpose(graph, x, rotated(x.shape(), true))};
}

Shape LayerContext::sample_shape(Expr x) const {
  if (split.has(x)) {
    const Expr sequences = split.of(x).sequences;
    const Shape features{x.shape()[0] * share.ranks};
    return sequences.value() ? Shape{sequences.shape()[1]}.concat(features) : features;
  }
  const Shape& shape = x.shape();
  const Shape sample = shape.slice(1, shape.rank());
  if (is_channels_first(x) || !has_space(shape)) return sample;
  return Shape{shape.back()}.concat(shape.slice(1, shape.rank() - 1));
}

void keep_steps(LayerContext& context, Expr from, Expr to) {
  const bool same = to.shape().rank() == 3 && to.shape().slice(0, 2) == from.shape().slice(0, 2);
  if (!context.has_axes(to) && context.is_sequence(from) && same) context.mark_sequence(to, from);
}

namespace {

// The sequences whose steps the split features x are; any other x itself.
Expr unsplit_steps(const LayerContext& context, Expr x) {
  if (!context.split.has(x)) return x;
  const Expr sequences = context.split.of(x).sequences;
  return sequences.value() ? sequences : x;
}

int64_t sequences_of(const LayerContext& context, const std::vector<Expr>& inputs) {
  for (const Expr& x : inputs) {
    const Expr steps = unsplit_steps(context, x);
    if (context.is_sequence(steps) || context.are_tokens(steps)) return steps.shape()[0];
  }
  return 0;
}

}  // namespace

Expr apply_layer(const Layer& layer, LayerContext& context, const std::vector<Expr>& inputs) {
  std::vector<Expr> taken;
  for (const Expr x : inputs) {
    if (context.are_tokens(x) && !layer.takes_tokens())
      fail(ErrorKind::config,
           "the input is tokens, which only a layer that looks them up takes: put Embedding or OneHot "
           "before it, or a recurrent layer");
    const Expr whole = layer.takes_split() ? x : own_samples(context, x);
    taken.push_back(layer.takes_channels_first() ? whole : context.channels_last(whole));
    if (taken.back().value() != whole.value()) move_dropped(context, whole, taken.back());
  }
  const int64_t weights_before = context.weights_read;
  const int64_t outer = std::exchange(context.sequences, sequences_of(context, taken));
  const Expr y = layer.forward_all(context, taken);
  context.sequences = outer;
  keep_steps(context, unsplit_steps(context, inputs[0]), y);
  const bool has_weights = context.weights_read > weights_before;
  if (!has_weights || layer.way_of_zeros() == WayOfZeros::kept) pass_dropped(context, layer, taken, y);
  return y;
}

Expr as_rows(Expr x) {
  const Shape shape = x.shape();
  if (shape.rank() == 2) return x;
  return reshape(x, {shape[0], shape[0] ? shape.elements() / shape[0] : shape.slice(1, shape.rank()).elements()});
}

Expr as_steps(const LayerContext& context, Expr x) {
  const Shape& shape = x.shape();
  return context.is_sequence(x) ? reshape(x, {shape[0] * shape[1], shape[2]}) : x;
}

Expr in_sequence(LayerContext& context, Expr y, Expr x) {
  if (!context.is_sequence(x)) return y;
  const Shape &steps = x.shape(), &shape = y.shape();
  const Expr out = reshape(y, Shape{steps[0], steps[1]}.concat(shape.slice(1, shape.rank())));
  context.mark_sequence(out, x);
  return out;
}

Expr kept_steps(LayerContext& context, const std::string& name, Expr x) {
  Shape column = x.shape();
  for (int axis = 1; axis < column.rank(); ++axis) column = column.with(axis, 1);
  const Expr number = context.expr(iota(context.graph, column.with(0, 1).with(1, context.places), 1));
  const Expr here = cast(apply("equal", number, reshape(context.expr(context.place), column)), x.dtype());
  const Expr before = context.carried(name, x.dtype(), x.shape().with(1, context.places));
  const Expr steps = apply("select", here, x, before);
  context.carry(name, steps);
  return steps;
}

namespace {

Expr steps_before(LayerContext& context, Expr x, Value lengths) {
  if (!lengths) return {};
  const int64_t samples = x.shape()[0], steps = x.shape()[1];
  const Expr number = context.expr(iota(context.graph, {1, steps, 1}, 1));
  return cast(apply("less", number, context.expr(reshape(context.graph, lengths, {samples, 1, 1}))),
              context.arithmetic_dtype);
}

}  // namespace

Expr unpadded(LayerContext& context, Expr x) { return steps_before(context, x, context.lengths(x)); }

Expr unfilled(LayerContext& context, Expr x) {
  const Value lengths = context.lengths(x), filled = context.filled_lengths;
  if (lengths || !filled || !context.is_sequence(x)) return steps_before(context, x, lengths);
  const bool are_pieces = x.shape()[0] == context.graph.shape(filled)[0] && x.shape()[1] == context.target_steps;
  return steps_before(context, x, are_pieces ? filled : Value());
}

}  // namespace neon
