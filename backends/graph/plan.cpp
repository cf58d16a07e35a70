#include "backends/graph/plan.h"

#include <algorithm>
#include <set>

#include "backends/graph/fuse.h"

namespace neon {

namespace {

constexpr size_t kAlignment = 64, kWorkspaceAlignment = 256;

size_t aligned(size_t bytes, size_t to = kAlignment) { return (bytes + to - 1) / to * to; }

class Planner {
 public:
  explicit Planner(Lowered& lowered) : lowered_(lowered), graph_(lowered.graph) {}

  void run() {
    find_storage();
    find_lifetimes();
    hand_on_places();
    place();
    for (int v = 0; v < graph_.value_count(); ++v) {
      const std::string& op = graph_.producer(Value{v}).op->name;
      if (op != "input" && op != "variable" && op != "scalar" && op != "constant" &&
          !is_view(graph_, graph_.producer_index(Value{v})))
        lowered_.value_bytes += graph_.type(Value{v}).bytes();
    }
  }

 private:
  bool in_arena(Value value) const {
    const std::string& op = graph_.producer(value).op->name;
    return op != "input" && op != "variable" && op != "scalar" && op != "constant";
  }
  Value storage(Value value) const { return lowered_.storage[size_t(value.id)]; }

  void find_storage() {
    lowered_.storage.assign(size_t(graph_.value_count()), Value{});
    for (const char* leaf : {"input", "variable"})
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
  }

  void find_lifetimes() {
    const int kernels = int(lowered_.kernels.size());
    lowered_.buffers.assign(size_t(graph_.value_count()), Buffer{});
    auto buffer = [&](Value value) -> Buffer& { return lowered_.buffers[size_t(storage(value).id)]; };
    for (int k = 0; k < kernels; ++k) {
      for (Value value : lowered_.kernels[size_t(k)].outputs) {
        const Value place = storage(value);
        if (!in_arena(place)) continue;
        // What is written piece by piece lives from the first piece on.
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
          if (outlives_run(graph_, store.value)) continue;
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
    for (Value& s : lowered_.storage)
      if (s == value) s = place;
  }

  // Largest first, each at the lowest offset where nothing that lives at the same time stands.
  void place() {
    std::vector<Buffer*> order;
    for (Buffer& buffer : lowered_.buffers)
      if (buffer.bytes) order.push_back(&buffer);
    std::ranges::stable_sort(order, [](const Buffer* a, const Buffer* b) { return a->bytes > b->bytes; });
    std::vector<Buffer*> placed;
    for (Buffer* buffer : order) {
      size_t offset = 0;
      for (const Buffer* other : placed) {  // by offset
        const bool meet = buffer->first <= other->last && other->first <= buffer->last;
        if (!meet) continue;
        if (offset + aligned(buffer->bytes) <= other->offset) break;
        offset = std::max(offset, other->offset + aligned(other->bytes));
      }
      buffer->offset = offset;
      placed.insert(std::ranges::upper_bound(placed, buffer->offset, {}, [](const Buffer* b) { return b->offset; }),
                    buffer);
      lowered_.arena_bytes = std::max(lowered_.arena_bytes, offset + aligned(buffer->bytes));
    }
  }

  Lowered& lowered_;
  const Graph& graph_;
};

}  // namespace

void plan_memory(Lowered& lowered) { Planner(lowered).run(); }

std::optional<size_t> free_place(const Lowered& lowered, size_t kernel, size_t bytes) {
  std::vector<Buffer> alive;
  for (const Buffer& buffer : lowered.buffers)
    if (buffer.bytes && buffer.first <= int(kernel) && int(kernel) <= buffer.last) alive.push_back(buffer);
  std::ranges::sort(alive, {}, &Buffer::offset);
  alive.push_back({.offset = lowered.arena_bytes});
  size_t place = 0;
  for (const Buffer& buffer : alive) {
    if (place + bytes <= buffer.offset) return place;
    place = aligned(buffer.offset + buffer.bytes, kWorkspaceAlignment);
  }
  return std::nullopt;
}

}  // namespace neon
