#include "backends/cuda/attention_kernel.h"

#include <map>
#include <mutex>

#include "backends/cuda/attention_graph.h"
#include "backends/graph/ops.h"

namespace neon::cuda {

namespace {

constexpr size_t kMostOfPlan = size_t(64) << 20;  // bytes that the plan itself works in
constexpr size_t kClearsSums = 90600;             // the first version that clears the sums of dq before it adds to them

std::string key_of(const AttentionCase& c) {
  return text(c.dtype, " ", c.samples, " ", c.queries, " ", c.heads, " ", c.keys, " ", c.size, " ", c.scale,
              c.causal ? " causal" : "",
              c.gradient ? text(" gradient in ", c.dq_row, " ", c.dk_row, " ", c.dv_row) : "");
}

// Bytes of the gradient's sums, which lie at the end of the workspace.
size_t inner_bytes(const AttentionCase& c) {
  return c.gradient ? size_t(c.samples * c.heads * c.queries) * sizeof(float) : 0;
}
size_t query_bytes(const AttentionCase& c) { return inner_bytes(c) * size_t(c.size); }

// Equal kernels of any program share a plan. Null without an engine.
std::shared_ptr<const Plan> plan_of(const AttentionCase& c, const Device& device) {
  static std::mutex mutex;
  static std::map<std::pair<CUstream, std::string>, std::weak_ptr<const Plan>> used;
  const std::lock_guard lock(mutex);
  std::erase_if(used, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<const Plan>& entry = used[{device.stream(), key_of(c)}];
  if (auto plan = entry.lock()) return plan;
  PlanNeeds needs;
  needs.most_workspace = kMostOfPlan;
  std::vector<Plan> plans = attention_plans(c, cudnn_handle(device, 0), needs);
  if (plans.empty()) return nullptr;
  const auto made = std::make_shared<const Plan>(std::move(plans[0]));
  entry = made;
  return made;
}

class AttentionKernel : public LibraryKernel {
 public:
  AttentionKernel(const AttentionCase& c, std::shared_ptr<const Plan> plan, std::shared_ptr<Device> device)
      : case_(c), plan_(std::move(plan)), device_(std::move(device)), numbers_(c) {}
  const char* library() const override { return "cudnn"; }
  size_t workspace_bytes() const override { return own_bytes() + inner_bytes(case_) + query_bytes(case_); }
  std::vector<const void*> plans() const override { return {plan_.get()}; }

  void run(std::span<void* const> arrays, void* workspace) override {
    using enum AttentionArray;
    static constexpr AttentionArray kForward[] = {q, k, v, y, sums};
    static constexpr AttentionArray kGradient[] = {q, k, v, y, sums, g, dq, dk, dv};
    const std::span<const AttentionArray> names =
        case_.gradient ? std::span<const AttentionArray>(kGradient) : std::span<const AttentionArray>(kForward);
    NEON_ASSERT(arrays.size() == names.size());
    std::vector<int64_t> ids;
    std::vector<void*> addresses(arrays.begin(), arrays.end());
    for (AttentionArray name : names) ids.push_back(int64_t(name));
    if (case_.gradient) {
      std::byte* const at = static_cast<std::byte*>(workspace) + own_bytes();
      ids.insert(ids.end(), {int64_t(inner_sums), int64_t(sums_of_dq)});
      addresses.insert(addresses.end(), {at + query_bytes(case_), at});
    }
    numbers_.add_to(ids, addresses);
    plan_->execute(cudnn_handle(*device_, 0), ids, addresses, workspace);
  }

 private:
  // The plan's, up to where the next array may begin.
  size_t own_bytes() const { return (plan_->workspace_bytes() + 255) / 256 * 256; }

  const AttentionCase case_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<Device> device_;
  AttentionNumbers numbers_;
};

}  // namespace

size_t attention_workspace(const LoweredKernel& kernel, const Lowered& lowered) {
  const AttentionCase c = attention_case(kernel, lowered);
  return kMostOfPlan + inner_bytes(c) + query_bytes(c);
}

std::unique_ptr<LibraryKernel> make_attention(const LoweredKernel& kernel, const Lowered& lowered,
                                              std::shared_ptr<Device> device, const LibraryOptions& options) {
  const AttentionCase c = attention_case(kernel, lowered);
  if (!options.timed || device->arch() < kLeastTensorArch) return nullptr;
  try {
    if (c.gradient && cudnn().version() < kClearsSums) return nullptr;
    auto plan = plan_of(c, *device);
    return plan ? std::make_unique<AttentionKernel>(c, std::move(plan), std::move(device)) : nullptr;
  } catch (const KernelFault&) {  // of a kernel before it
    throw;
  } catch (const Error& problem) {
    if (problem.kind() != ErrorKind::device) throw;
    return nullptr;  // no such library, or one that does not work here: nothing has run yet, and our own kernels do it
  }
}

}  // namespace neon::cuda
