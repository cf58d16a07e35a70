// The exchanges between ranks in a step on the GPU. They go to a stream of their own, beside the kernels that follow,
// and a kernel that touches an array on its way waits for it.
#pragma once
#include <vector>

#include "backends/cuda/communicator.h"
#include "backends/cuda/program_memory.h"

namespace neon::cuda {

class Exchanges {
 public:
  // Finds them among a program's kernels; a program that has some has `ranks`, too.
  Exchanges(const Lowered& lowered, Ranks* ranks, std::shared_ptr<Engine> engine);
  ~Exchanges();
  Exchanges(const Exchanges&) = delete;

  bool has(size_t kernel) const { return of_[kernel] >= 0; }
  // Queues the exchange that kernel k is, after what the step has queued so far.
  void launch(size_t kernel, const ProgramMemory& memory) const;
  // Lets what the step queues next, kernel k, wait for the exchanges whose arrays it touches; k = the number of
  // kernels: for all that are on their way.
  void join_before(size_t kernel) const;
  // Lets it wait for the exchange that kernel k is.
  void join(size_t kernel) const { wait_for(of_[kernel]); }

 private:
  void wait_for(int exchange) const;
  void queue_sum(const LoweredKernel& kernel, const ProgramMemory& memory) const;
  void queue_rows(const LoweredKernel& kernel, const ProgramMemory& memory) const;
  void queue_all_to_all(const LoweredKernel& kernel, const ProgramMemory& memory) const;

  const Lowered& lowered_;
  std::shared_ptr<Engine> engine_;
  Communicator* communicator_ = nullptr;
  std::vector<int> of_;        // by kernel: its exchange, or -1
  std::vector<int> joins_;     // by kernel, and at the end of a step: the last exchange that it waits for, or -1
  std::vector<CUevent> done_;  // by exchange
  CUstream stream_ = nullptr;
  CUevent ready_ = nullptr;
};

}  // namespace neon::cuda
