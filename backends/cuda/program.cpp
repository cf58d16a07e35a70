#include "backends/cuda/program.h"

#include <algorithm>
#include <cstring>

#include "backends/cuda/batch_ring.h"
#include "backends/cuda/marks.h"
#include "backends/graph/op.h"
#include "backends/graph/plan.h"

namespace neon::cuda {

static_assert(sizeof(State) <= kRingOffset);

CudaProgram::CudaProgram(const Graph& graph, Variables& variables, const DeviceOptions& options,
                         std::shared_ptr<Engine> engine)
    : graph_(graph), variables_(variables), engine_(std::move(engine)), name_(options.name) {
  engine_->device->make_current();
  LowerOptions lowering = gpu_lowering(options.program.fuse, options.tf32, engine_->device->arch());
  if (options.program.callers_memory) lowering.passes = lowering.passes - LowerPass::kept_casts;
  lowered_ = lower(graph, lowering);
  place_leaves(variables, options.program.callers_memory);
  make_ring();
  expect_room();
  // Algorithms are timed before the values of a step take their place: one may have the memory of the other.
  make_kernels(options);
  place_values();
  scalar_values_.resize(scalars_.size());
  records_ = Memory(engine_->device, record_bytes(scalars_.size()), "the step record");
  begin_early_launches();
}

void CudaProgram::begin_early_launches() {
  void* const anywhere = engine_->scratch.data();  // for what is not bound yet
  const auto place = [&](Value value) {
    return slots_[size_t(lowered_.storage[size_t(value.id)].id)] ? address(value) : anywhere;
  };
  std::vector<EarlyLaunch> launches;
  for (const Kernel& kernel : kernels_) {
    if (!kernel.library || !anywhere) continue;
    const auto& a = kernel.arrays;
    launches.push_back(
        {kernel.library.get(), place(a[0]), place(a[1]), a[2] ? place(a[2]) : nullptr, place(a[3]), kernel.workspace});
  }
  engine_->early_launches.begin(std::move(launches));
}

CudaProgram::~CudaProgram() {
  engine_->early_launches.end();
  engine_->leave(this);
  if (batches_) batches_->leave(this);
  engine_->device->use();
  cuCtxSynchronize();
  drop_graphs();
}

void CudaProgram::place_leaves(Variables& variables, bool callers_memory) {
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

// Fails early if the values find no room whatever is chosen. To compile kernels and time algorithms first would take
// minutes with arrays of that size.
void CudaProgram::expect_room() {
  const Device& device = *engine_->device;
  if (lowered_.arena_bytes <= device.free_bytes()) return;
  const SharedPlaces least = place_shared(lowered_, std::vector<size_t>(lowered_.kernels.size()));
  device.expect_room(least.kept + engine_->scratch.missing(least.scratch), kValuesOfStep);
}

void CudaProgram::place_values() {
  std::vector<size_t> workspaces;
  for (const Kernel& kernel : kernels_) workspaces.push_back(kernel.library ? kernel.library->workspace_bytes() : 0);
  places_ = place_shared(lowered_, workspaces);
  kept_ = Memory(engine_->device, places_.kept, "results");
  share_.emplace(engine_->scratch, places_.scratch);
  find_values();
}

void CudaProgram::find_values() {
  const auto bytes = [](void* memory) { return static_cast<std::byte*>(memory); };
  std::byte* const kept = bytes(kept_.data());
  std::byte* const scratch = bytes(engine_->scratch.data());
  scratch_moves_ = engine_->scratch.moves();
  for (int v = 0; v < lowered_.graph.value_count(); ++v) {
    const Buffer& buffer = lowered_.buffers[size_t(v)];
    if (lowered_.storage[size_t(v)] != Value{v} || !buffer.bytes) continue;
    slots_[size_t(v)] = (is_read_later(lowered_, buffer) ? kept : scratch) + buffer.offset;
  }
  for (size_t k = 0; k < kernels_.size(); ++k) kernels_[k].workspace = scratch + places_.workspaces[k];
}

void CudaProgram::make_ring() {
  ring_plan_ = plan_ring(lowered_);
  ring_ = Memory(engine_->device, ring_plan_.bytes(), "results");
  host_ring_ = Pinned(engine_->device, ring_.bytes(), "results");
}

CudaProgram::Input* CudaProgram::find_input(const std::string& name) {
  const auto found = inputs_.find(name);
  return found == inputs_.end() ? nullptr : &found->second;
}

// A graph holds addresses, so it goes when one changes.
void CudaProgram::set_memory(Input& input, std::shared_ptr<Memory> memory) {
  if (memory == input.memory) return;
  flush();
  drop_graphs();
  input.memory = std::move(memory);
  slots_[size_t(input.value.id)] = input.memory->data();
}

void CudaProgram::bind(const std::string& name, const void* data) { bind_sequence(name, data, -1); }

void CudaProgram::bind_resident(const std::string& name, const void* data) {
  Input* input = find_input(name);
  if (!input) return;
  input->host = data;
  set_memory(*input, engine_->resident(data, lowered_.graph.type(input->value).bytes(), "input " + name));
}

void CudaProgram::bind_sequence(const std::string& name, const void* data, int64_t rows) {
  Input* input = find_input(name);
  if (!input) return;
  flush();
  const TensorType& type = lowered_.graph.type(input->value);
  const size_t bytes =
      rows < 0 ? type.bytes() : type.bytes() / size_t(std::max<int64_t>(type.shape[0], 1)) * size_t(rows);
  input->host = data;
  if (!input->memory || input->memory->bytes() < bytes || input->memory.use_count() > 1)
    set_memory(*input, std::make_shared<Memory>(engine_->device, bytes, "input " + name));
  input->memory->upload(data, bytes);
}

void CudaProgram::bind_memory(const std::string& leaf, const DeviceMemory& memory, size_t offset) {
  const Graph& graph = lowered_.graph;
  for (LeafKind kind : {LeafKind::input, LeafKind::variable})
    for (Value value : graph.leaves(kind)) {
      void*& slot = slots_[size_t(value.id)];
      void* const at = static_cast<std::byte*>(memory.data()) + offset;
      if (leaf_name(graph, value) != leaf || slot == at) continue;
      flush();
      drop_graphs();
      slot = at;
      moved_ = true;
    }
}

void CudaProgram::bind_ring(CudaRing* ring) {
  flush();
  if (batches_ && batches_ != ring) batches_->leave(this);
  batches_ = ring;
  for (auto& [name, input] : inputs_)
    if (auto memory = ring->memory(name)) set_memory(input, std::move(memory));
}

void CudaProgram::leave_ring() {
  batches_ = nullptr;
  queued_ = 0;
  queue_.clear();
}

void CudaProgram::release_memory() {
  flush();
  // The caller may never ask for a result of this program, and must hear of an index that does not exist.
  if (looks_up_) synchronize();
}

void CudaProgram::set_scalar(const std::string& name, double value) {
  const auto found = scalars_.find(name);
  if (found != scalars_.end()) scalar_values_[size_t(found->second)] = value;
}

int CudaProgram::depth(const std::string& output) const {
  return ring_plan_.places.count(lowered_.graph.outputs().at(output).id) ? kDepth : 1;
}

void CudaProgram::go_on() {
  flush();
  engine_->device->make_current();
  check(
      cuMemsetD8Async(ring_.address() + offsetof(State, stopped), 0, sizeof(State::stopped), engine_->device->stream()),
      "going on");
}

void CudaProgram::synchronize() const {
  if (synchronized_ == runs_) return;
  CudaProgram& self = const_cast<CudaProgram&>(*this);
  self.flush();
  ring_.download(host_ring_.data(), ring_.bytes());
  self.synchronized_ = runs_;
  State state;
  std::memcpy(&state, host_ring_.data(), sizeof state);
  if (!state.bad_index) return;
  check(cuMemsetD8Async(ring_.address(), 0, sizeof(State), engine_->device->stream()), "clearing a fault");
  fail(ErrorKind::data, "index ", state.index, " at place ", state.place, " is not in [0, ", state.limit, ")");
}

double CudaProgram::recorded(const std::string& name, int64_t element, int back) const {
  NEON_ASSERT(back >= 0 && back < kDepth && uint64_t(back) < runs_);
  const Value value = lowered_.graph.outputs().at(name);
  const auto found = ring_plan_.places.find(value.id);
  if (found == ring_plan_.places.end()) {
    NEON_ASSERT(back == 0);
    return output(name).at(element);
  }
  synchronize();
  const uint64_t row = (runs_ - 1 - uint64_t(back)) % kDepth;
  double out = 0;
  std::memcpy(&out,
              host_ring_.data() + kRingOffset +
                  (row * uint64_t(ring_plan_.width) + uint64_t(found->second) + uint64_t(element)) * 8,
              8);
  return out;
}

Tensor CudaProgram::output(const std::string& name) const {
  const Value value = lowered_.graph.outputs().at(name);
  const TensorType& type = lowered_.graph.type(value);
  synchronize();
  Tensor out(type.dtype, type.shape);
  const Device& device = *engine_->device;
  device.make_current();
  if (out.bytes())
    check(cuMemcpyDtoHAsync(out.data(), reinterpret_cast<CUdeviceptr>(address(value)), out.bytes(), device.stream()),
          "copying a result");
  device.wait("waiting for a result");
  return out;
}

// On the CPU, op by op: from the same variables and inputs.
std::string CudaProgram::first_nonfinite(uint64_t step) {
  synchronize();
  variables_.to_host();
  const auto checking = compile_for_cpu(graph_, variables_, {.fuse = false});
  std::vector<Tensor> downloaded;  // of a ring, as the device has them
  for (const auto& [name, input] : inputs_) {
    const TensorType& type = lowered_.graph.type(input.value);
    const size_t row = type.bytes() / size_t(std::max<int64_t>(type.shape.rank() ? type.shape[0] : 1, 1));
    const bool sequence = input.memory && input.memory->bytes() > type.bytes();
    const size_t offset = sequence ? size_t(first_) * row : 0;
    if (batches_ && batches_->memory(name)) {
      downloaded.emplace_back(type.dtype, type.shape);
      input.memory->download(downloaded.back().data(), downloaded.back().bytes(), offset);
      checking->bind(name, downloaded.back().data());
    } else {
      checking->bind(name, static_cast<const std::byte*>(input.host) + offset);
    }
  }
  for (const auto& [name, index] : scalars_) checking->set_scalar(name, scalar_values_[size_t(index)]);
  return checking->first_nonfinite(step);
}

}  // namespace neon::cuda
