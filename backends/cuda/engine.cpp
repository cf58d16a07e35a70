#include "backends/cuda/engine.h"

#include "backends/cuda/communicator.h"
#include "backends/cuda/convolution.h"
#include "backends/cuda/program.h"

namespace neon::cuda {

Engine::Engine(int index)
    : device(std::make_shared<Device>(index)),
      convolutions(make_convolution_plans(device)),
      scratch(device),
      early_launches(device) {}

Engine::~Engine() = default;

Communicator& Engine::communicator(Ranks& ranks) {
  if (!communicator_)
    communicator_ = ranks.simulated() ? make_simulated_communicator() : make_communicator(ranks, device);
  return *communicator_;
}

std::shared_ptr<Memory> Engine::resident(const void* data, size_t bytes, const std::string& what) {
  auto& known = residents_[{data, bytes}];
  auto shared = known.lock();
  if (shared) return shared;
  known = shared = std::make_shared<Memory>(device, bytes, what);
  shared->upload(data, bytes);
  return shared;
}

void Engine::take_turn(CudaProgram* program) {
  if (queued_ && queued_ != program) queued_->flush();
  queued_ = program;
}

void* Mirror::declare(const std::string& name, const Tensor& tensor) {
  const auto found = copies_.find(name);
  if (found != copies_.end()) return found->second.data();
  Memory memory(engine_->device, tensor.bytes(), "variable " + name);
  memory.upload(tensor.data(), tensor.bytes());
  return copies_.emplace(name, std::move(memory)).first->second.data();
}

void Mirror::upload(Variables& variables) {
  engine_->take_turn(nullptr);
  for (const auto& [name, memory] : copies_) memory.upload(variables.at(name).data(), memory.bytes());
}

void Mirror::download(Variables& variables) {
  engine_->take_turn(nullptr);
  for (const auto& [name, memory] : copies_) memory.download(variables.at(name).data(), memory.bytes());
}

ArrayMemory::~ArrayMemory() {
  try {
    engine_->take_turn(nullptr);
  } catch (const Error&) {  // what was queued has failed; the next call to the device says so
  }
}

void ArrayMemory::upload(const void* from, size_t bytes, size_t offset) {
  engine_->take_turn(nullptr);
  memory_.upload(from, bytes, offset);
}

void ArrayMemory::download(void* to, size_t bytes, size_t offset) const {
  engine_->take_turn(nullptr);
  memory_.download(to, bytes, offset);
}

void ArrayMemory::copy(const DeviceMemory& from, size_t from_offset, size_t bytes, size_t offset) {
  engine_->take_turn(nullptr);
  engine_->device->make_current();
  if (bytes)
    check(cuMemcpyDtoDAsync(memory_.address() + offset, reinterpret_cast<CUdeviceptr>(from.data()) + from_offset, bytes,
                            engine_->device->stream()),
          "copying an array");
}

}  // namespace neon::cuda
