// The branches of a net write straight into their concatenation, in rows as far apart as it is wide. Fused kernels that
// read a branch's result as well, as relu's derivative does, read it there by the strides of the whole. It is all the
// inputs of a concatenation or none: where somebody else reads one of them, or makes it, they are copied as before.
#include "backends/graph/join.h"

#include <map>
#include <set>

#include "backends/graph/fuse.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

// Bytes that every row begins at a multiple of: what a thread accesses at most, and what libraries ask of an array.
constexpr int64_t kAligned = 16;

// Visits all loads of a fused kernel, one instruction after the other.
template <typename Code, typename Visit>
void each_load(Code& code, Visit&& visit) {
  auto look = [&](auto& body) {
    for (auto& i : body)
      if (i.kind == Instruction::Kind::load) visit(i);
  };
  for (auto& segment : code.segments) look(segment.body);
  look(code.post);
}

// Whether the kernel reads the value element by element, so that strides say where; or all of it together from any
// address, as libraries do.
bool can_read(const LoweredKernel& kernel, Value value, bool together) {
  if (!kernel.fused) return together && kernel.convolution() != ConvolutionKind::none;
  if (kernel.fused->guard == value) return false;
  bool able = true;
  each_load(*kernel.fused,
            [&](const Instruction& i) { able = able && !(i.index && (i.index == value || i.value == value)); });
  return able;
}

class Joiner {
 public:
  Joiner(Lowered& lowered, bool any_convolution)
      : lowered_(lowered), graph_(lowered.graph), any_convolution_(any_convolution) {}

  // Those whose result another one takes come first, and move with it.
  void run() {
    for (const LoweredKernel& kernel : lowered_.kernels)
      if (kernel.is(ops::concat)) join(kernel);
    std::erase_if(lowered_.kernels, [&](const LoweredKernel& kernel) {
      return kernel.is(ops::concat) && parts_.count(kernel.outputs[0]) > 0;
    });
  }

 private:
  void join(const LoweredKernel& concat) {
    const Value whole = concat.outputs[0];
    // Not where it writes a variable, whose old value may be read until then.
    if (!graph_.producer(whole).op->is(ops::concat)) return;
    const int axis = int(concat.attributes.integer("axis"));
    if (!has_aligned_rows(graph_, concat.inputs, axis)) return;
    std::vector<std::pair<Value, Placement>> placed;
    int64_t first = 0;
    for (Value input : concat.inputs) {
      const Placement placement{whole, first, row_of_part(graph_, input, axis), row_of_part(graph_, whole, axis)};
      const Value part = viewed(graph_, input);
      if (std::ranges::count(placed, part, &std::pair<Value, Placement>::first)) return;
      if (!can_be_placed(part, placement, concat)) return;
      placed.emplace_back(part, placement);
      first += placement.row;
    }
    for (const auto& [part, placement] : placed) place(part, placement);
  }

  bool can_write_rows(const LoweredKernel& kernel, Value value, const Placement& placement) const {
    return kernel.fused || is_writer(kernel, value, graph_, any_convolution_, placement.row);
  }

  bool can_be_placed(Value part, const Placement& placement, const LoweredKernel& concat) const {
    // A variable has memory of its own, also where a kernel of the step writes it.
    if (graph_.producer(part).op->traits.leaf == LeafKind::variable || graph_.shape(part).elements() == 0 ||
        !has_rows(part, placement) || !is_read_in_time(part, placement.whole))
      return false;
    for (const auto& [name, value] : graph_.outputs())
      if (viewed(graph_, value) == part) return false;
    for (const LoweredKernel& kernel : lowered_.kernels)
      for (Value input : kernel.inputs)
        if (input != part && viewed(graph_, input) == part && !goes(kernel, concat) &&
            !can_read_view(kernel, input, placement))
          return false;
    if (!readers_can(part, placement, concat)) return false;
    if (const auto joined = parts_.find(part); joined != parts_.end())
      return std::ranges::all_of(joined->second, [&](Value inner) {
        const Placement& own = lowered_.placements[size_t(inner.id)];
        return own.stride == placement.row && readers_can(inner, within(placement, own), concat) &&
               is_read_in_time(inner, placement.whole);
      });
    return std::ranges::any_of(lowered_.kernels, [&](const LoweredKernel& kernel) {
      return std::ranges::count(kernel.outputs, part) > 0 && can_write_rows(kernel, part, placement);
    });
  }

  // Whether some of a value's last axes make one row: its strides are then within a row or of whole rows.
  bool has_rows(Value value, const Placement& placement) const {
    const Shape& shape = graph_.shape(value);
    int64_t row = 1;
    for (int axis = shape.rank(); row < placement.row && axis > 0;) row *= shape[--axis];
    return row == placement.row;
  }
  bool can_read_view(const LoweredKernel& kernel, Value view, const Placement& placement) const {
    return has_rows(view, placement) && kernel.fused && can_read(kernel, view, false);
  }

  // Whether a kernel is the concatenation, or one whose parts are in place.
  bool goes(const LoweredKernel& kernel, const LoweredKernel& concat) const {
    return &kernel == &concat || (kernel.is(ops::concat) && parts_.count(kernel.outputs[0]) > 0);
  }

  // All but the concatenations that copy it, which go.
  bool readers_can(Value part, const Placement& placement, const LoweredKernel& concat) const {
    const bool together = placement.lies_together(graph_.shape(part).elements());
    return std::ranges::all_of(lowered_.kernels, [&](const LoweredKernel& kernel) {
      return goes(kernel, concat) || std::ranges::count(kernel.inputs, part) == 0 || can_read(kernel, part, together);
    });
  }

  // Whether nobody reads `whole` after the update of a variable has written its kept cast `part` anew, as part of it.
  bool is_read_in_time(Value part, Value whole) const {
    if (!outlives_run(graph_, part)) return true;
    for (const auto& [name, value] : graph_.outputs())
      if (viewed(graph_, value) == whole) return false;
    bool written = false;
    for (const LoweredKernel& kernel : lowered_.kernels) {
      written = written || (!kernel.is_once() && std::ranges::count(kernel.outputs, part) > 0);
      if (written && std::ranges::count_if(kernel.inputs, [&](Value v) { return viewed(graph_, v) == whole; }) > 0)
        return false;
    }
    return true;
  }

  // Where a part of a part comes to lie.
  static Placement within(const Placement& outer, const Placement& own) {
    return {outer.whole, outer.first + own.first, own.row, outer.stride};
  }

  void place(Value part, const Placement& placement) {
    for (LoweredKernel& kernel : lowered_.kernels)
      if (kernel.fused) read_rows(kernel, part, placement);
    std::vector<Value>& parts = parts_[placement.whole];
    lowered_.placements[size_t(part.id)] = placement;
    parts.push_back(part);
    const auto joined = parts_.find(part);
    if (joined == parts_.end()) return;
    for (Value inner : joined->second) {
      Placement& own = lowered_.placements[size_t(inner.id)];
      own = within(placement, own);
      parts.push_back(inner);
    }
  }

  void read_rows(LoweredKernel& kernel, Value part, const Placement& placement) const {
    const auto is_part = [&](Value value) { return viewed(graph_, value) == part; };
    if (std::ranges::none_of(kernel.inputs, is_part)) return;
    auto code = std::make_shared<FusedKernel>(*kernel.fused);
    each_load(*code, [&](Instruction& i) {
      if (!i.value || !is_part(i.value)) return;
      i.value = placement.whole;
      i.first = placement.of(i.first);
      // A stride is either one within a row or one of whole rows.
      for (int64_t& stride : i.strides) stride = placement.of(stride) - placement.first;
    });
    kernel.fused = std::move(code);
    std::set<Value> inputs(kernel.inputs.begin(), kernel.inputs.end());
    std::erase_if(inputs, is_part), inputs.insert(placement.whole);
    kernel.inputs.assign(inputs.begin(), inputs.end());
  }

  Lowered& lowered_;
  const Graph& graph_;
  const bool any_convolution_;
  std::map<Value, std::vector<Value>> parts_;  // of a concatenation without a kernel: what is written into it
};

}  // namespace

int64_t row_of_part(const Graph& graph, Value part, int axis) {
  const Shape& shape = graph.shape(part);
  return shape.slice(axis, shape.rank()).elements();
}

bool has_aligned_rows(const Graph& graph, const std::vector<Value>& parts, int axis) {
  return std::ranges::all_of(parts, [&](Value part) {
    return row_of_part(graph, part, axis) * int64_t(size_of(graph.dtype(part))) % kAligned == 0;
  });
}

bool is_writer(const LoweredKernel& kernel, Value result, const Graph& graph, bool any_convolution, int64_t row) {
  const auto at = std::ranges::find(kernel.outputs, result) - kernel.outputs.begin();
  if (at >= kernel.traits().writes_rows || kernel.takes(Attachment::Kind::pooling)) return false;
  if (kernel.is(ops::attention_grad)) return row == graph.shape(result)[2] * graph.shape(result)[3];
  if (kernel.convolution() == ConvolutionKind::none || any_convolution) return true;
  return row == graph.shape(kernel.outputs[0]).back() && is_pointwise(kernel, graph);
}

void join_concatenations(Lowered& lowered, bool any_convolution) { Joiner(lowered, any_convolution).run(); }

}  // namespace neon
