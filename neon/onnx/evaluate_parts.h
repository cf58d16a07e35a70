// The operators of a model, by kind. Each function computes the node's result if the operator is its own.
#pragma once
#include <optional>

#include "neon/onnx/evaluate.h"

namespace neon::onnx {

struct Call {
  const Operation& node;
  std::vector<const Array*> inputs;
  Precision precision;
  const Array& in(size_t k) const { return *inputs.at(k); }
  int64_t whole(const char* name, int64_t usual) const {
    return node.attributes.has(name) ? node.attributes.integer(name) : usual;
  }
};

// A running sum of that precision.
class Sum {
 public:
  explicit Sum(Precision precision, double start = 0) : rounds_(precision == Precision::as_f32), value_(start) {}
  void add(double x) { value_ = rounds_ ? double(float(value_ + x)) : value_ + x; }
  double value() const { return value_; }

 private:
  bool rounds_;
  double value_;
};

int64_t product_of(const std::vector<int64_t>& sizes);
// The strides of an array without gaps, the last axis fastest.
std::vector<int64_t> strides_of(const std::vector<int64_t>& sizes);
// The places of elements in an array that broadcasts to `sizes`, in their order.
std::vector<int64_t> broadcast_places(const std::vector<int64_t>& own, const std::vector<int64_t>& sizes);
// Axis by axis the strides of an array that is read in other order: the places of all elements of `sizes`.
std::vector<int64_t> places_by(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides);

std::optional<Array> evaluate_elements(const Call& call);
std::optional<Array> evaluate_windows(const Call& call);
std::optional<Array> evaluate_products(const Call& call);
std::optional<Array> evaluate_moves(const Call& call);

}  // namespace neon::onnx
