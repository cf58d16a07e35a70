// Which cases of attention have a kernel, see attention.cuh, and how it is shared among blocks.
#pragma once
#include <optional>

#include "backends/cuda/source.h"

namespace neon::cuda {

struct AttentionCase {
  DType dtype = DType::f32;
  int64_t samples = 0, queries = 0, heads = 0, keys = 0, key_heads = 0, size = 0;
  double scale = 1;
  bool gradient = false, causal = false, drops = false, has_lengths = false;
  // From a step to the next one, of the gradients: numbers of a step, or more where they are parts of a concatenation.
  int64_t dq_row = 0, dk_row = 0, dv_row = 0;
};
// The case of a node of attention or its gradient, with dense results, and of a kernel.
AttentionCase attention_case(const Graph& graph, const std::vector<Value>& inputs, const Attributes& attributes,
                             bool gradient);
AttentionCase attention_case(const LoweredKernel& kernel, const Lowered& lowered);

struct AttentionPlan {
  bool tensor = false;  // on tensor cores
  int64_t rows = 0;     // of a block
  int64_t step = 0;     // keys, or queries, that a block takes at a time
  int64_t blocks = 0;
  int64_t shared_bytes = 0;
  int64_t blocks_of_processor = 1;
};

// None for heads of more than 128 numbers, in f64, or where nothing is to be done.
std::optional<AttentionPlan> plan_attention(const AttentionCase& c, int arch);

// Whether a library is asked for a case: one that is large enough to fill its tiles. It makes nothing for heads that
// share keys, lengths and dropout here.
bool is_of_library(const AttentionCase& c);

bool is_attention(const Op& op);

}  // namespace neon::cuda
