// The sums of ranks whose arrays are on GPUs: NCCL's all-reduce, by a communicator of this process's one GPU.
#pragma once
#include <memory>
#include <span>

#include "backends/cuda/driver.h"
#include "backends/ranks.h"

namespace neon::cuda {

class Communicator {
 public:
  virtual ~Communicator() = default;
  // Queues the sum of the arrays over all ranks on the stream. All ranks queue the same sums in the same order. Sums
  // are the same bits on every rank; those of 16-bit types are rounded after each rank that is added.
  virtual void sum(std::span<const Summand> arrays, DType dtype, CUstream stream) = 0;
};

// All ranks call this together, each with a GPU of its own. Throws where NCCL cannot be opened, or joins no GPUs.
std::unique_ptr<Communicator> make_communicator(Ranks& ranks, std::shared_ptr<Device> device);
// For simulated ranks: a sum is this rank's part alone.
std::unique_ptr<Communicator> make_simulated_communicator();

}  // namespace neon::cuda
