#include "neon/onnx/evaluate.h"

#include <map>

#include "neon/onnx/evaluate_parts.h"

namespace neon::onnx {

int64_t product_of(const std::vector<int64_t>& sizes) {
  int64_t out = 1;
  for (const int64_t size : sizes) out *= size;
  return out;
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> out(sizes.size(), 1);
  for (size_t axis = sizes.size(); axis-- > 1;) out[axis - 1] = out[axis] * sizes[axis];
  return out;
}

std::vector<int64_t> places_by(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  std::vector<int64_t> out(size_t(product_of(sizes))), at(sizes.size(), 0);
  int64_t place = 0;
  for (int64_t& each : out) {
    each = place;
    for (size_t axis = sizes.size(); axis-- > 0;) {
      place += strides[axis];
      if (++at[axis] < sizes[axis]) break;
      place -= strides[axis] * sizes[axis];
      at[axis] = 0;
    }
  }
  return out;
}

std::vector<int64_t> broadcast_places(const std::vector<int64_t>& own, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides = strides_of(own);
  for (size_t axis = 0; axis < own.size(); ++axis)
    if (own[axis] == 1) strides[axis] = 0;
  strides.insert(strides.begin(), sizes.size() - own.size(), 0);
  return places_by(sizes, strides);
}

namespace {

Array array_of(const Tensor& tensor) {
  Array out{{tensor.shape().begin(), tensor.shape().end()}, {}};
  for (int64_t i = 0; i < tensor.elements(); ++i) out.numbers.push_back(tensor.at(i));
  return out;
}

Array computed(const Call& call) {
  for (const auto part : {evaluate_elements, evaluate_products, evaluate_windows, evaluate_moves})
    if (std::optional<Array> out = part(call)) return std::move(*out);
  fail(ErrorKind::data, "node ", call.node.name, ": operator ", call.node.op, " is not one that neon writes");
}

// The last node that takes each array.
std::map<std::string, size_t> last_uses(const Model& model) {
  std::map<std::string, size_t> out;
  for (size_t i = 0; i < model.operations.size(); ++i)
    for (const std::string& name : model.operations[i].inputs) out[name] = i;
  return out;
}

}  // namespace

Array evaluated(const Model& model, const Array& input, Precision precision) {
  std::map<std::string, Array> arrays;
  for (const NamedConstant& constant : model.constants) arrays[constant.name] = array_of(constant.tensor);
  arrays[kInput] = input;
  const std::map<std::string, size_t> last = last_uses(model);
  for (size_t i = 0; i < model.operations.size(); ++i) {
    const Operation& node = model.operations[i];
    Call call{node, {}, precision};
    for (const std::string& name : node.inputs) {
      const auto found = arrays.find(name);
      if (found == arrays.end()) fail(ErrorKind::data, "node ", node.name, " takes ", name, ", which is not there");
      call.inputs.push_back(&found->second);
    }
    Array made = computed(call);
    if (precision == Precision::as_f32)
      for (double& number : made.numbers) number = double(float(number));
    for (const std::string& name : node.inputs)
      if (last.at(name) == i) arrays.erase(name);
    arrays[node.outputs.at(0)] = std::move(made);
  }
  const auto found = arrays.find(kOutput);
  if (found == arrays.end()) fail(ErrorKind::data, "no node gives ", kOutput);
  return std::move(found->second);
}

}  // namespace neon::onnx
