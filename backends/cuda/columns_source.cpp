// Source of columns.
#include "backends/cuda/code_text.h"
#include "backends/cuda/op_source.h"
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"

extern const char columns_text[];
extern const unsigned long columns_text_size;

namespace neon::cuda {

namespace {

// The square that a block turns (columns.cuh).
constexpr int kChannels = 32, kOutputs = 64, kWarps = kThreads / 32;

Source columns_source(const LoweredKernel& kernel, SourceContext& context) {
  const Graph& graph = context.lowered.graph;
  const Shape &x = graph.shape(kernel.inputs[0]), &y = graph.shape(kernel.outputs[0]);
  const auto& size = kernel.attributes.integers("sizes");
  const Windows windows = windows_of(kernel.attributes, size);
  const auto outputs = windows.outputs(std::vector<int64_t>{x[1], x[2]});
  const DType compute = graph.dtype(kernel.outputs[0]) == DType::f64 ? DType::f64 : DType::f32;
  const int64_t channel_blocks = (x[3] + kChannels - 1) / kChannels;
  CodeText code(context, compute);
  std::string body(columns_text, columns_text_size);
  replace_word(body, "LOAD", code.load(kernel.inputs[0], "from"));
  replace_word(body, "STORE", code.store(kernel.outputs[0], "to", "number", "          "));
  std::string numbers;
  const auto number = [&](const char* name, int64_t value) {
    numbers += text("  constexpr i64 ", name, " = ", value, ";\n");
  };
  number("kChannels", kChannels), number("kOutputs", kOutputs), number("kWarps", kWarps);
  number("kChannelBlocks", channel_blocks), number("kAll", y[1]);
  number("kH", x[1]), number("kW", x[2]), number("kC", x[3]), number("kP", outputs[0]), number("kQ", outputs[1]);
  number("kR", size[0]), number("kS", size[1]);
  number("kStepY", windows.strides[0]), number("kStepX", windows.strides[1]);
  number("kBeforeY", windows.before[0]), number("kBeforeX", windows.before[1]);
  number("kDilationY", windows.dilation[0]), number("kDilationX", windows.dilation[1]);
  const int64_t blocks = channel_blocks * ((y[1] + kOutputs - 1) / kOutputs);
  return kernel_source(code, compute, "", y.elements() ? numbers + body : "", std::max<int64_t>(blocks, 1));
}

const SourceRegistration columns(ops::columns, columns_source);

}  // namespace

}  // namespace neon::cuda
