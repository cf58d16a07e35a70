#include "backends/cuda/convolution.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/convolution_pieces.h"
#include "backends/cuda/convolution_plans.h"
#include "backends/cuda/timing.h"
#include "neon/core/error.h"

namespace neon::cuda {

namespace {

constexpr size_t kSlack = size_t(16) << 20;  // what arrays may take beyond their bytes
// The most that a plan's workspace may take: a share of the GPU's memory, within these bounds in bytes.
constexpr size_t kWorkspaceShare = 8, kLeastWorkspace = size_t(512) << 20, kMostWorkspace = size_t(4) << 30;
// In exact f32 the fastest plans (Winograd's, Fourier's) ask for up to 4 GiB, also where that saves microseconds. There
// a byte is given for so many operations: 1.5 GiB for what takes an H200 a millisecond.
constexpr double kOperationsOfByte = 32;
// And at least room for so many copies of both arrays with a batch; of a batch for which that is too much, a piece is
// taken at a time. Seen with cuDNN 9.19 on an H200: the fast plans work in one copy, and where it finds no room
// the plain algorithm is left, up to 25 times as slow; kernels of 1.9 GiB and more took two to four times as long an
// image as those of half as much. In TF32 and 16 bits, too, a piece is taken where arrays are copied.
constexpr double kCopies = 2.5;

class ConvolutionKernel : public OperandsKernel {
 public:
  ConvolutionKernel(ConvolutionCase of, std::shared_ptr<Device> device)
      : of_(std::move(of)), device_(std::move(device)) {}
  const char* library() const override { return "cudnn"; }
  size_t workspace_bytes() const override { return plan_->workspace_bytes(); }
  std::vector<const void*> plans() const override { return {plan_.get()}; }

  // False when there is no engine for it.
  bool prepare(const LibraryOptions& options) {
    ConvolutionPlans& plans = *options.plans;
    auto [chosen, candidates] = plans.take(of_, options.cold);
    plan_ = std::move(chosen);
    if (plan_ || candidates.empty()) return bool(plan_);
    const bool seen = !of_.relu || keep_honest(candidates);
    const bool settled = candidates.size() == 1 || keep_fastest(candidates, options.reserved);
    plan_ = plans.choose(of_, std::move(candidates.front()), seen && settled);
    return true;
  }

  void launch(const Operands& at, void* workspace) override { execute(*plan_, at, workspace); }

 private:
  // By the state of the library that is the stream's of the calling thread.
  void execute(const Plan& plan, const Operands& at, void* workspace) const {
    of_.execute(cudnn_handle(*device_, 0), plan, at, workspace);
  }
  // An array like the result, where one is added.
  Memory addend(bool is_broken) const {
    if (!of_.has_addend) return {};
    return is_broken ? broken(device_, of_.c) : varied(device_, of_.c);
  }

  // The first that keep NaN, or the first where none does. Returns whether there was room to see it.
  bool keep_honest(std::vector<Plan>& candidates) const {
    const size_t most = of_.most_timed(), workspace_bytes = most_workspace(candidates);
    const size_t bytes = of_.a.bytes() + of_.b.bytes() + of_.c.bytes() + of_.bias.bytes() + workspace_bytes +
                         (of_.has_addend ? of_.c.bytes() : 0);
    if (bytes + kSlack > device_->free_bytes()) {
      keep(candidates, most);
      return false;
    }
    std::vector<Plan> honest;
    const Memory left = broken(device_, of_.a), right = broken(device_, of_.b), offsets = broken(device_, of_.bias),
                 added = addend(true), result(device_, of_.c.bytes(), "timing"),
                 workspace(device_, workspace_bytes, "timing");
    for (Plan& plan : candidates) {
      if (honest.size() == most) break;
      execute(plan, {left.data(), right.data(), offsets.data(), added.data(), result.data()}, workspace.data());
      if (is_broken(result, of_.c.dtype)) honest.push_back(std::move(plan));
    }
    if (!honest.empty()) candidates = std::move(honest);
    keep(candidates, most);
    return true;
  }

  // Keeps the fastest plan whose workspace finds room now and beside the reserved bytes; returns whether all plans do.
  // If no workspace finds room, allocating it reports the error.
  bool keep_fastest(std::vector<Plan>& candidates, size_t reserved) const {
    const size_t later = device_->free_bytes();
    const Memory left = varied(device_, of_.a), right = varied(device_, of_.b),
                 result(device_, of_.c.bytes(), "timing"), offsets = varied(device_, of_.bias), added = addend(false);
    const size_t count = candidates.size(), now = device_->free_bytes();
    const auto fits = [&](const Plan& plan) {
      return plan.workspace_bytes() <= now && plan.workspace_bytes() + reserved <= later;
    };
    if (std::ranges::any_of(candidates, fits)) std::erase_if(candidates, [&](const Plan& plan) { return !fits(plan); });
    const bool all = candidates.size() == count;
    const Memory workspace(device_, most_workspace(candidates), "timing");
    const size_t fastest = fastest_of(*device_, candidates.size(), [&](size_t i) {
      execute(candidates[i], {left.data(), right.data(), offsets.data(), added.data(), result.data()},
              workspace.data());
    });
    std::swap(candidates.front(), candidates[fastest]);
    keep(candidates, 1);
    return all;
  }

  static size_t most_workspace(const std::vector<Plan>& plans) {
    size_t bytes = 0;
    for (const Plan& plan : plans) bytes = std::max(bytes, plan.workspace_bytes());
    return bytes;
  }
  static void keep(std::vector<Plan>& plans, size_t most) {
    while (plans.size() > most) plans.pop_back();
  }

  const ConvolutionCase of_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<const Plan> plan_;
};

// Whether cuDNN is asked.
bool is_taken(const LoweredKernel& kernel, const Graph& graph) {
  const TensorType &a = graph.type(kernel.inputs[0]), &c = graph.type(kernel.outputs[0]);
  if (a.shape.elements() == 0 || c.shape.elements() == 0 || a.dtype == DType::f64) return false;
  // Seen with cuDNN 9.19: with groups and other padding before than after, gradients of filters have wrong values.
  return kernel.attributes.integer("groups") == 1 || !has_uneven_padding(kernel.attributes);
}

size_t most_workspace(const Device& device) {
  return std::clamp(device.bytes() / kWorkspaceShare, kLeastWorkspace, kMostWorkspace);
}

ConvolutionCase case_of(const LoweredKernel& kernel, const Graph& graph, const Device& device,
                        const LibraryOptions& options) {
  return {kernel, graph, options, convolution_workspace(kernel, graph, options.tf32, device)};
}

// Where arrays are copied, of as much as finds room.
std::vector<ConvolutionPiece> pieces_of(const ConvolutionCase& whole, const Device& device,
                                        const LibraryOptions& options) {
  if (options.piece_bytes) return convolution_pieces(whole, options.piece_bytes);
  const double copied = double(most_workspace(device)) / kCopies;
  return convolution_pieces(whole, whole.is_copied() ? size_t(copied) : std::numeric_limits<size_t>::max());
}

}  // namespace

bool has_uneven_padding(const Attributes& attributes) {
  const auto& padding = attributes.integers("padding");
  for (size_t i = 0; i < padding.size(); i += 2)
    if (padding[i] != padding[i + 1]) return true;
  return false;
}

size_t convolution_workspace(const LoweredKernel& kernel, const Graph& graph, bool tf32, const Device& device) {
  const size_t most = most_workspace(device);
  LibraryOptions options;
  options.tf32 = tf32;
  const ConvolutionCase of(kernel, graph, options, most);
  if (!of.is_exact()) return most;
  const auto bytes = double(of.a.bytes() + of.other_batch().bytes());
  const double earned = std::max(of.arithmetic() / kOperationsOfByte, kCopies * bytes);
  return std::max(size_t(std::min(earned, double(most))), kLeastWorkspace);
}

size_t convolution_version() { return cudnn().version(); }

std::shared_ptr<ConvolutionPlans> make_convolution_plans(std::shared_ptr<Device> device) {
  return std::make_shared<ConvolutionPlans>(std::move(device));
}

void plan_convolutions(const std::vector<const LoweredKernel*>& kernels, const Graph& graph, const Device& device,
                       const LibraryOptions& options) {
  std::vector<ConvolutionCase> cases;
  for (const LoweredKernel* kernel : kernels)
    if (is_taken(*kernel, graph))
      for (ConvolutionPiece& piece : pieces_of(case_of(*kernel, graph, device, options), device, options))
        cases.push_back(std::move(piece.of));
  options.plans->make(cases, options.cold);
}

std::unique_ptr<OperandsKernel> make_convolution(const LoweredKernel& kernel, const Graph& graph,
                                                 std::shared_ptr<Device> device, const LibraryOptions& options) {
  if (!is_taken(kernel, graph)) return nullptr;
  const auto make = [&](const ConvolutionCase& of) -> std::unique_ptr<OperandsKernel> {
    auto made = std::make_unique<ConvolutionKernel>(of, device);
    if (!made->prepare(options)) return nullptr;
    return made;
  };
  const ConvolutionCase whole = case_of(kernel, graph, *device, options);
  const std::vector<ConvolutionPiece> pieces = pieces_of(whole, *device, options);
  if (pieces.size() > 1)
    if (auto made = make_pieces(pieces, device, make)) return made;
  return make(whole);
}

}  // namespace neon::cuda
