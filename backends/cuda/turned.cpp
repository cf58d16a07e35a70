#include "backends/cuda/turned.h"

#include "backends/cuda/source.h"
#include "backends/graph/op.h"
#include "backends/graph/windows.h"

extern const char turn_text[];
extern const unsigned long turn_text_size;

namespace neon::cuda {

namespace {

constexpr size_t kAlignment = 256;  // of memory that the driver gives

std::optional<Windows> turned_windows(const LoweredKernel& kernel, const Graph& graph) {
  const Shape& w = graph.shape(kernel.inputs[1]);
  return windows_of(kernel.attributes, {w.begin() + 1, w.end() - 1}).turned();
}

}  // namespace

bool is_turnable(const LoweredKernel& kernel, const Graph& graph) {
  if (kernel.convolution() != ConvolutionKind::by_input || kernel.attributes.integer("groups") != 1) return false;
  const TensorType &y = graph.type(kernel.inputs[0]), &w = graph.type(kernel.inputs[1]);
  if (y.dtype != DType::f32 || y.shape.elements() == 0 || w.shape.elements() == 0) return false;
  return !is_pointwise(kernel, graph) && turned_windows(kernel, graph);
}

LoweredKernel turned_forward(const LoweredKernel& kernel, const Graph& graph, Graph& to) {
  const TensorType &y = graph.type(kernel.inputs[0]), &w = graph.type(kernel.inputs[1]);
  const int last = w.shape.rank() - 1;
  const Value left = to.input("maps", y.dtype, y.shape),
              right = to.input("turned", w.dtype, w.shape.with(0, w.shape[last]).with(last, w.shape[0]));
  const Value x = convolution(to, left, right, turned_windows(kernel, graph).value(), 1);
  NEON_ASSERT(to.type(x) == graph.type(kernel.outputs[0]));
  return {.op = to.producer(x).op, .inputs = {left, right}, .outputs = {x}, .attributes = to.producer(x).attributes};
}

size_t turned_bytes(const TensorType& w) { return (w.bytes() + kAlignment - 1) / kAlignment * kAlignment; }

std::string turning_text() {
  return text("constexpr int kThreads = ", kThreads, ", kSquare = ", kSquare, ";\n",
              std::string_view(turn_text, turn_text_size));
}

int64_t turning_blocks(const Shape& w) {
  const auto squares = [](int64_t length) { return (length + kSquare - 1) / kSquare; };
  return squares(w[0]) * (w.elements() / w[0] / w.back()) * squares(w.back());
}

}  // namespace neon::cuda
