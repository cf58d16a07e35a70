// RoiPooling (Girshick 2015): of regions of an image, the largest element of each of a few bins. It takes two arrays,
// feature maps and the regions of each sample: four numbers x1, y1, x2, y2, or several such rows, which stay side by
// side as the depth of a volume. neon had the sample's number before the four, as all regions of a batch were one list.
//
//   RoiPooling: {inputs: [conv5, regions], HW: [7, 7], spatial_scale: 0.0625}
#include "backends/graph/ops.h"
#include "models/container.h"

namespace neon {

namespace {

struct RoiPoolingParams {
  std::vector<Chain> layers;
  std::vector<int64_t> HW = {7, 7};
  double spatial_scale = 0.0625;
  bool bprop_enabled = true;
  static void describe(auto&& p) {
    p("layers", &RoiPoolingParams::layers,
      "Two lists of layers, one for the feature maps and one for the regions. Without them the layer takes both from "
      "its two `inputs`.");
    p("HW", &RoiPoolingParams::HW, "Rows and columns of bins in a region.", closed(1, 4096));
    p("spatial_scale", &RoiPoolingParams::spatial_scale,
      "Size of the feature maps divided by the size of the image that the regions refer to.", above(0));
    p("bprop_enabled", &RoiPoolingParams::bprop_enabled,
      "Passes the gradient to the feature maps. The regions get no gradient.");
  }
};

// Coordinates as the data set has them, not rounded to the net's type: of 16 bits, bf16 has no odd number above 256.
// They are found through what only moves them. Coordinates that layers computed stay as they are.
Expr as_given(Expr regions) {
  Graph& graph = regions.graph();
  const Node node = graph.producer(regions);  // a copy: more are added
  if (node.op->is(ops::cast) && size_of(regions.dtype()) == 2) return {graph, node.inputs[0]};
  if (!node.op->traits.moves) return regions;
  const Expr before = as_given({graph, node.inputs[0]});
  if (before.dtype() == regions.dtype()) return regions;
  return {graph, graph.add(node.op->name, {before}, node.attributes)};
}

struct RoiPooling : Parametrized<Container, RoiPoolingParams> {
  explicit RoiPooling(RoiPoolingParams given) : Parametrized(std::move(given)) {
    if (params.HW.size() == 1) params.HW.push_back(params.HW[0]);
    if (params.HW.size() != 2)
      fail(ErrorKind::config, "HW: ", Shape(params.HW), " should be two numbers, rows and columns of bins");
  }
  std::span<Chain> branches() override { return params.layers; }

  // x (N,H,W,C) and regions (N,4) or (N,R,4) -> (N,P,Q,C) or (N,R,P,Q,C)
  Expr merge(LayerContext& context, const std::vector<Expr>& inputs) const override {
    if (inputs.size() != 2)
      fail(ErrorKind::config, "RoiPooling takes two inputs, feature maps and regions, and has ", inputs.size(),
           "; give it `inputs: [NAME, NAME]`");
    const Expr x = with_scaled_gradient(context.channels_last(inputs[0]), params.bprop_enabled ? 1 : 0);
    const Expr given = as_given(inputs[1]);
    const Shape regions = given.shape();
    if (x.shape().rank() != 4)
      fail(ErrorKind::config, "RoiPooling takes feature maps (C, H, W) as its first input, got samples ",
           context.sample_shape(inputs[0]));
    if ((regions.rank() != 2 && regions.rank() != 3) || regions.back() != 4)
      fail(ErrorKind::config, "RoiPooling takes regions (4) or (R, 4), x1, y1, x2, y2 each, as its second input, got ",
           context.sample_shape(inputs[1]), remedy(regions));
    const bool several = regions.rank() == 3;
    const Expr list = several ? given : reshape(given, {regions[0], 1, 4});
    const Expr y(
        context.graph,
        context.graph.add_all("region_max", {x, list},
                              {{"height", params.HW[0]}, {"width", params.HW[1]}, {"scale", params.spatial_scale}})[0]);
    const Shape& shape = y.shape();
    return several ? y : reshape(y, {shape[0], shape[2], shape[3], shape[4]});
  }

 private:
  static std::string remedy(const Shape& regions) {
    const int64_t numbers = regions.slice(1, regions.rank()).elements();
    if (regions.back() == 5) return "; the number of the sample is left out, regions are those of their own";
    return numbers % 4 ? "" : text("; put `Reshape: [", numbers / 4, ", 4]` before it");
  }
};
NEON_REGISTER(Layer, RoiPooling, "Takes the largest element of each bin of regions of the feature maps.");

}  // namespace

}  // namespace neon
