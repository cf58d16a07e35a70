#include "neon/onnx/writer.h"

#include <bit>

#include "neon/core/message.h"

namespace neon::onnx {

std::string Writer::add(const std::string& op, std::vector<std::string> inputs, Attributes attributes) {
  const std::string out = text("value_", count_);
  model_.operations.push_back(
      {op, text(scope_, scope_.empty() ? "" : " ", op, " ", count_), std::move(inputs), {out}, std::move(attributes)});
  ++count_;
  return out;
}

std::string Writer::constant_name(const std::string& wish) {
  std::string out = wish;
  for (int more = 2; !names_.insert(out).second; ++more) out = text(wish, "_", more);
  return out;
}

std::string Writer::array(const std::string& wish, const Tensor& tensor) {
  const std::string name = constant_name(wish);
  model_.constants.push_back({name, tensor.converted(is_floating(tensor.dtype()) ? DType::f32 : DType::i64)});
  return name;
}

std::string Writer::number(double value) {
  std::string& name = shared_[text("number/", std::bit_cast<uint32_t>(float(value)))];
  if (!name.empty()) return name;
  Tensor tensor(DType::f32, {});
  tensor.set(0, value);
  return name = array(text("number_", shared_.size()), tensor);
}

std::string Writer::list(const std::vector<int64_t>& values) {
  std::string& name = shared_[text("list/", Attributes{{"", values}}.to_string())];
  if (!name.empty()) return name;
  Tensor tensor(DType::i64, {int64_t(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.as<int64_t>()[i] = values[i];
  return name = array(text("list_", shared_.size()), tensor);
}

Model Writer::finish(const std::string& output) {
  bool made = false;
  for (Operation& node : model_.operations) made = made || node.outputs[0] == output;
  if (!made) {  // an input or a constant is the output
    const std::string copy = add("Identity", {output});
    return finish(copy);
  }
  for (Operation& node : model_.operations) {
    if (node.outputs[0] == output) node.outputs[0] = kOutput;
    for (std::string& input : node.inputs)
      if (input == output) input = kOutput;
  }
  return std::move(model_);
}

Tensor permuted(const Tensor& tensor, const std::vector<int>& order) {
  const Shape& from = tensor.shape();
  const int rank = from.rank();
  std::vector<int64_t> sizes, strides(size_t(rank), 1), moved;
  for (int axis = rank - 2; axis >= 0; --axis) strides[size_t(axis)] = strides[size_t(axis) + 1] * from[axis + 1];
  for (const int axis : order) sizes.push_back(from[axis]), moved.push_back(strides[size_t(axis)]);
  Tensor out(tensor.dtype(), Shape(sizes));
  std::vector<int64_t> at(size_t(rank), 0);
  for (int64_t i = 0; i < out.elements(); ++i) {
    int64_t place = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) place += at[axis] * moved[axis];
    const size_t bytes = size_of(tensor.dtype());
    std::memcpy(static_cast<char*>(out.data()) + size_t(i) * bytes,
                static_cast<const char*>(tensor.data()) + size_t(place) * bytes, bytes);
    for (int axis = rank - 1; axis >= 0 && ++at[size_t(axis)] == sizes[size_t(axis)]; --axis) at[size_t(axis)] = 0;
  }
  return out;
}

}  // namespace neon::onnx
