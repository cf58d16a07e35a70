// Attention and its gradient as cuDNN's operation graphs. The library finds engines for graphs of exactly these nodes.
#pragma once
#include "backends/cuda/attention_plan.h"
#include "backends/cuda/cudnn_plan.h"

namespace neon::cuda {

// The arrays of attention, q (N,T,H,D) to y, and of its gradient. The inner sums (N,H,T), of g y, and the sums of dq in
// f32 are memory that the gradient works in.
enum class AttentionArray : int64_t { q = 1, k, v, y, sums, g, dq, dk, dv, inner_sums, sums_of_dq };

// The heuristic's first plan for a case of 16-bit numbers; none where the library has no engine for it.
std::vector<Plan> attention_plans(const AttentionCase& c, cudnnHandle_t handle, const PlanNeeds& needs);

// The numbers that the graphs have from the host, see Plan::execute().
class AttentionNumbers {
 public:
  explicit AttentionNumbers(const AttentionCase& c);
  // Adds them while this lives.
  void add_to(std::vector<int64_t>& ids, std::vector<void*>& addresses);

 private:
  const bool causal_, gradient_;
  float scale_, unseen_, one_ = 1;
};

}  // namespace neon::cuda
