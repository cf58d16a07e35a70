#include "backends/cuda/program.h"

#include <algorithm>

#include "backends/cuda/batch_ring.h"
#include "backends/graph/op.h"
#include "backends/ranks/same_exchanges.h"

namespace neon::cuda {

CudaProgram::CudaProgram(const Graph& graph, Variables& variables, const DeviceOptions& options,
                         std::shared_ptr<Engine> engine)
    : graph_(graph),
      variables_(variables),
      engine_(std::move(engine)),
      ranks_(options.program.ranks),
      name_(options.name),
      memory_(lowered_, engine_),
      kernels_(lowered_, engine_, name_),
      launches_(kernels_, memory_, record_, ring_, engine_) {
  engine_->device->make_current();
  const WorkAlone alone(ranks_);  // kernels may take one rank longer to compile than another
  lowered_ = lower_alike(graph, lowering_of(options, *engine_->device), ranks_);
  memory_.place_leaves(variables, options.program.callers_memory);
  ring_.allocate(lowered_, engine_->device);
  memory_.expect_room();
  // Algorithms are timed before the values of a step take their place: one may have the memory of the other.
  kernels_.make(options, record_.names(), ring_.plan());
  memory_.place_values(kernels_.workspaces());
  record_.allocate(engine_->device);
  engine_->early_launches.begin(kernels_.early_launches(memory_, engine_->scratch.data()));
}

CudaProgram::~CudaProgram() {
  engine_->early_launches.end();
  engine_->leave(this);
  if (batches_) batches_->leave(this);
  engine_->device->use();
  cuCtxSynchronize();
}

void CudaProgram::set_memory(ProgramMemory::Input& input, std::shared_ptr<Memory> memory) {
  if (memory == input.memory) return;
  flush();
  launches_.drop_graphs();
  memory_.set(input, std::move(memory));
}

void CudaProgram::bind(const std::string& name, const void* data) { bind_sequence(name, data, -1); }

void CudaProgram::bind_resident(const std::string& name, const void* data) {
  ProgramMemory::Input* input = memory_.find_input(name);
  if (!input) return;
  input->host = data;
  set_memory(*input, engine_->resident(data, lowered_.graph.type(input->value).bytes(), "input " + name));
}

void CudaProgram::bind_sequence(const std::string& name, const void* data, int64_t rows) {
  ProgramMemory::Input* input = memory_.find_input(name);
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
  void* const at = static_cast<std::byte*>(memory.data()) + offset;
  for (void** slot : memory_.slots_of(leaf)) {
    if (*slot == at) continue;
    flush();
    launches_.drop_graphs();
    *slot = at;
    launches_.note_moved();
  }
}

void CudaProgram::bind_ring(CudaRing* ring) {
  flush();
  if (batches_ && batches_ != ring) batches_->leave(this);
  batches_ = ring;
  for (auto& [name, input] : memory_.inputs())
    if (auto memory = ring->memory(name)) set_memory(input, std::move(memory));
}

void CudaProgram::leave_ring() {
  batches_ = nullptr;
  record_.clear();
}

void CudaProgram::release_memory() {
  flush();
  // The caller may never ask for a result of this program, and must hear of an index that does not exist.
  if (kernels_.look_up_rows()) synchronize();
}

void CudaProgram::run(uint64_t step) {
  engine_->take_turn(this);
  // Whoever wrote variables had the runs before sent off.
  news_ = seen_.take(variables_, !lowered_.graph.assignments().empty()) || news_;
  record_.push(runs_ % kDepth, step, first_);
  ++runs_;
  if (record_.waiting() == (batches_ || launches_.marks() ? 1 : kRunsOfLaunch)) flush();
}

void CudaProgram::flush() {
  if (record_.waiting() == 0) return;
  engine_->early_launches.end();
  engine_->device->make_current();
  engine_->device->set_running(name_);
  if (memory_.has_moved()) {
    launches_.drop_graphs();
    try {
      memory_.find_values();
    } catch (...) {
      record_.clear();  // queued runs cannot run later: the values that they read may have gone by then
      throw;
    }
  }
  if (batches_) batches_->before_run();
  if (news_) {
    launches_.run_once();
    news_ = false;
  }
  launches_.send();
  if (batches_) batches_->after_run();
  record_.clear();
}

void CudaProgram::go_on() {
  flush();
  ring_.go_on(*engine_->device);
}

int CudaProgram::depth(const std::string& output) const {
  return ring_.has(lowered_.graph.outputs().at(output)) ? kDepth : 1;
}

void CudaProgram::synchronize() const {
  if (ring_.runs() == runs_) return;
  CudaProgram& self = const_cast<CudaProgram&>(*this);
  self.flush();
  if (ranks_) ranks_->set_waiting(true);
  if (ranks_) ranks_->wait_for_device(*engine_->device);
  self.ring_.fetch(runs_, *engine_->device);
  if (ranks_) ranks_->set_waiting(false);
}

double CudaProgram::recorded(const std::string& name, int64_t element, int back) const {
  NEON_ASSERT(back >= 0 && back < kDepth && uint64_t(back) < runs_);
  const Value value = lowered_.graph.outputs().at(name);
  if (!ring_.has(value)) {
    NEON_ASSERT(back == 0);
    return output(name).at(element);
  }
  synchronize();
  return ring_.value(value, element, runs_ - 1 - uint64_t(back));
}

Tensor CudaProgram::output(const std::string& name) const {
  const Value value = lowered_.graph.outputs().at(name);
  const TensorType& type = lowered_.graph.type(value);
  synchronize();
  Tensor out(type.dtype, type.shape);
  const Device& device = *engine_->device;
  device.make_current();
  if (out.bytes())
    check(cuMemcpyDtoHAsync(out.data(), reinterpret_cast<CUdeviceptr>(memory_.address(value)), out.bytes(),
                            device.stream()),
          "copying a result");
  device.wait("waiting for a result");
  return out;
}

void CudaProgram::time_kernels(bool on) {
  flush();
  launches_.drop_graphs();
  engine_->device->make_current();
  launches_.time_kernels(on);
}

std::vector<double> CudaProgram::kernel_milliseconds() const {
  if (!launches_.marks()) return {};
  synchronize();
  return launches_.marks()->between();
}

// On the CPU, op by op: from the same variables and inputs.
Nonfinite CudaProgram::first_nonfinite(uint64_t step) {
  synchronize();
  variables_.to_host();
  const auto checking = compile_for_cpu(graph_, variables_, {.fuse = false});
  std::vector<Tensor> downloaded;  // of a ring, as the device has them
  for (const auto& [name, input] : memory_.inputs()) {
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
  for (const auto& [name, place] : record_.names()) checking->set_scalar(name, record_.value(place));
  return checking->first_nonfinite(step);
}

}  // namespace neon::cuda
