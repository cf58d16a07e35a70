#include "layers/signs.h"

#include <algorithm>

namespace neon {

Expr signs_of(LayerContext& context, Value given, Expr x) {
  const auto found = context.dropped.find(given);
  if (found == context.dropped.end()) return apply("sign_ste", x);
  const LayerContext::Dropped& dropped = found->second;
  if (!dropped.by.empty())
    fail(ErrorKind::config, dropped.by, " stands between ", dropped.layer,
         " and this layer, which would take the zeros of Dropout as signs; put the Dropout behind ", dropped.by);
  const Expr mask = own_samples(context, dropped.mask);
  const Expr undivided = context.caffe ? x * dropped.keep : x;  // whose gradient passes a sign as before Dropout
  return apply("sign_ste", undivided) * reshape(mask, x.shape()) * (1 / dropped.keep);
}

void move_dropped(LayerContext& context, Expr x, Expr y) {
  const auto found = context.dropped.find(x);
  if (found == context.dropped.end()) return;
  LayerContext::Dropped dropped = found->second;
  if (dropped.by.empty()) dropped.mask = context.channels_last(dropped.mask);
  context.dropped.insert_or_assign(y, dropped);
}

void pass_dropped(LayerContext& context, const Layer& layer, const std::vector<Expr>& inputs, Expr y) {
  const auto is_known = [&](Expr x) { return is_dropped(context, x); };
  if (context.dropped.empty() || is_known(y)) return;
  const auto found = std::ranges::find_if(inputs, is_known);
  const WayOfZeros way = layer.way_of_zeros();
  if (found == inputs.end() || (way == WayOfZeros::added && !std::ranges::all_of(inputs, is_known))) return;
  LayerContext::Dropped dropped = context.dropped.at(*found);
  if (dropped.by.empty() && way == WayOfZeros::moved) {
    dropped.mask = layer.forward(context, own_samples(context, dropped.mask));
  } else if (dropped.by.empty() && way != WayOfZeros::kept) {
    dropped.by = context.layer;
  }
  context.dropped.insert_or_assign(y, dropped);
}

}  // namespace neon
