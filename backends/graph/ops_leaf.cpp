// Leaves, and the sources that make values from nothing: iota, uniform.
#include "backends/graph/op.h"

namespace neon {

namespace {

std::vector<TensorType> named_leaf(const InferContext& c) {
  return {{DType(c.attributes.integer("dtype")), Shape(c.attributes.integers("shape"))}};
}

std::vector<TensorType> constant(const InferContext& c) { return {{DType(c.attributes.integer("dtype")), {}}}; }

std::vector<TensorType> source(const InferContext& c) { return {{DType::f32, Shape(c.attributes.integers("shape"))}}; }

const OpRegistration leaf_ops[] = {
    OpRegistration({"input", named_leaf}),  OpRegistration({"variable", named_leaf}),
    OpRegistration({"scalar", named_leaf}), OpRegistration({"constant", constant}),
    OpRegistration({"iota", source}),       OpRegistration({"uniform", source}),
};

}  // namespace

}  // namespace neon
