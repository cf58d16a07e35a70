// From the graph of a net to an ONNX model.
#pragma once
#include <optional>

#include "neon/onnx/net_graph.h"
#include "neon/onnx/rows.h"

namespace neon::onnx {

// The file does this before and behind the net.
struct OuterForm {
  // Axis i of the file's input is axis order[i] of the net's.
  std::vector<int> order;
  // Arrays (1, ...) as the net's sample lies: subtracted from each sample, which is then divided by the other.
  std::optional<Tensor> subtracted, divisor;
  // Arrays (1, K): outputs are multiplied by one, and the other is added.
  std::optional<Tensor> factor, term;
};

// The model of the graph's output y, without metadata. Throws a config error that names the op and the layer that ONNX
// files, or this translation, lack.
Model translated(const NetGraph& net, const std::map<Value, Tensor>& constants, const OuterForm& form);

}  // namespace neon::onnx
