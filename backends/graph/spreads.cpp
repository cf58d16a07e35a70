#include "backends/graph/spreads.h"

#include <algorithm>
#include <set>

#include "backends/graph/folds.h"
#include "backends/graph/fuse.h"
#include "backends/graph/kernel_moves.h"
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"

namespace neon {

namespace {

bool overlaps(const Attributes& pooling) {
  const Windows windows = windows_of(pooling, pooling.integers("window"));
  for (size_t axis = 0; axis < windows.size.size(); ++axis)
    if (windows.size[axis] > windows.strides[axis]) return true;
  return false;
}

class Spreads {
 public:
  Spreads(Lowered& lowered, const DeviceKernels& device)
      : lowered_(lowered), graph_(lowered.graph), kernels_(lowered.kernels), device_(device) {}

  void run() {
    for (size_t m = 0; m < kernels_.size(); ++m) {
      if (!may_be_read_so(kernels_[m])) continue;
      const size_t reader = only_reader(m);
      if (reader == m || !loads_each(kernels_[reader], kernels_[m].outputs[0]) ||
          is_written_between(lowered_, m, reader))
        continue;
      if (!overlaps(kernels_[m].attributes)) take(kernels_[reader], kernels_[m]);
      else if (!walk_twice(m, reader)) continue;
      kernels_.erase(kernels_.begin() + long(m));
      --m;
    }
  }

 private:
  bool may_be_read_so(const LoweredKernel& kernel) const {
    if (!kernel.is(ops::pool_max_gradient) || kernel.outputs.size() != 1) return false;
    for (const Attachment& attached : kernel.attachments)
      if (attached.kind != Attachment::Kind::derivative) return false;
    return lies_alone(kernel) && (!kernel.derivative() || lies_alone(kernel.derivative()->value));
  }
  bool lies_alone(Value value) const { return !lowered_.placements[size_t(value.id)]; }
  bool lies_alone(const LoweredKernel& kernel) const {
    const auto alone = [this](Value value) { return lies_alone(value); };
    return std::ranges::all_of(kernel.inputs, alone) && std::ranges::all_of(kernel.outputs, alone);
  }

  // Two kernels of pooling's gradient in place of the one that reads it; that of kernel m remains.
  bool walk_twice(size_t m, size_t reader) {
    const LoweredKernel pooling = kernels_[m];
    const Value made = pooling.outputs[0];
    LoweredKernel finish = kernels_[reader];
    if (!device_.walks_pooling || !lies_alone(finish) || !folds_first(finish, graph_, graph_.shape(made)) ||
        !goes_on(*finish.fused))
      return false;
    const auto folds = std::make_shared<const FusedKernel>(folds_of(*finish.fused));
    if (folds->segments[0].stores.empty()) return false;
    read_folds(finish, *folds);
    if (!device_.walks_pooling(pooling, graph_, *folds, *finish.fused)) return false;
    kernels_[reader] = walk(pooling, Attachment::Kind::finish, finish.fused, finish.scope);
    kernels_.insert(kernels_.begin() + long(reader), walk(pooling, Attachment::Kind::folds, folds, finish.scope));
    return true;
  }

  static LoweredKernel walk(const LoweredKernel& pooling, Attachment::Kind kind,
                            const std::shared_ptr<const FusedKernel>& code, const std::string& scope) {
    LoweredKernel out = pooling;
    const Value made = pooling.outputs[0];
    for (const Instruction& i : code->segments[0].body)
      if (i.value && i.value != made && !std::ranges::count(out.inputs, i.value)) out.inputs.push_back(i.value);
    out.outputs.clear();
    for (const Store& store : code->segments[0].stores) out.outputs.push_back(store.value);
    out.attachments.push_back({.kind = kind, .value = made, .code = code});
    out.scope = scope;
    return out;
  }

  // The one kernel that reads what kernel m makes, and reads it as it is; else m.
  size_t only_reader(size_t m) const {
    const Value made = kernels_[m].outputs[0];
    if (outlives_run(graph_, made)) return m;
    for (const auto& [name, output] : graph_.outputs())
      if (viewed(graph_, output) == made) return m;
    size_t found = m;
    for (size_t k = 0; k < kernels_.size(); ++k)
      for (Value input : kernels_[k].inputs) {
        if (viewed(graph_, input) != made || k == found) continue;
        if (found != m || input != made) return m;
        found = k;
      }
    return found;
  }

  // Whether a fused kernel reads a value in its loads of single elements alone, each at its own place.
  bool loads_each(const LoweredKernel& kernel, Value value) const {
    if (!kernel.fused || kernel.is_once() || kernel.fused->guard == value || kernel.fused->product) return false;
    const auto names = [&](const Instruction& i) {
      return i.value == value || i.index == value || (i.spread && i.spread->gate == value);
    };
    for (const Segment& segment : kernel.fused->segments)
      for (const Instruction& i : segment.body)
        if (names(i) && !is_own_place(i, segment, graph_.shape(value))) return false;
    return std::ranges::none_of(kernel.fused->post, names);
  }

  static bool is_own_place(const Instruction& load, const Segment& segment, const Shape& shape) {
    if (load.index || load.first || load.reach != Reach::full || segment.domain != shape) return false;
    int64_t stride = 1;
    for (int axis = shape.rank(); axis-- > 0; stride *= shape[axis])
      if (shape[axis] > 1 && load.strides[size_t(axis)] != stride) return false;
    return true;
  }

  static void take(LoweredKernel& reader, const LoweredKernel& pooling) {
    auto spread = std::make_shared<Spread>(Spread{.pooling = pooling.attributes});
    if (const Attachment* derivative = pooling.derivative())
      spread->derivative = derivative->op, spread->gate = derivative->value;
    auto code = std::make_shared<FusedKernel>(*reader.fused);
    const Value made = pooling.outputs[0];
    for (Segment& segment : code->segments)
      for (Instruction& i : segment.body)
        if (i.value == made) i.value = pooling.inputs[0], i.index = pooling.inputs[1], i.spread = spread;
    reader.fused = std::move(code);
    std::set<Value> inputs(reader.inputs.begin(), reader.inputs.end());
    inputs.erase(made);
    inputs.insert(pooling.inputs.begin(), pooling.inputs.end());
    reader.inputs.assign(inputs.begin(), inputs.end());
  }

  Lowered& lowered_;
  const Graph& graph_;
  std::vector<LoweredKernel>& kernels_;
  const DeviceKernels& device_;
};

}  // namespace

void take_spreads(Lowered& lowered, const DeviceKernels& device) { Spreads(lowered, device).run(); }

}  // namespace neon
