// Upsample: images and volumes made larger by whole factors, axis by axis, without weights.
#include <cmath>

#include "layers/images.h"

namespace neon {

namespace {

constexpr int64_t kMostScale = 256;

struct UpsampleParams {
  AxisNumbers scale{2};
  std::string mode = "nearest";
  static void describe(auto&& p) {
    p("scale", &UpsampleParams::scale,
      "Factor of the sizes: 2, [height, width] or [depth, height, width]; an axis that a map leaves out stays.",
      closed(1, kMostScale));
    p("mode", &UpsampleParams::mode,
      "Pixels between: nearest repeats each pixel; linear (bilinear in images, trilinear in volumes) mixes the two "
      "nearest of each axis, with the corners of the outermost pixels in place (align_corners: false of PyTorch).",
      one_of({"nearest", "linear", "bilinear", "trilinear"}));
  }
};

// x (...,n,...) -> (...,n scale,...): each element `scale` times, one behind the other.
Expr repeated(Expr x, int axis, int64_t scale) {
  const Shape shape = x.shape();
  const int64_t before = shape.slice(0, axis + 1).elements(), after = shape.slice(axis + 1, shape.rank()).elements();
  const Value wide = broadcast_to(x.graph(), reshape(x, {before, 1, after}), {before, scale, after});
  return {x.graph(), reshape(x.graph(), wide, shape.with(axis, scale * shape[axis]))};
}

Expr joined(Graph& graph, const std::vector<Value>& parts, int64_t axis) {
  return {graph, graph.add("concat", parts, {{"axis", axis}})};
}

// x (B,n,A) -> the same, each element in the place of its neighbour before it, or with `by` of 1 behind it; at the end
// the outermost element stays.
Expr shifted(Expr x, int by) {
  Graph& graph = x.graph();
  const int64_t n = x.shape()[1];
  if (n == 1) return x;
  const auto part = [&](int64_t first, int64_t count) {
    return graph.add("slice", {x}, {{"axis", int64_t(1)}, {"first", first}, {"count", count}});
  };
  if (by < 0) return joined(graph, {part(0, 1), part(0, n - 1)}, 1);
  return joined(graph, {part(1, n - 1), part(n - 1, 1)}, 1);
}

// x (...,n,...) -> (...,n scale,...): place o lies at (o + 1/2) / scale - 1/2 between the middles of the elements, so
// that all places o = scale i + k have the same shares of element i and one of its neighbours.
Expr interpolated(Expr x, int axis, int64_t scale) {
  const Shape shape = x.shape();
  const int64_t before = shape.slice(0, axis).elements(), after = shape.slice(axis + 1, shape.rank()).elements();
  const Expr own = reshape(x, {before, shape[axis], after}), previous = shifted(own, -1), next = shifted(own, 1);
  std::vector<Value> places;
  for (int64_t k = 0; k < scale; ++k) {
    const double at = (double(k) + 0.5) / double(scale) - 0.5;
    const Expr mixed = at == 0 ? own : own * (1 - std::abs(at)) + (at < 0 ? previous : next) * std::abs(at);
    places.push_back(reshape(cast(mixed, x.dtype()), {before, shape[axis], 1, after}));
  }
  return reshape(joined(x.graph(), places, 2), shape.with(axis, scale * shape[axis]));
}

struct Upsample : Parametrized<Layer, UpsampleParams> {
  using Parametrized::Parametrized;
  WayOfZeros way_of_zeros() const override { return params.mode == "nearest" ? WayOfZeros::moved : WayOfZeros::mixed; }
  // x (N,H,W,C) -> (N,H scale,W scale,C); likewise in 3-D
  Expr forward(LayerContext&, Expr x) const override {
    const int axes = axes_of_space(x, "upsampling");
    if (params.mode == (axes == 2 ? "trilinear" : "bilinear"))
      fail(ErrorKind::config, "mode: ", params.mode, " is for ", axes == 2 ? "volumes" : "images", ", the input has ",
           axes, " axes of space; write linear");
    const std::vector<int64_t> scales = params.scale.of_space(axes, 1, "scale");
    for (int axis = 1; axis <= axes; ++axis)
      if (const int64_t scale = scales[size_t(axis - 1)]; scale > 1)
        x = params.mode == "nearest" ? repeated(x, axis, scale) : interpolated(x, axis, scale);
    return x;
  }
};
NEON_REGISTER(Layer, Upsample, "Makes images or volumes larger by whole factors, without weights.", {"UpSampling2D"});

}  // namespace

}  // namespace neon
