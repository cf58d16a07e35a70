// The sums of ranks whose arrays are on GPUs: NCCL's all-reduce, by a communicator of this process's one GPU.
#pragma once
#include <memory>
#include <span>

#include "backends/cuda/driver.h"
#include "backends/graph/rank_rows.h"
#include "backends/ranks.h"

namespace neon::cuda {

class Communicator {
 public:
  virtual ~Communicator() = default;
  // Queues the sum of the arrays over all ranks on the stream. All ranks queue the same sums in the same order. Sums
  // are the same bits on every rank; those of 16-bit types are rounded after each rank that is added.
  virtual void sum(std::span<const Summand> arrays, DType dtype, CUstream stream) = 0;
  // The exchanges of backends/graph/rank_rows.h, of rows of so many elements. In `to` and `from` lie the rows of all
  // ranks one behind the other; in `parts` as many rows as this rank has for each rank.
  virtual void all_gather(const void* own, void* to, const RankRows& rows, int64_t row, DType dtype,
                          CUstream stream) = 0;
  virtual void reduce_scatter(const void* from, void* own, const RankRows& rows, int64_t row, DType dtype,
                              CUstream stream) = 0;
  virtual void columns_to_rows(const void* from, void* parts, const RankRows& rows, int64_t row, DType dtype,
                               CUstream stream) = 0;
  virtual void rows_to_columns(const void* parts, void* to, const RankRows& rows, int64_t row, DType dtype,
                               CUstream stream) = 0;
};

// All ranks call this together, each with a GPU of its own. Throws where NCCL cannot be opened, or joins no GPUs.
std::unique_ptr<Communicator> make_communicator(Ranks& ranks, std::shared_ptr<Device> device);
// For simulated ranks: what other ranks would give is 0.
std::unique_ptr<Communicator> make_simulated_communicator();

}  // namespace neon::cuda
