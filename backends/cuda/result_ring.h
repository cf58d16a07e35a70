// Small outputs of the last kDepth runs, and the faults that kernels report: a ring on the device, copied when the host
// asks. Its memory holds State, then the rows.
#pragma once
#include "backends/cuda/driver.h"
#include "backends/cuda/plan.h"

namespace neon::cuda {

class ResultRing {
 public:
  void allocate(const Lowered& lowered, const std::shared_ptr<Device>& device);

  const RingPlan& plan() const { return plan_; }
  bool has(Value output) const { return plan_.places.count(output.id) > 0; }
  void* data() const { return memory_.data(); }
  // Lets runs write variables again after output "finite" was 0.
  void go_on(const Device& device) const;

  // The number of runs whose results the host has.
  uint64_t runs() const { return runs_; }
  // Waits for the first `runs` runs, all of which have been sent, and copies their results. Throws a data error if a
  // kernel looked up a row that does not exist, and clears that fault.
  void fetch(uint64_t runs, const Device& device);
  // An element of an output that the ring has, after run `run`, counted from 0.
  double value(Value output, int64_t element, uint64_t run) const;

 private:
  RingPlan plan_;
  Memory memory_;
  Pinned host_;
  uint64_t runs_ = 0;
};

}  // namespace neon::cuda
