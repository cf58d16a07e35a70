// Decisions on a program before it has memory: which results are recorded, what the writers of its kernels get, and how
// many bytes it will take.
#pragma once
#include "backends/cuda/driver.h"
#include "backends/cuda/source.h"
#include "backends/device/device.h"

namespace neon::cuda {

constexpr int kDepth = 256;         // rows of the ring
constexpr int kRunsOfLaunch = 16;   // most runs in one launch
constexpr size_t kRingOffset = 64;  // State comes first

// How a program is lowered for the device.
LowerOptions lowering_of(const DeviceOptions& options, const Device& device);

// Small outputs that a generated kernel writes, which go to a row of the ring as well.
struct RingPlan {
  std::map<int, int> places;  // by value: in a row
  int width = 0;
  size_t bytes() const { return kRingOffset + size_t(kDepth) * size_t(width) * 8; }
};
RingPlan plan_ring(const Lowered& lowered);

// `scalars` are numbered as kernels are written.
SourceContext source_context(const Lowered& lowered, std::map<std::string, int>& scalars, const RingPlan& ring,
                             const DeviceOptions& options, const Device& device);

// The memory that generated kernels share: counters of blocks, then partial results.
struct PartialsPlan {
  int tickets = 1;
  size_t partial_bytes = 0;
  void take(const Source& source);
  size_t ticket_bytes() const { return (size_t(tickets) * sizeof(uint32_t) + 63) / 64 * 64; }
  size_t bytes() const { return ticket_bytes() + partial_bytes; }
};

// Bytes of the rows of a launch.
size_t record_bytes(size_t scalars);

const std::string& leaf_name(const Graph& graph, Value leaf);

// The memory that a CudaProgram of the graph will take, without making the program.
MemoryNeeds needs_of(const Graph& graph, const DeviceOptions& options, const Device& device);

}  // namespace neon::cuda
