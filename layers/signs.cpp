#include "layers/signs.h"

#include <algorithm>

namespace neon {

Expr signs_of(LayerContext& context, Value given, Expr x) {
  const auto found = context.dropped.find(given);
  if (found == context.dropped.end()) return apply("sign_ste", x);
  const LayerContext::Dropped& dropped = found->second;
  if (!dropped.by.empty())
    fail(ErrorKind::config, dropped.by, " makes a number of several, so that this layer cannot know which ",
         dropped.layer, " left out, and would take zeros of Dropout as signs; put the Dropout behind ", dropped.by);
  const Expr mask = reshape(own_samples(context, dropped.mask), x.shape());
  // Whose gradient passes a sign as before Dropout.
  const Expr undivided = context.caffe ? x * dropped.keep / maximum(mask, 1) : x;
  return apply("sign_ste", undivided) * mask * (1 / dropped.keep);
}

void move_dropped(LayerContext& context, Expr x, Expr y) {
  const auto found = context.dropped.find(x);
  if (found == context.dropped.end()) return;
  LayerContext::Dropped dropped = found->second;
  if (dropped.by.empty()) dropped.mask = context.channels_last(dropped.mask);
  context.dropped.insert_or_assign(y, dropped);
}

namespace {

using Dropped = LayerContext::Dropped;

// The note of x; where x has none, nothing is left out.
Dropped dropped_of(LayerContext& context, Expr x) {
  if (is_dropped(context, x)) return context.dropped.at(x);
  const Expr one = cast(x.constant(1), x.dtype());
  Dropped out{1, context.expr(broadcast_to(context.graph, one, x.shape())), ""};
  context.keep_axes(x, out.mask);
  return out;
}

// The layer makes y of numbers of its inputs, or of the first `count` of them, and so its mask of theirs.
void move_mask(LayerContext& context, const Layer& layer, const std::vector<Expr>& inputs, size_t count, Expr y,
               Dropped& out) {
  std::vector<Dropped> given;
  for (size_t i = 0; i < count; ++i) given.push_back(dropped_of(context, inputs[i]));
  const auto shares_first = [&](const Dropped& each) { return each.keep == given[0].keep; };
  const bool all_share = std::ranges::all_of(given, shares_first);
  std::vector<Expr> masks;
  for (const Dropped& each : given) {
    const Expr mask = own_samples(context, each.mask);
    masks.push_back(all_share || each.keep == 1 ? mask : mask * (1 / each.keep));
    context.keep_axes(mask, masks.back());
  }
  masks.insert(masks.end(), inputs.begin() + std::ptrdiff_t(count), inputs.end());
  out.keep = all_share ? given[0].keep : 1;
  out.mask = layer.forward_all(context, masks);
  context.keep_axes(y, out.mask);
}

}  // namespace

void pass_dropped(LayerContext& context, const Layer& layer, const std::vector<Expr>& inputs, Expr y) {
  if (context.dropped.empty() || is_dropped(context, y)) return;
  const WayOfZeros way = layer.way_of_zeros();
  const size_t count = way == WayOfZeros::cut ? 1 : inputs.size();
  std::vector<Dropped> given;
  for (size_t i = 0; i < count; ++i)
    if (is_dropped(context, inputs[i])) given.push_back(context.dropped.at(inputs[i]));
  if (given.empty() || (way == WayOfZeros::added && given.size() < count)) return;
  const auto is_mixed = [](const Dropped& each) { return !each.by.empty(); };
  const auto of_first_mask = [&](const Dropped& each) { return each.mask.value() == given[0].mask.value(); };
  Dropped out = given[0];
  if (const auto mixed = std::ranges::find_if(given, is_mixed); mixed != given.end()) out = *mixed;
  else if (way == WayOfZeros::moved || way == WayOfZeros::cut) move_mask(context, layer, inputs, count, y, out);
  else if (way == WayOfZeros::mixed || (way == WayOfZeros::added && !std::ranges::all_of(given, of_first_mask)))
    out.by = context.layer;
  context.dropped.insert_or_assign(y, out);
}

}  // namespace neon
