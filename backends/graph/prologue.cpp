#include "backends/graph/prologue.h"

#include <algorithm>

#include "backends/graph/fuse.h"
#include "backends/graph/kernel_moves.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

// One number, or what follows from the place and loads of it.
bool is_of_place(const Instruction& i) {
  using Kind = Instruction::Kind;
  if (i.kind == Kind::reduce) return false;
  return !i.spread && (i.reach == Reach::scalar || i.kind != Kind::uniform);
}

// Whether a kernel computes one value (N,H,W,C) from what lies at each of its places, and does nothing else.
bool makes_by_place(const LoweredKernel& kernel, const Graph& graph) {
  if (!kernel.fused || kernel.is_once() || kernel.outputs.size() != 1) return false;
  const FusedKernel& code = *kernel.fused;
  if (code.segments.size() != 1 || !code.post.empty() || code.guard) return false;
  const Segment& only = code.segments[0];
  const TensorType& made = graph.type(kernel.outputs[0]);
  return only.stores.size() == 1 && only.stores[0].reach == Reach::full && only.totals.empty() &&
         only.domain == made.shape && only.domain.rank() == 4 && code.compute == compute_type(made.dtype) &&
         std::ranges::count(only.reduced, true) == 0 && std::ranges::all_of(only.body, is_of_place);
}

class Prologues {
 public:
  Prologues(Lowered& lowered, bool (*pools_operand)(const Graph&, const Node&))
      : lowered_(lowered), graph_(lowered.graph), kernels_(lowered.kernels), pools_operand_(pools_operand) {}

  void run() {
    for (size_t k = 0; k < kernels_.size(); ++k) {
      if (!may_take(kernels_[k])) continue;
      const size_t m = maker_of(kernels_[k].inputs[0], k);
      if (m == k || !makes_by_place(kernels_[m], graph_) ||
          (kernels_[k].is(ops::pool_max) && reads_inputs(kernels_[m])) || !is_only_read_by(k, kernels_[m].outputs[0]) ||
          is_written_between(lowered_, m, k))
        continue;
      auto& attached = kernels_[k].attachments;
      attached.insert(attached.begin(), {.kind = Attachment::Kind::prologue, .code = kernels_[m].fused});
      kernels_[k].inputs = kernels_[m].inputs;
      kernels_.erase(kernels_.begin() + long(m));
      --k;
    }
  }

 private:
  bool may_take(const LoweredKernel& kernel) const {
    if (kernel.traits().takes_prologue) return true;
    return pools_operand_ && kernel.is(ops::pool_max) && pools_operand_(graph_, graph_.producer(kernel.outputs[1]));
  }

  // Whether it reads rows that are looked up, or that a run names: a thread reads those one by one.
  bool reads_inputs(const LoweredKernel& kernel) const {
    const auto& body = kernel.fused->segments[0].body;
    return std::ranges::any_of(body, [&](const Instruction& i) {
      return i.index || (i.value && graph_.producer(viewed(graph_, i.value)).op->traits.leaf == LeafKind::input);
    });
  }

  // The kernel before `end` that has a value as its output, else `end`.
  size_t maker_of(Value value, size_t end) const {
    for (size_t m = 0; m < end; ++m)
      if (std::ranges::count(kernels_[m].outputs, value)) return m;
    return end;
  }

  bool is_only_read_by(size_t reader, Value value) const {
    if (outlives_run(graph_, value)) return false;
    for (const auto& [name, output] : graph_.outputs())
      if (viewed(graph_, output) == value) return false;
    for (size_t k = 0; k < kernels_.size(); ++k)
      for (Value input : kernels_[k].inputs)
        if (k != reader && viewed(graph_, input) == value) return false;
    return true;
  }

  const Lowered& lowered_;
  const Graph& graph_;
  std::vector<LoweredKernel>& kernels_;
  bool (*const pools_operand_)(const Graph&, const Node&);
};

}  // namespace

void take_prologues(Lowered& lowered, bool (*pools_operand)(const Graph&, const Node&)) {
  Prologues(lowered, pools_operand).run();
}

}  // namespace neon
