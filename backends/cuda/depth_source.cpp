#include "backends/cuda/depth_source.h"

#include "backends/cuda/code_text.h"
#include "backends/graph/windows.h"

namespace neon::cuda {

namespace {

// A thread reads the window of one output, whose places are then known when it is compiled; neighbouring threads read
// neighbouring windows. By way of shared memory neighbouring threads write neighbouring channels, as many as an access
// goes wide.
const char* const kPatches = R"(
  __shared__ R tile[kThreads][kTogether + 1];  // one more, so that outputs lie in different banks
  const i64 first = i64(blockIdx.x) * kThreads, output = first + threadIdx.x;
  const u32 row = u32(output / kQ);
  const int top = int(row % kP) * kStepY - kBeforeY, left = int(output - i64(row) * kQ) * kStepX - kBeforeX;
  const i64 corner = ((i64(row / kP) * kH + top) * kW + left) * kC;
  const bool within = output < kAll && top >= 0 && top + kTall <= kH && left >= 0 && left + kWide <= kW;
#pragma unroll
  for (int from = 0; from < kChannels; from += kTogether) {
#pragma unroll
    for (int e = 0; e < kTogether; ++e) {
      const int place = (from + e) / kC, down = place / kS * kDilationY, across = place % kS * kDilationX;
      const bool there = within || (output < kAll && u32(top + down) < u32(kH) && u32(left + across) < u32(kW));
      tile[threadIdx.x][e] = there && from + e < kSeen ? LOAD : R(0);
    }
    __syncthreads();
    constexpr int kPacks = kTogether / kWidth;
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const int pack = i * kThreads + int(threadIdx.x), of = pack / kPacks, c = pack % kPacks * kWidth;
      if (first + of < kAll && from + c < kChannels) {
        R out[kWidth];
#pragma unroll
        for (int e = 0; e < kWidth; ++e) out[e] = tile[of][c + e];
        STORE;
      }
    }
    __syncthreads();
  }
)";
constexpr int64_t kTileBytes = 132;  // of a thread's row, so that a block's have room

// As many neighbouring channels as an access takes.
int64_t width_of(const TensorType& y) {
  int64_t width = 16 / int64_t(size_of(y.dtype));
  while (y.shape.back() % width) width /= 2;
  return width;
}

Source patches(const LoweredKernel& kernel, const Graph& graph, CodeText& code, DType compute) {
  const Shape &x = graph.shape(kernel.inputs[0]), &y = graph.shape(kernel.outputs[0]);
  const Windows windows = windows_of(kernel.attributes, kernel.attributes.integers("sizes"));
  const int64_t width = width_of(graph.type(kernel.outputs[0])), most = kTileBytes / int64_t(size_of(compute)) - 1;
  const int64_t together = std::min((y[3] + width - 1) / width, most / width) * width, all = y[0] * y[1] * y[2];
  std::string numbers;
  const auto number = [&](const char* name, int64_t value) {
    numbers += text("  constexpr int ", name, " = ", value, ";\n");
  };
  numbers += text("  constexpr i64 kAll = ", all, ";\n");
  number("kWidth", width), number("kTogether", together), number("kChannels", y[3]);
  number("kH", x[1]), number("kW", x[2]), number("kC", std::max<int64_t>(x[3], 1)), number("kP", y[1]);
  number("kQ", y[2]), number("kS", windows.size[1]), number("kSeen", windows.size[0] * windows.size[1] * x[3]);
  number("kTall", windows.extent(0)), number("kWide", windows.extent(1));
  number("kStepY", windows.strides[0]), number("kStepX", windows.strides[1]);
  number("kBeforeY", windows.before[0]), number("kBeforeX", windows.before[1]);
  number("kDilationY", windows.dilation[0]), number("kDilationX", windows.dilation[1]);
  std::string body = kPatches;
  replace_word(body, "LOAD", code.load(kernel.inputs[0], "corner + (down * kW + across) * kC + (from + e) % kC"));
  replace_word(body, "STORE",
               code.store_pack(kernel.outputs[0], text("(first + of) * ", y[3], " + from + c"), int(width), "out"));
  return kernel_source(code, compute, "", numbers + body, (all + kThreads - 1) / kThreads);
}

// A thread takes an element.
Source to_space(const LoweredKernel& kernel, const Graph& graph, CodeText& code, DType compute) {
  const Shape &y = graph.shape(kernel.inputs[0]), &x = graph.shape(kernel.outputs[0]);
  const auto& blocks = kernel.attributes.integers("blocks");
  const auto coordinate = [](const char* name, int64_t size) {
    return text("  const int ", name, " = int(rest % ", size, "); rest /= ", size, ";\n");
  };
  const std::string place =
      text("((i64(rest) * ", y[1], " + y / ", blocks[0], ") * ", y[2], " + x / ", blocks[1], ") * ", y[3], " + (y % ",
           blocks[0], " * ", blocks[1], " + x % ", blocks[1], ") * ", x[3], " + c");
  const std::string body =
      text("  const i64 k = i64(blockIdx.x) * kThreads + threadIdx.x;\n  if (k >= ", x.elements(),
           ") return;\n  u32 rest = u32(k);\n", coordinate("c", x[3]), coordinate("x", x[2]), coordinate("y", x[1])) +
      code.store(kernel.outputs[0], "k", code.load(kernel.inputs[0], place), "  ");
  return kernel_source(code, compute, "", body, (x.elements() + kThreads - 1) / kThreads);
}

}  // namespace

bool is_depth_op(const std::string& op) { return op == "patches" || op == "depth_to_space"; }

Source depth_source(const LoweredKernel& kernel, SourceContext& context) {
  const Graph& graph = context.lowered.graph;
  const DType compute = graph.dtype(kernel.outputs[0]) == DType::f64 ? DType::f64 : DType::f32;
  CodeText code(context, compute);
  return (kernel.op == "patches" ? patches : to_space)(kernel, graph, code, compute);
}

}  // namespace neon::cuda
