// The state that outlives a program on the GPU: the device with resident inputs and the memory that programs share, the
// variables' copies, and memory for arrays.
#pragma once
#include <atomic>
#include <map>

#include "backends/cuda/driver.h"
#include "backends/cuda/early_launch.h"
#include "backends/cuda/scratch.h"
#include "backends/device/device.h"

namespace neon::cuda {

class Communicator;
class ConvolutionPlans;
class CudaProgram;

// The state that the programs of one GPU share.
class Engine {
 public:
  explicit Engine(int index);
  ~Engine();
  std::shared_ptr<Device> device;
  std::shared_ptr<ConvolutionPlans> convolutions;
  Scratch scratch;  // programs run one after the other
  EarlyLaunches early_launches;
  std::atomic<bool> cold_start_told = false;
  // The copy of host memory that all programs read, as long as one of them has it.
  std::shared_ptr<Memory> resident(const void* data, size_t bytes, const std::string& what);
  // Joins this GPU to those of the other ranks, which do so at the same time.
  Communicator& communicator(Ranks& ranks);
  // Runs that a program has queued are sent off before another program's, and before variables are touched.
  void take_turn(CudaProgram* program);
  void leave(CudaProgram* program) { queued_ = queued_ == program ? nullptr : queued_; }

 private:
  CudaProgram* queued_ = nullptr;
  std::unique_ptr<Communicator> communicator_;
  std::map<std::pair<const void*, size_t>, std::weak_ptr<Memory>> residents_;
};

// The variables' copies on one GPU.
class Mirror : public VariableMirror {
 public:
  explicit Mirror(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}
  const std::shared_ptr<Engine>& engine() const { return engine_; }
  // Memory for a variable, with its present value when it is new here.
  void* declare(const std::string& name, const Tensor& tensor);
  void upload(Variables& variables) override;
  void download(Variables& variables) override;

 private:
  std::shared_ptr<Engine> engine_;
  std::map<std::string, Memory> copies_;
};

// Memory for arrays, in order with the programs of its GPU.
class ArrayMemory : public DeviceMemory {
 public:
  ArrayMemory(std::shared_ptr<Engine> engine, size_t bytes)
      : engine_(std::move(engine)), memory_(engine_->device, bytes, "an array") {}
  ~ArrayMemory() override;
  void* data() const override { return memory_.data(); }
  size_t bytes() const override { return memory_.bytes(); }
  void upload(const void* from, size_t bytes, size_t offset) override;
  void download(void* to, size_t bytes, size_t offset) const override;
  void copy(const DeviceMemory& from, size_t from_offset, size_t bytes, size_t offset) override;

 private:
  std::shared_ptr<Engine> engine_;
  Memory memory_;
};

}  // namespace neon::cuda
