// Expressions of generated source: loads, stores, calls of the elementwise functions.
#pragma once
#include "backends/cuda/source.h"
#include "backends/graph/op.h"

namespace neon::cuda {

// The device's name of a fold: FoldSum, FoldMax, FoldMin.
std::string fold_name(const Op& op);

// What a register is called.
using RegisterName = std::string (*)(int);

class CodeText {
 public:
  CodeText(SourceContext& context, DType compute) : context_(context), compute_(compute) {}

  const std::vector<Value>& arrays() const { return arrays_; }
  const TensorType& type(Value value) const { return context_.lowered.graph.type(value); }

  // Element `index` of a value, as R.
  std::string load(Value value, const std::string& index);
  // Element of an array of i32.
  std::string integer(Value value, const std::string& index);
  // The row below `limit` that element `place` of `indices` names; one that does not exist is noted.
  std::string looked_up(Value indices, const std::string& place, int64_t limit);
  // Element `rest` of the row of `stride` elements that element `place` of `indices` names.
  std::string gather(Value value, Value indices, const std::string& place, int64_t stride, const std::string& rest);
  // A statement that writes `number` there; small outputs go to the ring, too.
  std::string store(Value value, const std::string& index, const std::string& number, const char* indent);
  // compute, record, constant, load and uniform of a single number.
  std::string scalar_value(const Instruction& i, RegisterName input);
  std::string call(const Instruction& i, RegisterName input) const;
  std::string uniform(const Instruction& i, const std::string& element) const;
  std::string literal(double value) const;

 private:
  // Parameter that holds the memory of a value.
  std::string pointer(Value value);
  // What is added to an index into an input: a sequence begins at the record's first row.
  std::string first_row(Value value) const;

  SourceContext& context_;
  DType compute_;
  std::vector<Value> arrays_;
};

}  // namespace neon::cuda
