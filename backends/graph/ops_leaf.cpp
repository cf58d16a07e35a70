// Leaves, and the sources that make values from nothing: iota, uniform, and keyed_uniform from numbers of samples.
#include "backends/graph/ops.h"

namespace neon {

namespace {

std::vector<TensorType> named_leaf(const InferContext& c) {
  return {{DType(c.attributes.integer("dtype")), Shape(c.attributes.integers("shape"))}};
}

std::vector<TensorType> constant(const InferContext& c) { return {{DType(c.attributes.integer("dtype")), {}}}; }

std::vector<TensorType> source(const InferContext& c) { return {{DType::f32, Shape(c.attributes.integers("shape"))}}; }

std::vector<TensorType> infer_keyed_uniform(const InferContext& c) {
  const TensorType& keys = c.inputs[0];
  const int64_t columns = c.attributes.integer("columns");
  if (keys.dtype != DType::i32 || keys.shape.rank() != 2 || keys.shape[1] != 2 || columns < 1)
    fail(ErrorKind::config, "keyed_uniform takes keys (N,2) of i32 and at least one column, got ", keys, " and ",
         columns);
  return {{DType::f32, {keys.shape[0], columns}}};
}

Op leaf(OpName name, std::vector<TensorType> (*infer)(const InferContext&), LeafKind kind) {
  return {.name = name, .infer = infer, .traits = {.fusion = Fusion::leaf, .leaf = kind}};
}

const OpRegistration leaf_ops[] = {
    OpRegistration(leaf(ops::input, named_leaf, LeafKind::input)),
    OpRegistration(leaf(ops::variable, named_leaf, LeafKind::variable)),
    OpRegistration(leaf(ops::scalar, named_leaf, LeafKind::scalar)),
    OpRegistration(leaf(ops::constant, constant, LeafKind::constant)),
    OpRegistration({.name = ops::iota, .infer = source, .traits = {.fusion = Fusion::source}}),
    OpRegistration({.name = ops::uniform, .infer = source, .traits = {.fusion = Fusion::source, .draws = true}}),
    OpRegistration({.name = ops::keyed_uniform, .infer = infer_keyed_uniform, .traits = {.draws = true}}),
};

}  // namespace

}  // namespace neon
