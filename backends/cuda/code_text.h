// Expressions of generated source: loads, stores, calls of the elementwise functions.
#pragma once
#include "backends/cuda/source.h"
#include "backends/graph/op.h"

namespace neon::cuda {

constexpr int kAccessBytes = 16;  // the widest that a thread reads or writes at once

// The device's name of a fold: FoldSum, FoldMax, FoldMin.
std::string fold_name(const Op& op);

// The head of a kernel with the arrays of `code`: `bounds` limits its launch, `pointer` qualifies each array's pointer.
class CodeText;
std::string kernel_signature(const CodeText& code, const std::string& bounds, const char* pointer);
// The whole source of a kernel that `code` was used for: `body` after `declarations`, computing in `compute`.
Source kernel_source(const CodeText& code, DType compute, const std::string& declarations, const std::string& body,
                     int64_t blocks, const std::string& bounds = "kThreads");

// The values that a kernel reads, then the values that it writes.
std::vector<Value> operands(const LoweredKernel& kernel);

// A number, as R.
std::string literal(double value);

// The name of a register.
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
  // The index of element `rest` of the row of `stride` elements that element `place` of `indices` names.
  std::string gathered(Value value, Value indices, const std::string& place, int64_t stride, const std::string& rest);
  // A call that reads `width` neighbouring elements from `index` on into the array `out` of R; one that writes them.
  std::string load_pack(Value value, const std::string& index, int width, const std::string& out);
  std::string store_pack(Value value, const std::string& index, int width, const std::string& from);
  // One that writes a Pack as it is, in one access.
  std::string store_packed(Value value, const std::string& index, const std::string& pack);
  // The type of `width` neighbouring elements as they lie in memory, and a call that returns those from `index` on.
  std::string pack_type(Value value, int width) const;
  std::string pack(Value value, const std::string& index, int width);
  // The address of an element that is read.
  std::string element(Value value, const std::string& index);
  // Parameter that holds the memory of a value.
  std::string address(Value value);
  // Elements by which an input's first row moves what is read of it; 0 for all that begin where their memory does.
  int64_t row_elements(Value value) const;
  // Neighbouring elements that one access of a thread has of each of these; 1 where an input's first row moves one.
  int neighbours(const std::vector<Value>& values) const;
  const SourceContext& context() const { return context_; }
  // The functions that the text needs beside those of source_head().
  std::string_view declarations() const;
  // A statement that writes `number` there; small outputs go to the ring, too.
  std::string store(Value value, const std::string& index, const std::string& number, const char* indent);
  // compute, record, constant, load and uniform of a single number.
  std::string scalar_value(const Instruction& i, RegisterName input);
  std::string call(const Instruction& i, RegisterName input);
  std::string uniform(const Instruction& i, const std::string& element) const;
  // A call that draws the numbers of elements `element` (a multiple of 4) and following into an array of floats.
  std::string uniform_pack(const Instruction& i, const std::string& element, const std::string& out) const;

 private:
  // The offset of an index into a value that is read. A sequence begins at the record's first row, a part of a
  // concatenation at its place there.
  std::string first_row(Value value) const;
  // Where element `index` of what is written lies in its memory.
  std::string placed(Value value, const std::string& index) const;

  SourceContext& context_;
  DType compute_;
  std::vector<Value> arrays_;
  bool coarse_ = false;  // some call is of neon_math::coarse
};

// x / by, rounded up.
inline int64_t quotient_up(int64_t x, int64_t by) { return x > 0 ? (x + by - 1) / by : -(-x / by); }

// Puts code where a kernel's text has `word` first, which it must have.
void replace_word(std::string& in, const std::string& word, const std::string& by);

}  // namespace neon::cuda
