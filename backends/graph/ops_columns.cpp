// The pixels that windows see: a row for each place of a filter and channel, a column for each output, channels last:
//   columns(x) -> y    y[(r * S + s) * C + c, (n * P + p) * Q + q] = x[n, p * stride - before + r * dilation, ..., c],
//                      0 outside x
// x (N,H,W,C), windows of `sizes` (R,S), y (R S C, N P Q). Windows of one pixel turn an array: (N,P,Q,K) -> (K, N P Q).
// Only the pass with_product_gradients() asks for it, after gradients were derived, so it has none.
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"

namespace neon {

namespace {

std::vector<TensorType> infer_columns(const InferContext& c) {
  const TensorType& x = c.inputs[0];
  const auto& sizes = c.attributes.integers("sizes");
  if (x.shape.rank() != 4 || sizes.size() != 2)
    fail(ErrorKind::config, "columns are taken of images (N,H,W,C) by windows of two axes, got ", x.shape, " and ",
         Shape(sizes));
  const auto outputs = windows_of(c.attributes, sizes).outputs(std::vector<int64_t>{x.shape[1], x.shape[2]});
  return {{x.dtype, {sizes[0] * sizes[1] * x.shape[3], x.shape[0] * outputs[0] * outputs[1]}}};
}

const OpRegistration columns_ops[] = {
    OpRegistration({.name = ops::columns, .infer = infer_columns, .traits = {.enlarges = true}})};

}  // namespace

}  // namespace neon
