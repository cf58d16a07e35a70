#include "backends/cuda/op_writer.h"

#include <algorithm>

namespace neon::cuda {

std::vector<int64_t> dense_strides(const Shape& shape) {
  std::vector<int64_t> out(size_t(shape.rank()), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis) out[size_t(axis)] = out[size_t(axis + 1)] * shape[axis + 1];
  return out;
}

std::string place_of(const std::string& index, const Shape& shape, const std::vector<int64_t>& strides) {
  std::string out = "0";
  int64_t inner = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] > 1 && strides[size_t(axis)] != 0)
      out += text(" + ", index, " / ", inner, " % ", shape[axis], " * ", strides[size_t(axis)], "ll");
    inner *= std::max<int64_t>(shape[axis], 1);
  }
  return out;
}

OpWriter::OpWriter(const LoweredKernel& kernel, SourceContext& context)
    : kernel_(kernel),
      graph_(context.lowered.graph),
      compute_(arithmetic_of(kernel, graph_)),
      code_(context, compute_) {}

std::string OpWriter::for_each(int64_t n, const std::string& body) {
  blocks_ = (n + kThreads - 1) / kThreads;
  return text("  const i64 k = i64(blockIdx.x) * kThreads + threadIdx.x;\n  if (k >= ", n, ") return;\n", body);
}

Source OpWriter::source(const std::string& body, const std::string& before) {
  return kernel_source(code_, compute_, before, body, blocks_);
}

}  // namespace neon::cuda
