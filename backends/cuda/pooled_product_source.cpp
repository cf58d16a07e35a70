#include "backends/cuda/pooled_product_source.h"

#include <algorithm>

#include "backends/cuda/code_text.h"

extern const char pooled_product_text[];
extern const unsigned long pooled_product_text_size;

namespace neon::cuda {

namespace {

constexpr int64_t kBlocksOfProcessor = 2;  // as registers allow

}  // namespace

// x (N,H,W,C), w (K,1,1,C), bias (K) -> y (N,H/2,W/2,K), places
Source pooled_product_source(const LoweredKernel& kernel, SourceContext& context) {
  const Graph& graph = context.lowered.graph;
  const Value x = kernel.inputs[0], w = kernel.inputs[1];
  const Shape& shape = graph.shape(x);
  // Of 8 filters, whose numbers a lane has in registers.
  const int64_t maps = graph.shape(w)[0];
  const int64_t tiles = maps % 64 || shape[3] > 32 ? 4 : 8, parts = maps / (8 * tiles);
  CodeText code(context, DType::f32);
  const char *type = device_type(graph.dtype(x)), *bias_type = device_type(graph.dtype(kernel.bias));
  const auto pointer = [&](const char* of, Value value) { return text("(", of, "*)", code.address(value)); };
  const std::string body =
      text("  pooled_product<", type, ", ", bias_type, ", ", shape[1], ", ", shape[2], ", ", shape[3] / 16, ", ", maps,
           ", ", tiles, ", ", kernel.relu ? "true" : "false", ">(", pointer(type, x), ", ", pointer(type, w), ", ",
           pointer(bias_type, kernel.bias), ", ", pointer(type, kernel.outputs[0]), ", ",
           pointer("u8", kernel.outputs[1]), ", ", shape[0], ");\n");
  // A warp keeps its filters, so that a block's warps are of all parts of them, or blocks are a multiple of the parts.
  const int64_t warps = shape[0] * (shape[1] / 2) * ((shape[2] / 2 + 7) / 8) * parts, of_block = kThreads / 32;
  const int64_t blocks = std::min(kBlocksOfProcessor * context.processors, (warps + of_block - 1) / of_block);
  const std::string_view product(pooled_product_text, pooled_product_text_size);
  return kernel_source(code, DType::f32, std::string(product), body, (blocks + parts - 1) / parts * parts,
                       text("kThreads, ", kBlocksOfProcessor));
}

}  // namespace neon::cuda
