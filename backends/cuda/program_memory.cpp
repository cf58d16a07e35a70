#include "backends/cuda/program_memory.h"

#include "backends/cuda/plan.h"
#include "backends/graph/op.h"

namespace neon::cuda {

void ProgramMemory::place_leaves(Variables& variables, bool callers_memory) {
  const Graph& graph = lowered_.graph;
  slots_.assign(size_t(graph.value_count()), nullptr);
  for (Value value : graph.leaves(LeafKind::input)) inputs_[leaf_name(graph, value)].value = value;
  if (callers_memory) return;
  auto mirror = std::dynamic_pointer_cast<Mirror>(variables.mirror());
  if (!mirror) {
    NEON_ASSERT(!variables.mirror());
    mirror = std::make_shared<Mirror>(engine_);
    variables.set_mirror(mirror);
  }
  NEON_ASSERT(mirror->engine() == engine_);
  for (Value value : graph.leaves(LeafKind::variable)) {
    const std::string& name = leaf_name(graph, value);
    slots_[size_t(value.id)] =
        mirror->declare(name, variables.declare(name, graph.type(value).dtype, graph.shape(value)));
  }
}

void ProgramMemory::expect_room() const {
  const Device& device = *engine_->device;
  if (lowered_.arena_bytes <= device.free_bytes()) return;
  const SharedPlaces least = place_shared(lowered_, std::vector<size_t>(lowered_.kernels.size()));
  device.expect_room(least.kept + engine_->scratch.missing(least.scratch), kValuesOfStep);
}

void ProgramMemory::place_values(const std::vector<size_t>& workspaces) {
  places_ = place_shared(lowered_, workspaces);
  kept_ = Memory(engine_->device, places_.kept, "results");
  share_.emplace(engine_->scratch, places_.scratch);
  find_values();
}

void ProgramMemory::find_values() {
  std::byte* const kept = static_cast<std::byte*>(kept_.data());
  scratch_ = static_cast<std::byte*>(engine_->scratch.data());
  scratch_moves_ = engine_->scratch.moves();
  for (int v = 0; v < lowered_.graph.value_count(); ++v) {
    const Buffer& buffer = lowered_.buffers[size_t(v)];
    if (lowered_.storage[size_t(v)] != Value{v} || !buffer.bytes) continue;
    slots_[size_t(v)] = (is_read_later(lowered_, buffer) ? kept : scratch_) + buffer.offset;
  }
}

ProgramMemory::Input* ProgramMemory::find_input(const std::string& name) {
  const auto found = inputs_.find(name);
  return found == inputs_.end() ? nullptr : &found->second;
}

void ProgramMemory::set(Input& input, std::shared_ptr<Memory> memory) {
  input.memory = std::move(memory);
  slots_[size_t(input.value.id)] = input.memory->data();
}

std::vector<void**> ProgramMemory::slots_of(const std::string& leaf) {
  const Graph& graph = lowered_.graph;
  std::vector<void**> out;
  for (LeafKind kind : {LeafKind::input, LeafKind::variable})
    for (Value value : graph.leaves(kind))
      if (leaf_name(graph, value) == leaf) out.push_back(&slots_[size_t(value.id)]);
  return out;
}

void* ProgramMemory::address(Value value) const {
  void* const at = slot(value);
  if (!at)
    fail(ErrorKind::failed, "input ", leaf_name(lowered_.graph, lowered_.storage[size_t(value.id)]),
         " of a program is not bound");
  const int64_t first = lowered_.placements[size_t(value.id)].first;
  return static_cast<std::byte*>(at) + size_t(first) * size_of(lowered_.graph.dtype(value));
}

}  // namespace neon::cuda
