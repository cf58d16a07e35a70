// Source of columns.
#include "backends/cuda/code_text.h"
#include "backends/cuda/op_source.h"
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"

namespace neon::cuda {

namespace {

// A block turns squares of kChannels by kOutputs, one for each place of the window, by way of shared memory:
// neighbouring threads read neighbouring channels and write neighbouring outputs. The blocks of all channels of the
// same outputs follow each other, and places see almost the same pixels, so that memory is read about once.
constexpr int kChannels = 32, kOutputs = 64, kWarps = kThreads / 32;

const char* const kTurn = R"(
  constexpr int kOfThread = kOutputs / kWarps;
  __shared__ R tile[kOutputs][kChannels + 1];  // one more, so that a column lies in different banks
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int c0 = int(blockIdx.x % kChannelBlocks) * kChannels;
  const i64 first = i64(blockIdx.x / kChannelBlocks) * kOutputs;
  int top[kOfThread], left[kOfThread];
  i64 image[kOfThread];
#pragma unroll
  for (int i = 0; i < kOfThread; ++i) {
    const i64 output = first + warp + i * kWarps;
    image[i] = output / (kP * kQ) * kH * kW;
    left[i] = int(output % kQ) * kStepX - kBeforeX;
    top[i] = output < kAll ? int(output / kQ % kP) * kStepY - kBeforeY : -(1 << 30);
  }
  for (int place = 0; place < kR * kS; ++place) {
    const int down = place / kS * kDilationY, across = place % kS * kDilationX;
#pragma unroll
    for (int i = 0; i < kOfThread; ++i) {
      const int y = top[i] + down, x = left[i] + across;
      const bool inside = y >= 0 && y < kH && x >= 0 && x < kW && c0 + lane < kC;
      const i64 from = (image[i] + i64(y) * kW + x) * kC + c0 + lane;
      tile[warp + i * kWarps][lane] = inside ? R(LOAD) : R(0);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kChannels / kWarps; ++i) {
      const int c = warp + i * kWarps;
#pragma unroll
      for (int half = 0; half < kOutputs / 32; ++half) {
        const int output = lane + half * 32;
        const i64 to = (i64(place) * kC + c0 + c) * kAll + first + output;
        const R number = tile[output][c];
        if (c0 + c < kC && first + output < kAll) {
STORE        }
      }
    }
    __syncthreads();
  }
)";

Source columns_source(const LoweredKernel& kernel, SourceContext& context) {
  const Graph& graph = context.lowered.graph;
  const Shape &x = graph.shape(kernel.inputs[0]), &y = graph.shape(kernel.outputs[0]);
  const auto& size = kernel.attributes.integers("sizes");
  const Windows windows = windows_of(kernel.attributes, size);
  const auto outputs = windows.outputs(std::vector<int64_t>{x[1], x[2]});
  const DType compute = graph.dtype(kernel.outputs[0]) == DType::f64 ? DType::f64 : DType::f32;
  const int64_t channel_blocks = (x[3] + kChannels - 1) / kChannels;
  CodeText code(context, compute);
  std::string body = kTurn;
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
