// A net as an ONNX file has it: nodes in order, constant arrays, one input, one output.
//
// neon writes two types of such files, f32 and whole numbers of 64 bits; `bool` stands between two nodes alone.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backends/graph/attributes.h"
#include "neon/core/tensor.h"

namespace neon::onnx {

constexpr int64_t kOpset = 13, kVersionOfFormat = 8;
constexpr const char* kInput = "input";
constexpr const char* kOutput = "output";
constexpr int64_t kBatch = -1;  // the size of an axis that is the number of samples

// Numbers of element types, as TensorProto has them.
constexpr int64_t kTypeF32 = 1, kTypeI64 = 7, kTypeBool = 9;

struct Operation {
  std::string op, name;
  std::vector<std::string> inputs, outputs;
  Attributes attributes;
};

struct NamedConstant {
  std::string name;
  Tensor tensor;  // f32 or i64
};

// An array that the caller gives or gets.
struct Argument {
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;
};

struct Model {
  std::vector<Operation> operations;
  std::vector<NamedConstant> constants;
  Argument input, output;  // kInput and kOutput
  std::string graph_name;
  std::map<std::string, std::string> metadata;
};

std::string to_bytes(const Model& model);
// Reads what to_bytes() writes; throws a data error for anything else.
Model from_bytes(std::string_view bytes);

}  // namespace neon::onnx
