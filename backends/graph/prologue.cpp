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
  Prologues(Lowered& lowered, const DeviceKernels& device)
      : lowered_(lowered), graph_(lowered.graph), kernels_(lowered.kernels), device_(device) {}

  void run() {
    for (size_t m = 0; m < kernels_.size(); ++m) {
      if (!makes_by_place(kernels_[m], graph_) || is_read_otherwise(kernels_[m].outputs[0])) continue;
      const std::vector<size_t> readers = readers_of(kernels_[m].outputs[0]);
      const bool alone = readers.size() == 1;
      if (readers.empty() || !std::ranges::all_of(readers, [&](size_t k) { return may_take(k, m, alone); })) continue;
      for (size_t k : readers) take(kernels_[k], kernels_[m]);
      kernels_.erase(kernels_.begin() + long(m));
      --m;
    }
  }

 private:
  // Whether kernel k may make what kernel m does as it reads it. `alone`: nobody else reads that.
  bool may_take(size_t k, size_t m, bool alone) const {
    const LoweredKernel &reader = kernels_[k], &maker = kernels_[m];
    if (!reader.op || reader.prologue() || reader.inputs[0] != maker.outputs[0] ||
        std::ranges::count(reader.inputs, maker.outputs[0]) > 1 || is_written_between(lowered_, m, k))
      return false;
    if (reader.traits().takes_prologue) return alone;
    return device_.computes_image && !reads_inputs(maker) && device_.computes_image(reader, graph_, maker.fused.get());
  }

  // Whether it reads rows that are looked up, or that a run names: a thread reads those one by one.
  bool reads_inputs(const LoweredKernel& kernel) const {
    const auto& body = kernel.fused->segments[0].body;
    return std::ranges::any_of(body, [&](const Instruction& i) {
      return i.index || (i.value && graph_.producer(viewed(graph_, i.value)).op->traits.leaf == LeafKind::input);
    });
  }

  // Whether somebody reads a value beside the kernels that name it.
  bool is_read_otherwise(Value value) const {
    if (outlives_run(graph_, value)) return true;
    for (const auto& [name, output] : graph_.outputs())
      if (viewed(graph_, output) == value) return true;
    for (const LoweredKernel& kernel : kernels_)
      for (Value input : kernel.inputs)
        if (input != value && viewed(graph_, input) == value) return true;
    return false;
  }

  std::vector<size_t> readers_of(Value value) const {
    std::vector<size_t> out;
    for (size_t k = 0; k < kernels_.size(); ++k)
      if (std::ranges::count(kernels_[k].inputs, value)) out.push_back(k);
    return out;
  }

  static void take(LoweredKernel& reader, const LoweredKernel& maker) {
    auto& attached = reader.attachments;
    attached.insert(attached.begin(),
                    {.kind = Attachment::Kind::prologue, .value = maker.outputs[0], .code = maker.fused});
    reader.inputs.erase(reader.inputs.begin());
    reader.inputs.insert(reader.inputs.end(), maker.inputs.begin(), maker.inputs.end());
  }

  const Lowered& lowered_;
  const Graph& graph_;
  std::vector<LoweredKernel>& kernels_;
  const DeviceKernels& device_;
};

}  // namespace

void take_prologues(Lowered& lowered, const DeviceKernels& device) { Prologues(lowered, device).run(); }

}  // namespace neon
