#include "backends/cuda/pooled_product_source.h"

#include <algorithm>

#include "backends/cuda/code_text.h"

extern const char tensor_tile_text[], pooled_product_text[], pooled_gradient_text[];
extern const unsigned long tensor_tile_text_size, pooled_product_text_size, pooled_gradient_text_size;

namespace neon::cuda {

namespace {

constexpr int64_t kPooledBlocks = 2;  // that a processor runs at the same time: as many as registers allow
constexpr int64_t kWarpsOfBlock = kThreads / 32;
constexpr int64_t kBlocksOfGroup = 16;  // blocks whose sums one of them adds up

// A pointer to a value's elements, which are of `type`.
std::string pointer(CodeText& code, Value value) {
  return text("(", device_type(code.type(value).dtype), "*)", code.address(value));
}

// The type of an index that counts to `all`. Its steps are the things that all blocks' warps take at once, at most 4
// each.
const char* index_type(int64_t all, int64_t blocks) {
  return all + 4 * kWarpsOfBlock * blocks < (int64_t(1) << 31) ? "u32" : "i64";
}

std::string pooled_text() {
  return text(std::string_view(tensor_tile_text, tensor_tile_text_size),
              std::string_view(pooled_product_text, pooled_product_text_size));
}

std::string bounds() { return text("kThreads, ", kPooledBlocks); }

}  // namespace

// x (N,H,W,C), w (K,1,1,C), bias (K) -> y (N,H/2,W/2,K), places
Source pooled_product_source(const LoweredKernel& kernel, SourceContext& context) {
  const Graph& graph = context.lowered.graph;
  const Value x = kernel.inputs[0], w = kernel.inputs[1];
  const Shape& shape = graph.shape(x);
  const int64_t maps = graph.shape(w)[0];
  const int64_t bytes = int64_t(size_of(graph.dtype(x))), steps = shape[3] * bytes / 32;
  // Times 8 filters.
  const int64_t of_warp = bytes == 2 && steps <= 2 && maps % 64 == 0 ? 8 : 4, parts = maps / (8 * of_warp);
  const int64_t tiles = shape[0] * (shape[1] / 2) * quotient_up(shape[2] / 2, 8);
  const int64_t most = std::min(kPooledBlocks * context.processors, quotient_up(tiles * parts, kWarpsOfBlock));
  // A warp keeps its part of the filters: the warps of all blocks are a multiple of the parts.
  const int64_t blocks = quotient_up(most, parts) * parts;
  CodeText code(context, DType::f32);
  const std::string body =
      text("  pooled_product<", device_type(graph.dtype(x)), ", ", device_type(graph.dtype(kernel.bias())), ", ",
           index_type(tiles, blocks), ", ", shape[1], ", ", shape[2], ", ", steps, ", ", maps, ", ", of_warp, ", ",
           kernel.relu() ? "true" : "false", ">(", pointer(code, x), ", ", pointer(code, w), ", ",
           pointer(code, kernel.bias()), ", ", pointer(code, kernel.outputs[0]), ", ", pointer(code, kernel.outputs[1]),
           ", ", shape[0], ");\n");
  return kernel_source(code, DType::f32, pooled_text(), body, blocks, bounds());
}

// given, places, gate (N,H/2,W/2,K), x (N,H,W,C) -> dw (K,1,1,C), db (K)
Source pooled_gradient_source(const LoweredKernel& kernel, SourceContext& context) {
  const Graph& graph = context.lowered.graph;
  const Value x = kernel.inputs.back(), dw = kernel.outputs[0], db = kernel.outputs[1];
  const Shape &shape = graph.shape(x), &given = graph.shape(kernel.inputs[0]);
  const int64_t channels = shape[3], maps = given[3];
  const int64_t rows = maps % 64 || channels > 32 ? 2 : 4, parts = maps / (16 * rows);  // rows of 16 filters
  const int64_t windows = given[0] * given[1] * given[2], pixels = shape[0] * shape[1] * shape[2];
  const int64_t members = std::clamp<int64_t>(quotient_up(windows, 4 * kWarpsOfBlock), 1,
                                              std::max<int64_t>(kPooledBlocks * context.processors / parts, 1));
  const int64_t groups = quotient_up(members, kBlocksOfGroup);
  CodeText code(context, DType::f32);
  Instruction derivative;
  derivative.op = kernel.derivative()->op;
  derivative.inputs = {0, 1};
  const std::string body =
      text("  pooled_gradient<", device_type(graph.dtype(x)), ", ", device_type(graph.dtype(db)), ", ",
           index_type(pixels, members), ", ", shape[1], ", ", shape[2], ", ", channels, ", ", maps, ", ", rows, ", ",
           kBlocksOfGroup, ">(", pointer(code, x), ", ", pointer(code, kernel.inputs[0]), ", ",
           pointer(code, kernel.inputs[1]), ", ", pointer(code, kernel.derivative()->value), ", ", pointer(code, dw),
           ", ", pointer(code, db), ", ", shape[0], ", partials, ticket, [](R z, R gate) -> R { return ",
           code.call(derivative, [](int i) { return std::string(i ? "gate" : "z"); }), "; });\n");
  const std::string_view gradient(pooled_gradient_text, pooled_gradient_text_size);
  Source out = kernel_source(code, DType::f32, text(pooled_text(), gradient), body, parts * members, bounds());
  out.partial_bytes = size_t((members + groups) * parts * 16 * rows * (channels + 1)) * sizeof(float);
  out.tickets = int(parts * (groups + 1));
  return out;
}

}  // namespace neon::cuda
