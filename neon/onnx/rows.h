// The rows of the elementwise table in operators of ONNX.
#pragma once
#include "neon/onnx/writer.h"

namespace neon::onnx {

struct Operand {
  std::string name;              // of the array
  std::optional<double> number;  // where it is a fixed number
};

// The name of the row's result, or nothing where ONNX has no operators for it.
std::optional<std::string> add_row(Writer& writer, std::string_view row, const std::vector<Operand>& operands);

}  // namespace neon::onnx
