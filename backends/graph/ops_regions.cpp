// Pooling of regions, R of each image, cut into `height` x `width` bins (Girshick 2015); see regions.h. Coordinates are
// x1, y1, x2, y2, multiplied by `scale`. No gradient flows to them.
//   region_max(x (N,H,W,C), regions (N,R,4)) -> y (N,R,height,width,C), position
//     the largest element of each bin, and the pixel i * W + j that it comes from: the first of equal ones; NaN is
//     larger than any number. An empty bin gives 0, or NaN where a coordinate is no finite number, and -1.
//   region_max_gradient(y, position, regions) -> x
//     each y added to the element that it came from, in images of `sizes` (H,W)
#include "backends/graph/flops.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

void check_regions(const TensorType& images, const TensorType& regions) {
  if (images.shape.rank() < 4 || regions.shape.rank() != 3 || regions.shape[2] != 4 ||
      regions.shape[0] != images.shape[0] || !is_floating(images.dtype) || !is_floating(regions.dtype))
    fail(ErrorKind::config, "regions (N,R,4) are pooled of images (N,H,W,C), both of floating types, got ", regions,
         " and ", images);
}

std::vector<TensorType> infer_region_max(const InferContext& c) {
  const TensorType &x = c.inputs[0], &regions = c.inputs[1];
  check_regions(x, regions);
  const int64_t height = c.attributes.integer("height"), width = c.attributes.integer("width");
  if (x.shape.rank() != 4 || height < 1 || width < 1)
    fail(ErrorKind::config, "regions of ", x, " are cut into ", height, " x ", width,
         " bins: images have four axes, and regions a bin at least");
  if (x.shape[1] * x.shape[2] > INT32_MAX)
    fail(ErrorKind::config, "images ", x.shape, " have more pixels than a position can name");
  const Shape y{x.shape[0], regions.shape[1], height, width, x.shape[3]};
  return {{x.dtype, y}, {DType::i32, y}};
}

std::vector<TensorType> infer_region_max_gradient(const InferContext& c) {
  const TensorType &y = c.inputs[0], &position = c.inputs[1], &regions = c.inputs[2];
  check_regions(y, regions);
  const auto& sizes = c.attributes.integers("sizes");
  if (y.shape.rank() != 5 || y.shape[1] != regions.shape[1] || position != TensorType{DType::i32, y.shape} ||
      sizes.size() != 2 || sizes[0] < 0 || sizes[1] < 0)
    fail(ErrorKind::config, "numbers ", y, " at ", position, " of regions ", regions, " in images of ", Shape(sizes),
         " do not go together");
  return {{y.dtype, {y.shape[0], sizes[0], sizes[1], y.shape[4]}}};
}

void region_max_gradient(GradientContext& c) {
  const Shape& x = c.graph.shape(c.input(0));
  c.results[0] = c.graph.add("region_max_gradient", {c.cotangent(), c.output(1), c.input(1)},
                             {{"scale", c.node.attributes.real("scale")}, {"sizes", std::vector<int64_t>{x[1], x[2]}}});
}

const OpRegistration regions_ops[] = {
    OpRegistration({ops::region_max, infer_region_max, region_max_gradient, nullptr, {}, flops_along}),
    OpRegistration({ops::region_max_gradient, infer_region_max_gradient}),
};

}  // namespace

}  // namespace neon
