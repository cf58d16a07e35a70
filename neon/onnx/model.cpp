// The fields' numbers are those of onnx.proto.
#include "neon/onnx/model.h"

#include "neon/core/message.h"
#include "neon/core/protobuf.h"
#include "neon/core/version.h"

namespace neon::onnx {

namespace {

using protobuf::field, protobuf::float_field, protobuf::Reader, protobuf::whole_field;

// AttributeProto::AttributeType.
constexpr int64_t kFloat = 1, kInt = 2, kString = 3, kInts = 7;

std::string attribute_message(const std::string& name, const Attributes::Item& item) {
  std::string out = field(1, name);
  if (const auto* whole = std::get_if<int64_t>(&item)) return out + whole_field(3, *whole) + whole_field(20, kInt);
  if (const auto* real = std::get_if<double>(&item))
    return out + float_field(2, float(*real)) + whole_field(20, kFloat);
  if (const auto* words = std::get_if<std::string>(&item)) return out + field(4, *words) + whole_field(20, kString);
  for (const int64_t each : std::get<std::vector<int64_t>>(item)) out += whole_field(8, each);
  return out + whole_field(20, kInts);
}

std::string node_message(const Operation& node) {
  std::string out;
  for (const std::string& name : node.inputs) out += field(1, name);
  for (const std::string& name : node.outputs) out += field(2, name);
  out += field(3, node.name) + field(4, node.op);
  for (const auto& [name, item] : node.attributes.items()) out += field(5, attribute_message(name, item));
  return out;
}

std::string tensor_message(const NamedConstant& constant) {
  const Tensor& tensor = constant.tensor;
  std::string out;
  for (const int64_t size : tensor.shape()) out += whole_field(1, size);
  out += whole_field(2, tensor.dtype() == DType::f32 ? kTypeF32 : kTypeI64) + field(8, constant.name);
  return out + field(9, {static_cast<const char*>(tensor.data()), tensor.bytes()});
}

std::string argument_message(const std::string& name, const Argument& argument) {
  std::string sizes;
  for (const int64_t size : argument.sizes) sizes += field(1, size == kBatch ? field(2, "N") : whole_field(1, size));
  const std::string type = whole_field(1, argument.dtype == DType::f32 ? kTypeF32 : kTypeI64) + field(2, sizes);
  return field(1, name) + field(2, field(1, type));
}

void read_attribute(std::string_view message, Attributes& out) {
  std::string name, words;
  int64_t whole = 0, kind = 0;
  double real = 0;
  std::vector<int64_t> list;
  for (Reader r(message); r.next();) {
    if (r.number() == 1) name = r.text();
    else if (r.number() == 2) real = r.real();
    else if (r.number() == 3) whole = r.whole();
    else if (r.number() == 4) words = r.text();
    else if (r.number() == 8) list.push_back(r.whole());
    else if (r.number() == 20) kind = r.whole();
  }
  if (kind == kFloat) out = out.with(name, real);
  else if (kind == kInt) out = out.with(name, whole);
  else if (kind == kString) out = out.with(name, words);
  else if (kind == kInts) out = out.with(name, list);
  else fail(ErrorKind::data, "attribute ", name, " has a type that neon does not read");
}

Operation read_node(std::string_view message) {
  Operation out;
  for (Reader r(message); r.next();) {
    if (r.number() == 1) out.inputs.push_back(r.text());
    else if (r.number() == 2) out.outputs.push_back(r.text());
    else if (r.number() == 3) out.name = r.text();
    else if (r.number() == 4) out.op = r.text();
    else if (r.number() == 5) read_attribute(r.bytes(), out.attributes);
  }
  return out;
}

DType type_of(int64_t number) {
  if (number != kTypeF32 && number != kTypeI64) fail(ErrorKind::data, "element type ", number, " is not read");
  return number == kTypeF32 ? DType::f32 : DType::i64;
}

NamedConstant read_tensor(std::string_view message) {
  NamedConstant out;
  std::vector<int64_t> sizes;
  std::string_view raw;
  DType dtype = DType::f32;
  for (Reader r(message); r.next();) {
    if (r.number() == 1) sizes.push_back(r.whole());
    else if (r.number() == 2) dtype = type_of(r.whole());
    else if (r.number() == 8) out.name = r.text();
    else if (r.number() == 9) raw = r.bytes();
  }
  out.tensor = Tensor(dtype, Shape(sizes));
  if (raw.size() != out.tensor.bytes())
    fail(ErrorKind::data, "array ", out.name, " ", out.tensor.shape(), " has ", raw.size(), " bytes");
  std::memcpy(out.tensor.data(), raw.data(), raw.size());
  return out;
}

// The message of field `number`, the last one.
std::string_view part(std::string_view message, int number) {
  std::string_view out;
  for (Reader r(message); r.next();)
    if (r.number() == number) out = r.bytes();
  return out;
}

Argument read_argument(std::string_view message) {
  Argument out;
  for (Reader type(part(part(message, 2), 1)); type.next();) {
    if (type.number() == 1) out.dtype = type_of(type.whole());
    if (type.number() != 2) continue;
    for (Reader sizes(type.bytes()); sizes.next();)
      for (Reader size(sizes.bytes()); size.next();) out.sizes.push_back(size.number() == 1 ? size.whole() : kBatch);
  }
  return out;
}

void read_graph(std::string_view message, Model& out) {
  for (Reader r(message); r.next();) {
    if (r.number() == 1) out.operations.push_back(read_node(r.bytes()));
    else if (r.number() == 2) out.graph_name = r.text();
    else if (r.number() == 5) out.constants.push_back(read_tensor(r.bytes()));
    else if (r.number() == 11) out.input = read_argument(r.bytes());
    else if (r.number() == 12) out.output = read_argument(r.bytes());
  }
}

}  // namespace

std::string to_bytes(const Model& model) {
  std::string graph;
  for (const Operation& node : model.operations) graph += field(1, node_message(node));
  graph += field(2, model.graph_name);
  for (const NamedConstant& constant : model.constants) graph += field(5, tensor_message(constant));
  graph += field(11, argument_message(kInput, model.input)) + field(12, argument_message(kOutput, model.output));
  std::string out = whole_field(1, kVersionOfFormat) + field(2, "neon") + field(3, version());
  out += field(7, graph) + field(8, field(1, "") + whole_field(2, kOpset));
  for (const auto& [key, value] : model.metadata) out += field(14, field(1, key) + field(2, value));
  return out;
}

Model from_bytes(std::string_view bytes) {
  Model out;
  for (Reader r(bytes); r.next();) {
    if (r.number() == 7) read_graph(r.bytes(), out);
    if (r.number() != 14) continue;
    std::string key;
    for (Reader entry(r.bytes()); entry.next();) (entry.number() == 1 ? key : out.metadata[key]) = entry.text();
  }
  return out;
}

}  // namespace neon::onnx
