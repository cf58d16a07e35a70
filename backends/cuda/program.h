// A program on the GPU: one CUDA graph of all kernels of a step, of several steps where there are some to do.
//
// The host queues runs as rows of the step record; a full queue, or a result asked for, sends the rows and launches the
// graph. Small outputs of every run go to a ring on the device that is copied when the host asks; nothing else waits.
#pragma once
#include "backends/cuda/step_launches.h"

namespace neon::cuda {

class CudaRing;

class CudaProgram : public Program {
 public:
  CudaProgram(const Graph& graph, Variables& variables, const DeviceOptions& options, std::shared_ptr<Engine> engine);
  ~CudaProgram() override;

  void bind(const std::string& input, const void* data) override;
  void bind_resident(const std::string& input, const void* data) override;
  void bind_sequence(const std::string& input, const void* data, int64_t rows) override;
  void set_first(int64_t row) override { first_ = row; }
  void bind_memory(const std::string& leaf, const DeviceMemory& memory, size_t offset) override;
  void release_memory() override;
  // Inputs of the ring's names are its slots from now on, and every run is sent off at once, behind the copy of what it
  // reads. The ring tells when it goes.
  void bind_ring(CudaRing* ring);
  // The ring ends before this. A run that is still queued could not be started, which was reported.
  void leave_ring();
  void set_scalar(const std::string& name, double value) override { record_.set(name, value); }
  void run(uint64_t step) override;
  void go_on() override;
  int depth(const std::string& output) const override;
  double recorded(const std::string& output, int64_t element, int back) const override;
  Tensor output(const std::string& name) const override;
  std::vector<std::string> implementations() const override { return kernels_.implementations(); }
  void time_kernels(bool on) override;
  std::vector<double> kernel_milliseconds() const override;
  Nonfinite first_nonfinite(uint64_t step) override;
  void flush();

 private:
  // Gives an input that memory, and sends the runs before off that read another.
  void set_memory(ProgramMemory::Input& input, std::shared_ptr<Memory> memory);
  void synchronize() const;

  Graph graph_;
  Variables& variables_;
  std::shared_ptr<Engine> engine_;
  Ranks* const ranks_;
  const std::string name_;
  ProgramMemory memory_;
  StepRecord record_;
  ResultRing ring_;
  ProgramKernels kernels_;
  StepLaunches launches_;
  WritesSeen seen_;
  bool news_ = false;  // others have written variables since the last launch
  int64_t first_ = 0;
  uint64_t runs_ = 0;
  CudaRing* batches_ = nullptr;  // where batches come from, if they do
};

}  // namespace neon::cuda
