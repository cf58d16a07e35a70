// largest and nms; boxes.h says what they compute. Neither has a gradient.
#include "backends/graph/boxes.h"
#include "backends/graph/flops.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

std::vector<TensorType> infer_largest(const InferContext& c) {
  const TensorType &x = c.inputs[0], &counts = c.inputs[1];
  if (x.shape.rank() != 2 || compute_type(x.dtype) != x.dtype || counts != TensorType{x.dtype, {x.shape[0], 1}})
    fail(ErrorKind::config, "largest takes numbers (N,P) and counts (N,1) in f32 or f64, got ", x, " and ", counts);
  return {x};
}

std::vector<TensorType> infer_nms(const InferContext& c) {
  const TensorType &boxes = c.inputs[0], &scores = c.inputs[1];
  const bool fit = boxes.shape.rank() == 3 && boxes.shape[2] == 4 && scores.shape.rank() == 3 &&
                   scores.shape[0] == boxes.shape[0] && scores.shape[2] == boxes.shape[1];
  if (!fit || compute_type(boxes.dtype) != boxes.dtype || scores.dtype != boxes.dtype)
    fail(ErrorKind::config, "nms takes boxes (N,P,4) and scores (N,K,P) in f32 or f64, got ", boxes, " and ", scores);
  if (boxes.shape[1] > INT32_MAX) fail(ErrorKind::config, "nms of more boxes than an index can name: ", boxes);
  const int64_t most = c.attributes.integer("most");
  if (most < 1 || c.attributes.integer("candidates") < 0)
    fail(ErrorKind::config, "nms chooses ", most, " boxes of ", c.attributes.integer("candidates"),
         " candidates: one box at least, and no negative number of candidates");
  return {{DType::i32, {scores.shape[0], scores.shape[1], most}}};
}

// Each chosen box is compared with all others: eleven sums and products.
double flops_of_nms(const Graph& graph, const Node& node) {
  const Shape& scores = graph.shape(node.inputs[1]);
  return 11.0 * double(scores.elements()) * double(std::min(node.attributes.integer("most"), scores[2]));
}

const OpRegistration box_ops[] = {
    OpRegistration({ops::largest, infer_largest}),
    OpRegistration({ops::nms, infer_nms, nullptr, nullptr, {}, flops_of_nms}),
};

}  // namespace

Expr largest(Expr x, Expr counts) { return {x.graph(), x.graph().add(ops::largest, {x, counts})}; }

Value suppressed(Graph& graph, Value boxes, Value scores, const Suppression& by) {
  return graph.add(ops::nms, {boxes, scores},
                   {{"overlap", by.overlap},
                    {"most", by.most},
                    {"candidates", by.candidates},
                    {"least", by.least},
                    {"pixels", int64_t(by.pixels)}});
}

}  // namespace neon
