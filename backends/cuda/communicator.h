// The sums of ranks whose arrays are on GPUs: NCCL's all-reduce, by a communicator of this process's one GPU.
#pragma once
#include <memory>
#include <span>

#include "backends/cuda/driver.h"
#include "backends/graph/rank_rows.h"
#include "backends/ranks.h"

namespace neon::cuda {

// An array whose rows, of so many elements each, go from rank to rank (backends/graph/rank_rows.h). In an array of the
// rows of all ranks they lie one behind the other; one of parts has as many rows as this rank has for each rank.
struct MovedRows {
  const void* from = nullptr;
  void* to = nullptr;
  RankRows rows;
  int64_t row = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  // Queues the sum of the arrays over all ranks on the stream. All ranks queue the same sums in the same order. Sums
  // are the same bits on every rank; those of 16-bit types are rounded after each rank that is added.
  virtual void sum(std::span<const Summand> arrays, DType dtype, CUstream stream) = 0;
  // From own rows to those of all ranks, and from those of all to the sums of own rows; of all arrays at once.
  virtual void all_gather(std::span<const MovedRows> arrays, DType dtype, CUstream stream) = 0;
  virtual void reduce_scatter(std::span<const MovedRows> arrays, DType dtype, CUstream stream) = 0;
  // From the rows of all ranks to parts, and back.
  virtual void columns_to_rows(const MovedRows& array, DType dtype, CUstream stream) = 0;
  virtual void rows_to_columns(const MovedRows& array, DType dtype, CUstream stream) = 0;
};

// All ranks call this together, each with a GPU of its own. Throws where NCCL cannot be opened, or joins no GPUs.
std::unique_ptr<Communicator> make_communicator(Ranks& ranks, std::shared_ptr<Device> device);
// For simulated ranks: what other ranks would give is 0.
std::unique_ptr<Communicator> make_simulated_communicator();

}  // namespace neon::cuda
