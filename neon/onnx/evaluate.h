// Computes the outputs of an ONNX model by plain loops in double precision, for comparison: nothing here is shared with
// the kernels by which neon computes a net.
#pragma once
#include "neon/onnx/model.h"

namespace neon::onnx {

struct Array {
  std::vector<int64_t> sizes;
  std::vector<double> numbers;
  int64_t elements() const { return int64_t(numbers.size()); }
};

enum class Precision {
  full,   // double throughout
  as_f32  // results and sums are rounded to f32 after each operation
};

// Throws a data error for operators that neon does not write, and for shapes that do not go together.
Array evaluated(const Model& model, const Array& input, Precision precision);

}  // namespace neon::onnx
