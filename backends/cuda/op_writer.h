// The common part of the writers of kernels of single ops.
#pragma once
#include <string>
#include <vector>

#include "backends/cuda/code_text.h"
#include "backends/cuda/op_source.h"

namespace neon::cuda {

// Row-major strides, in elements.
std::vector<int64_t> dense_strides(const Shape& shape);
// `index` of an element of `shape` as a place in an array walked by `strides`.
std::string place_of(const std::string& index, const Shape& shape, const std::vector<int64_t>& strides);

class OpWriter {
 public:
  OpWriter(const LoweredKernel& kernel, SourceContext& context);

 protected:
  const Shape& input(size_t i = 0) const { return graph_.shape(kernel_.inputs[i]); }
  const Shape& output() const { return graph_.shape(kernel_.outputs[0]); }
  // `body` for each k below n.
  std::string for_each(int64_t n, const std::string& body);
  std::string put(const std::string& index, const std::string& number) {
    return code_.store(kernel_.outputs[0], index, number, "  ");
  }
  // The source with a body; `before` stands before the kernel.
  Source source(const std::string& body, const std::string& before = "");

  const LoweredKernel& kernel_;
  const Graph& graph_;
  const DType compute_;
  CodeText code_;
  int64_t blocks_ = 1;
};

template <typename Writer>
Source source_by(const LoweredKernel& kernel, SourceContext& context) {
  return Writer(kernel, context).run();
}

}  // namespace neon::cuda
