// Samples of a batch cut from images (n,H,W,C), each at its own place. With `indices` (N) i32, sample i is cut from
// image indices[i]; without, from image i. No gradient flows through.
//   crop(data, place (N,3) i32 [, indices]) -> (N,height,width,C)
//     the pixels from row place[0] and column place[1] on, of the type they have; where place[2] is not 0, right and
//     left swapped. Places may lie outside: `border` says what is there.
//   resample(data, box (N,4) [, indices]) -> (N,height,width,C)
//     the box that begins at row box[0] and column box[1] and is box[2] rows high and box[3] columns wide, in pixels,
//     sampled linearly between the pixels' middles; outside is as the nearest pixel. The result has the
//     type of floating data; integers give the type of the arithmetic. With `nearest` each place takes the pixel that
//     it lies in, row floor(box[0] + (i + 1/2) box[2] / height), and the type is that of the data, whatever it is.
//     A box (N,6) leans: from its left side to its right it goes down by box[4] rows, and from its top to its bottom
//     it goes to the right by box[5] columns.
#include "backends/graph/images.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

// (N,height,width,C) for what both ops are given; `columns` numbers a sample in `places`, or as many as `columns_too`.
Shape infer_batch(const InferContext& c, const char* op, int64_t columns, int64_t columns_too) {
  const TensorType &data = c.inputs[0], &places = c.inputs[1];
  const int64_t height = c.attributes.integer("height"), width = c.attributes.integer("width");
  if (data.shape.rank() != 4 || places.shape.rank() != 2 ||
      (places.shape[1] != columns && places.shape[1] != columns_too))
    fail(ErrorKind::config, op, " takes images (n,H,W,C) and a place (N,", columns, ") for each sample, got ", data,
         " and ", places);
  const int64_t samples = places.shape[0];
  if (c.inputs.size() > 2 && (c.inputs[2].dtype != DType::i32 || c.inputs[2].shape != Shape{samples}))
    fail(ErrorKind::config, op, " of ", samples, " samples takes as many i32 indices, got ", c.inputs[2]);
  if (c.inputs.size() == 2 && data.shape[0] != samples)
    fail(ErrorKind::config, op, " takes a place for each of the images ", data, ", got ", places);
  if (height < 1 || width < 1 || data.shape[1] < 1 || data.shape[2] < 1)
    fail(ErrorKind::config, op, " of ", data, " to ", height, " x ", width, ": images have at least one pixel");
  return {samples, height, width, data.shape[3]};
}

std::vector<TensorType> infer_crop(const InferContext& c) {
  const int64_t border = c.attributes.integer("border");
  if (c.inputs[1].dtype != DType::i32) fail(ErrorKind::config, "crop takes places of i32, got ", c.inputs[1]);
  if (border < int64_t(Border::zero) || border > int64_t(Border::edge))
    fail(ErrorKind::config, "crop has no border ", border);
  return {{c.inputs[0].dtype, infer_batch(c, "crop", 3, 3)}};
}

std::vector<TensorType> infer_resample(const InferContext& c) {
  if (!is_floating(c.inputs[1].dtype)) fail(ErrorKind::config, "resample takes floating boxes, got ", c.inputs[1]);
  const DType dtype = c.inputs[0].dtype;
  return {{is_floating(dtype) || takes_nearest(c.attributes) ? dtype : compute_type(c.inputs[1].dtype),
           infer_batch(c, "resample", 4, kLeaningBox)}};
}

std::vector<Value> inputs_of(Value data, Value places, Value indices) {
  std::vector<Value> out{data, places};
  if (indices) out.push_back(indices);
  return out;
}

const OpRegistration images_ops[] = {
    OpRegistration({.name = ops::crop, .infer = infer_crop, .traits = {.looks_up = true}}),
    OpRegistration({.name = ops::resample, .infer = infer_resample, .traits = {.looks_up = true}}),
};

}  // namespace

Value crop(Graph& graph, Value data, Value place, Value indices, ImageArea area, Border border) {
  return graph.add("crop", inputs_of(data, place, indices),
                   {{"height", area.height}, {"width", area.width}, {"border", int64_t(border)}});
}

Value resample(Graph& graph, Value data, Value box, Value indices, ImageArea area, Sampling sampling) {
  Attributes attributes = {{"height", area.height}, {"width", area.width}};
  if (sampling == Sampling::nearest) attributes = attributes.with("nearest", int64_t(1));
  return graph.add("resample", inputs_of(data, box, indices), attributes);
}

bool takes_nearest(const Attributes& attributes) { return attributes.has("nearest"); }

int64_t inside(int64_t at, int64_t size, Border border) {
  if (at >= 0 && at < size) return at;
  if (border == Border::zero) return -1;
  if (border == Border::edge || size == 1) return at < 0 ? 0 : size - 1;
  const int64_t period = 2 * (size - 1), rest = (at % period + period) % period;
  return rest < size ? rest : period - rest;
}

}  // namespace neon
