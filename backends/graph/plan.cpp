#include "backends/graph/plan.h"

#include <algorithm>
#include <functional>
#include <set>

#include "backends/graph/fuse.h"
#include "backends/graph/ops.h"
#include "backends/graph/taken_bytes.h"
#include "neon/core/error.h"

namespace neon {

namespace {

constexpr size_t kAlignment = 64;

size_t aligned(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

// Buffers of which one lies behind the other; mostly a single one.
struct Row {
  std::vector<Buffer*> buffers;
  size_t bytes = 0;
  int first = 0, last = 0;
  void add(Buffer& buffer, size_t alignment) {
    first = buffers.empty() ? buffer.first : std::min(first, buffer.first), last = std::max(last, buffer.last);
    bytes += aligned(buffer.bytes, alignment);
    buffers.push_back(&buffer);
  }
};

std::vector<Row> rows_of(std::vector<Buffer>& buffers, const std::vector<std::vector<Value>>& together,
                         size_t alignment) {
  std::vector<Row> out;
  std::set<const Buffer*> placed;
  for (const std::vector<Value>& values : together) {
    Row row;
    for (Value value : values) {
      Buffer& buffer = buffers[size_t(value.id)];
      if (buffer.bytes && placed.insert(&buffer).second) row.add(buffer, std::max(alignment, kSharedAlignment));
    }
    if (row.bytes) out.push_back(row);
  }
  for (Buffer& buffer : buffers)
    if (buffer.bytes && !placed.count(&buffer)) out.emplace_back().add(buffer, alignment);
  return out;
}

// Largest first, each at the lowest offset where nothing that lives at the same time stands. Returns the bytes of all.
size_t place(std::vector<Buffer>& buffers, const std::vector<std::vector<Value>>& together, size_t alignment) {
  std::vector<Row> rows = rows_of(buffers, together, alignment);
  std::ranges::stable_sort(rows, std::greater(), &Row::bytes);
  int last = 0;
  for (const Row& row : rows) last = std::max(last, row.last);
  TakenBytes taken(last + 1);
  size_t end = 0;
  for (const Row& row : rows) {
    size_t offset = taken.take(row.first, row.last, row.bytes);
    for (Buffer* buffer : row.buffers) {
      buffer->offset = offset;
      offset += aligned(buffer->bytes, row.buffers.size() > 1 ? std::max(alignment, kSharedAlignment) : alignment);
    }
    end = std::max(end, offset);
  }
  return end;
}

class Planner {
 public:
  Planner(Lowered& lowered, const DeviceKernels& kernels)
      : lowered_(lowered), graph_(lowered.graph), kernels_(kernels) {}

  void run() {
    find_storage();
    find_lifetimes();
    for (int k = 0; k < int(lowered_.kernels.size()); ++k)
      if (lowered_.kernels[size_t(k)].is(ops::exchange)) hand_on_exchanged(k);
    for (int k = 0; k < int(lowered_.kernels.size()); ++k)
      if (lowered_.kernels[size_t(k)].traits().exchanges) hold_exchanged(k);
    hand_on_places();
    for (int k = 0; k < int(lowered_.kernels.size()); ++k) hand_on_written_over(k);
    lowered_.arena_bytes = place(lowered_.buffers, lowered_.together, kAlignment);
    for (int v = 0; v < graph_.value_count(); ++v) {
      if (in_arena(Value{v}) && !is_view(graph_, graph_.producer_index(Value{v})))
        lowered_.value_bytes += graph_.type(Value{v}).bytes();
    }
  }

 private:
  bool in_arena(Value value) const { return graph_.producer(value).op->traits.leaf == LeafKind::none; }
  Value storage(Value value) const { return lowered_.storage[size_t(value.id)]; }

  void find_storage() {
    lowered_.storage.assign(size_t(graph_.value_count()), Value{});
    for (LeafKind leaf : {LeafKind::input, LeafKind::variable})
      for (Value value : graph_.leaves(leaf)) lowered_.storage[size_t(value.id)] = value;
    for (const LoweredKernel& kernel : lowered_.kernels)
      for (Value value : kernel.outputs) lowered_.storage[size_t(value.id)] = value;
    for (size_t v = 0; v < lowered_.placements.size(); ++v)
      if (const Value whole = lowered_.placements[v].whole)
        lowered_.storage[v] = lowered_.storage[size_t(whole.id)] = whole;
    for (int i = 0; i < graph_.node_count(); ++i) {
      const Node& node = graph_.node(i);
      if (is_view(graph_, i)) lowered_.storage[size_t(node.outputs[0].id)] = storage(node.inputs[0]);
    }
    stored_.resize(lowered_.storage.size());
    for (size_t v = 0; v < lowered_.storage.size(); ++v)
      if (const Value place = lowered_.storage[v]) stored_[size_t(place.id)].push_back(int(v));
  }

  void find_lifetimes() {
    const int kernels = int(lowered_.kernels.size());
    lowered_.buffers.assign(size_t(graph_.value_count()), Buffer{});
    auto buffer = [&](Value value) -> Buffer& { return lowered_.buffers[size_t(storage(value).id)]; };
    for (int k = 0; k < kernels; ++k) {
      for (Value value : lowered_.kernels[size_t(k)].outputs) {
        const Value place = storage(value);
        if (!in_arena(place)) continue;
        // An array that is written piece by piece lives from the first piece on.
        if (buffer(place).bytes == 0) buffer(place) = {0, std::max<size_t>(1, graph_.type(place).bytes()), k, k};
        buffer(place).last = k;
      }
      for (Value value : lowered_.kernels[size_t(k)].inputs)
        if (storage(value) && in_arena(storage(value))) buffer(value).last = std::max(buffer(value).last, k);
    }
    for (const auto& [name, value] : graph_.outputs())
      if (storage(value) && in_arena(storage(value))) buffer(value).last = kernels;
    for (const LoweredKernel& kernel : lowered_.kernels)
      for (Value value : kernel.is_once() ? kernel.outputs : std::vector<Value>{})
        buffer(value).first = 0, buffer(value).last = kernels;
  }

  // A sum over ranks takes the place of what this rank adds to it.
  void hand_on_exchanged(int k) {
    const LoweredKernel& kernel = lowered_.kernels[size_t(k)];
    std::vector<Value>& together = lowered_.together.emplace_back();
    for (size_t i = 0; i < kernel.inputs.size(); ++i) {
      const Value from = storage(kernel.inputs[i]), to = kernel.outputs[i];
      if (storage(to) != to || !in_arena(to) || !in_arena(from) || outlives_run(graph_, to)) continue;
      const Buffer& buffer = lowered_.buffers[size_t(from.id)];
      if (buffer.last != k || buffer.bytes != lowered_.buffers[size_t(to.id)].bytes) continue;
      if (std::ranges::count_if(kernel.inputs, [&](Value input) { return storage(input) == from; }) > 1) continue;
      merge(from, to);
      together.push_back(from);
    }
  }

  // Nothing takes the place of an array that may still be read.
  void hold_exchanged(int k) {
    const int last = std::min(join_of(lowered_, k), int(lowered_.kernels.size()) - 1);
    for (Value input : lowered_.kernels[size_t(k)].inputs)
      if (in_arena(storage(input))) {
        Buffer& buffer = lowered_.buffers[size_t(storage(input).id)];
        buffer.last = std::max(buffer.last, last);
      }
  }

  // In place: an output takes over the memory of an input of its type that ends here and is only read element
  // by element at the same index.
  void hand_on_places() {
    for (int k = 0; k < int(lowered_.kernels.size()); ++k) {
      const LoweredKernel& kernel = lowered_.kernels[size_t(k)];
      if (!kernel.fused) continue;
      for (const Segment& segment : kernel.fused->segments) {
        std::set<Value> handed;
        for (const Store& store : segment.stores) {
          if (store.reach != Reach::full || storage(store.value) != store.value || !in_arena(store.value)) continue;
          if (outlives_run(graph_, store.value) || lies_in_row(store.value)) continue;
          if (segment.body[size_t(store.reg)].kind == Instruction::Kind::load) continue;
          for (const Instruction& load : segment.body) {
            if (load.kind != Instruction::Kind::load || load.index || load.reach != Reach::full) continue;
            const Value place = storage(load.value);
            Buffer& from = lowered_.buffers[size_t(place.id)];
            if (!in_arena(place) || from.bytes == 0 || from.last != k || handed.count(place)) continue;
            if (graph_.type(load.value) != graph_.type(store.value) || !only_dense_loads(kernel, place)) continue;
            handed.insert(place);
            merge(place, store.value);
            break;
          }
        }
      }
    }
  }

  // A result of a kernel that the device says may write over one of its operands.
  void hand_on_written_over(int k) {
    const LoweredKernel& kernel = lowered_.kernels[size_t(k)];
    if (!kernels_.writes_over || kernel.fused) return;
    for (size_t result = 0; result < kernel.outputs.size(); ++result) {
      const int operand = kernels_.writes_over(kernel, result);
      if (operand < 0) continue;
      const Value given = kernel.inputs[size_t(operand)], from = storage(given), to = kernel.outputs[result];
      if (storage(to) != to || !in_arena(to) || !in_arena(from) || outlives_run(graph_, to)) continue;
      if (lies_in_row(to) || lies_in_row(from) || graph_.type(given) != graph_.type(to)) continue;
      const Buffer& buffer = lowered_.buffers[size_t(from.id)];
      if (buffer.last != k || buffer.bytes != lowered_.buffers[size_t(to.id)].bytes) continue;
      if (std::ranges::count_if(kernel.inputs, [&](Value input) { return storage(input) == from; }) == 1)
        merge(from, to);
    }
  }

  bool lies_in_row(Value value) const {
    return std::ranges::any_of(lowered_.together, [&](const auto& row) { return std::ranges::count(row, value) > 0; });
  }

  bool only_dense_loads(const LoweredKernel& kernel, Value place) const {
    int loads = 0;
    for (const Segment& segment : kernel.fused->segments) {
      std::vector<int64_t> dense(size_t(segment.domain.rank()), 0);
      int64_t stride = 1;
      for (int axis = segment.domain.rank() - 1; axis >= 0; --axis) {
        if (segment.domain[axis] != 1) dense[size_t(axis)] = stride;
        stride *= segment.domain[axis];
      }
      for (const Instruction& i : segment.body) {
        if (i.index && storage(i.index) == place) return false;
        if (i.spread && i.spread->gate && storage(i.spread->gate) == place) return false;
        if (i.kind != Instruction::Kind::load || storage(i.value) != place) continue;
        if (i.index || i.first || i.strides != dense) return false;
        ++loads;
      }
    }
    for (const Instruction& i : kernel.fused->post)
      if (i.value && storage(i.value) == place) return false;
    return loads == 1;
  }

  void merge(Value place, Value value) {
    Buffer& from = lowered_.buffers[size_t(place.id)];
    Buffer& to = lowered_.buffers[size_t(value.id)];
    from.last = to.last;
    to = {};
    std::vector<int>&moved = stored_[size_t(value.id)], &there = stored_[size_t(place.id)];
    for (int v : moved) lowered_.storage[size_t(v)] = place;
    there.insert(there.end(), moved.begin(), moved.end());
    moved.clear();
  }

  Lowered& lowered_;
  const Graph& graph_;
  const DeviceKernels& kernels_;
  std::vector<std::vector<int>> stored_;  // by value: those that lie in its memory
};

}  // namespace

void plan_memory(Lowered& lowered, const DeviceKernels& kernels) { Planner(lowered, kernels).run(); }

int join_of(const Lowered& lowered, int exchange) {
  const auto place = [&](Value value) { return lowered.storage[size_t(value.id)]; };
  const int kernels = int(lowered.kernels.size());
  std::set<Value> moving;
  const LoweredKernel& kernel = lowered.kernels[size_t(exchange)];
  for (Value value : kernel.outputs) moving.insert(place(value));
  for (Value value : kernel.inputs)  // a variable may be written
    if (lowered.graph.producer(place(value)).op->traits.leaf != LeafKind::none) moving.insert(place(value));
  int out = exchange + 1;
  const auto touches = [&](Value value) { return moving.count(place(value)) > 0; };
  const auto waits = [&](const LoweredKernel& next) {
    return !next.is_once() && (std::ranges::any_of(next.inputs, touches) || std::ranges::any_of(next.outputs, touches));
  };
  while (out < kernels && !waits(lowered.kernels[size_t(out)])) ++out;
  return out;
}

bool lies_behind(const Lowered& lowered, Value first, Value second) {
  const auto place = [&](Value value) { return lowered.storage[size_t(value.id)]; };
  const auto later = [&](Value value) { return is_read_later(lowered, lowered.buffers[size_t(place(value).id)]); };
  for (const std::vector<Value>& row : lowered.together) {
    const auto found = std::ranges::find(row, place(first));
    if (found == row.end()) continue;
    return found + 1 != row.end() && found[1] == place(second) && later(first) == later(second);
  }
  return false;
}

bool is_read_later(const Lowered& lowered, const Buffer& buffer) { return buffer.last == int(lowered.kernels.size()); }

SharedPlaces place_shared(Lowered& lowered, const std::vector<size_t>& workspaces) {
  NEON_ASSERT(workspaces.size() == lowered.kernels.size());
  SharedPlaces out;
  std::vector<Buffer> scratch = lowered.buffers, kept = lowered.buffers;
  for (size_t b = 0; b < lowered.buffers.size(); ++b)
    (is_read_later(lowered, lowered.buffers[b]) ? scratch : kept)[b].bytes = 0;
  for (size_t k = 0; k < workspaces.size(); ++k) scratch.push_back({0, workspaces[k], int(k), int(k)});
  out.kept = place(kept, lowered.together, kSharedAlignment);
  out.scratch = place(scratch, lowered.together, kSharedAlignment);
  for (size_t b = 0; b < lowered.buffers.size(); ++b)
    lowered.buffers[b].offset = (kept[b].bytes ? kept : scratch)[b].offset;
  for (size_t k = 0; k < workspaces.size(); ++k) out.workspaces.push_back(scratch[lowered.buffers.size() + k].offset);
  return out;
}

}  // namespace neon
