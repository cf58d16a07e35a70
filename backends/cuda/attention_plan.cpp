#include "backends/cuda/attention_plan.h"

#include "backends/cuda/code_text.h"
#include "backends/cuda/recurrent_plan.h"
#include "backends/graph/ops.h"

namespace neon::cuda {

namespace {

constexpr int64_t kMostSize = 128;        // of a head
constexpr int64_t kTileOfLibrary = 64;    // steps
constexpr int64_t kSharedOfBlock = 2048;  // bytes beside the tiles

// Rows and steps as in attention_tensor.cuh.
std::optional<AttentionPlan> tensor_plan(const AttentionCase& c, int arch) {
  constexpr int64_t kRows = kThreads / 32 * 16;
  const int64_t row_bytes = 2 * (quotient_up(c.size, 16) * 16 + 8), most = most_shared(arch) - kSharedOfBlock;
  AttentionPlan out;
  out.tensor = true, out.rows = kRows;
  for (out.step = 64; out.step >= 16; out.step /= 2) {
    out.shared_bytes = (c.gradient ? 2 * kRows + 6 * out.step : kRows + 4 * out.step) * row_bytes;
    if (out.shared_bytes <= most) return out;
  }
  return {};
}

// As in attention_plain.cuh.
std::optional<AttentionPlan> plain_plan(const AttentionCase& c, int arch) {
  AttentionPlan out;
  for (out.rows = 64; out.rows >= 16; out.rows /= 2) {
    const int64_t tile = out.rows * (c.size | 1), weights = out.rows * (out.rows + 1);
    out.shared_bytes = 4 * ((c.gradient ? 4 * tile + 2 * weights : 3 * tile + weights) + 16);
    if (out.shared_bytes <= most_shared(arch) - kSharedOfBlock) return out;
  }
  return {};
}

}  // namespace

bool is_of_library(const AttentionCase& c) {
  const auto fills_tiles = [](int64_t steps) { return steps >= 2 * kTileOfLibrary && steps % kTileOfLibrary == 0; };
  return size_of(c.dtype) == 2 && is_floating(c.dtype) && c.heads == c.key_heads && !c.has_lengths && !c.drops &&
         (!c.causal || c.queries == c.keys) && fills_tiles(c.queries) && fills_tiles(c.keys) && c.size % 8 == 0 &&
         c.size <= kMostSize && c.scale > 0 && c.samples * c.heads > 0;
}

bool is_attention(const Op& op) { return op.is(ops::attention) || op.is(ops::attention_grad); }

AttentionCase attention_case(const Graph& graph, const std::vector<Value>& inputs, const Attributes& attributes,
                             bool gradient) {
  const Shape &q = graph.shape(inputs[0]), &k = graph.shape(inputs[1]);
  return {.dtype = graph.dtype(inputs[0]),
          .samples = q[0],
          .queries = q[1],
          .heads = q[2],
          .keys = k[1],
          .key_heads = k[2],
          .size = q[3],
          .scale = attributes.real("scale"),
          .gradient = gradient,
          .causal = attributes.integer("causal") != 0,
          .drops = attributes.has("keep"),
          .has_lengths = inputs.size() > (gradient ? 6 : 3),
          .dq_row = q[2] * q[3],
          .dk_row = k[2] * k[3],
          .dv_row = k[2] * k[3]};
}

AttentionCase attention_case(const LoweredKernel& kernel, const Lowered& lowered) {
  AttentionCase out = attention_case(lowered.graph, kernel.inputs, kernel.attributes, kernel.is(ops::attention_grad));
  if (!out.gradient) return out;
  int64_t* const rows[] = {&out.dq_row, &out.dk_row, &out.dv_row};
  for (size_t i = 0; i < 3; ++i)
    if (const Placement& placement = lowered.placements[size_t(kernel.outputs[i].id)]) {
      NEON_ASSERT(placement.row == *rows[i]);
      *rows[i] = placement.stride;
    }
  return out;
}

std::optional<AttentionPlan> plan_attention(const AttentionCase& c, int arch) {
  if (c.dtype == DType::f64 || c.size > kMostSize || !(c.scale > 0)) return {};
  if (c.samples * c.queries * c.heads * c.size == 0 || c.keys == 0) return {};
  const bool tensor = size_of(c.dtype) == 2 && arch >= kLeastTensorArch;
  std::optional<AttentionPlan> out = tensor ? tensor_plan(c, arch) : plain_plan(c, arch);
  if (!out) return out;
  out->blocks = quotient_up(c.queries, out->rows) * c.heads * c.samples;
  if (c.gradient) out->blocks += quotient_up(c.keys, out->rows) * c.key_heads * c.samples;
  if (2 * (out->shared_bytes + kSharedOfBlock) <= most_shared(arch) && c.size <= 64) out->blocks_of_processor = 2;
  return out;
}

}  // namespace neon::cuda
