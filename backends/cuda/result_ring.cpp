#include "backends/cuda/result_ring.h"

#include <cstddef>
#include <cstring>

#include "backends/cuda/state.h"

namespace neon::cuda {

static_assert(sizeof(State) <= kRingOffset);

void ResultRing::allocate(const Lowered& lowered, const std::shared_ptr<Device>& device) {
  plan_ = plan_ring(lowered);
  memory_ = Memory(device, plan_.bytes(), "results");
  host_ = Pinned(device, memory_.bytes(), "results");
}

void ResultRing::go_on(const Device& device) const {
  device.make_current();
  check(cuMemsetD8Async(memory_.address() + offsetof(State, stopped), 0, sizeof(State::stopped), device.stream()),
        "going on");
}

void ResultRing::fetch(uint64_t runs, const Device& device) {
  memory_.download(host_.data(), memory_.bytes());
  runs_ = runs;
  State state;
  std::memcpy(&state, host_.data(), sizeof state);
  if (!state.bad_index) return;
  check(cuMemsetD8Async(memory_.address(), 0, sizeof(State), device.stream()), "clearing a fault");
  fail(ErrorKind::data, "index ", state.index, " at place ", state.place, " is not in [0, ", state.limit, ")");
}

double ResultRing::value(Value output, int64_t element, uint64_t run) const {
  const uint64_t row = run % kDepth;
  double out = 0;
  std::memcpy(&out,
              host_.data() + kRingOffset +
                  (row * uint64_t(plan_.width) + uint64_t(plan_.places.at(output.id)) + uint64_t(element)) * 8,
              8);
  return out;
}

}  // namespace neon::cuda
