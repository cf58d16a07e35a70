#include "backends/cuda/depth_source.h"

#include "backends/cuda/code_text.h"
#include "backends/graph/windows.h"

namespace neon::cuda {

namespace {

// Outputs for each of which a thread makes the same channels: what these are is worked out once.
constexpr int64_t kOutputsOfThread = 4;

// Threads of a block share its outputs out, kTogether at a time, each making kWidth neighbouring channels, as wide as
// an access goes. Most windows lie within the image, whose pixels are read without asking for each.
const char* const kPatches = R"(
  const int pack = int(blockIdx.x) % kPackBlocks * kPacks + int(threadIdx.x) % kPacks, c = pack * kWidth;
  const int slot = int(threadIdx.x) / kPacks;
  if (slot >= kTogether || pack >= kAllPacks) return;
  int down[kWidth], across[kWidth], away[kWidth];
#pragma unroll
  for (int e = 0; e < kWidth; ++e) {
    const int place = (c + e) / kC;
    down[e] = place / kS * kDilationY;
    across[e] = place % kS * kDilationX;
    away[e] = (down[e] * kW + across[e]) * kC + (c + e) % kC;
  }
#pragma unroll
  for (int i = 0; i < kOutputs; ++i) {
    const i64 output = (i64(blockIdx.x / kPackBlocks) * kOutputs + i) * kTogether + slot;
    if (output >= kAll) return;
    const u32 row = u32(output / kQ);
    const int top = int(row % kP) * kStepY - kBeforeY, left = int(output - i64(row) * kQ) * kStepX - kBeforeX;
    const i64 first = ((i64(row / kP) * kH + top) * kW + left) * kC;
    const bool within = top >= 0 && top + kTall <= kH && left >= 0 && left + kWide <= kW;
    R out[kWidth];
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      const bool there = within || (u32(top + down[e]) < u32(kH) && u32(left + across[e]) < u32(kW));
      out[e] = there && c + e < kSeen ? LOAD : R(0);
    }
    STORE;
  }
)";

// As many neighbouring channels as an access takes.
int64_t width_of(const TensorType& y) {
  int64_t width = 16 / int64_t(size_of(y.dtype));
  while (y.shape.back() % width) width /= 2;
  return width;
}

Source patches(const LoweredKernel& kernel, const Graph& graph, CodeText& code, DType compute) {
  const Shape &x = graph.shape(kernel.inputs[0]), &y = graph.shape(kernel.outputs[0]);
  const Windows windows = windows_of(kernel.attributes, kernel.attributes.integers("sizes"));
  const int64_t width = width_of(graph.type(kernel.outputs[0])), packs = std::min<int64_t>(y[3] / width, kThreads);
  const int64_t together = kThreads / packs, pack_blocks = (y[3] / width + packs - 1) / packs;
  const int64_t all = y[0] * y[1] * y[2], of_block = together * kOutputsOfThread;
  std::string numbers;
  const auto number = [&](const char* name, int64_t value) {
    numbers += text("  constexpr int ", name, " = ", value, ";\n");
  };
  numbers += text("  constexpr i64 kAll = ", all, ";\n");
  number("kWidth", width), number("kPacks", packs), number("kAllPacks", y[3] / width);
  number("kPackBlocks", pack_blocks), number("kTogether", together), number("kOutputs", kOutputsOfThread);
  number("kH", x[1]), number("kW", x[2]), number("kC", std::max<int64_t>(x[3], 1)), number("kP", y[1]);
  number("kQ", y[2]), number("kS", windows.size[1]), number("kSeen", windows.size[0] * windows.size[1] * x[3]);
  number("kTall", windows.extent(0)), number("kWide", windows.extent(1));
  number("kStepY", windows.strides[0]), number("kStepX", windows.strides[1]);
  number("kBeforeY", windows.before[0]), number("kBeforeX", windows.before[1]);
  number("kDilationY", windows.dilation[0]), number("kDilationX", windows.dilation[1]);
  std::string body = kPatches;
  replace_word(body, "LOAD", code.load(kernel.inputs[0], "first + away[e]"));
  replace_word(body, "STORE", code.store_pack(kernel.outputs[0], text("output * ", y[3], " + c"), int(width), "out"));
  return kernel_source(code, compute, "", numbers + body, (all + of_block - 1) / of_block * pack_blocks);
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
