// Leaves, and the sources that make values from nothing: iota, uniform, and keyed_uniform from numbers of samples.
#include "backends/graph/op.h"

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

const OpRegistration leaf_ops[] = {
    OpRegistration({"input", named_leaf}),
    OpRegistration({"variable", named_leaf}),
    OpRegistration({"scalar", named_leaf}),
    OpRegistration({"constant", constant}),
    OpRegistration({"iota", source}),
    OpRegistration({"uniform", source}),
    OpRegistration({"keyed_uniform", infer_keyed_uniform}),
};

}  // namespace

}  // namespace neon
