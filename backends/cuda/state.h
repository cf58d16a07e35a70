// The state that the kernels of a program report to the host, beside their results. The prelude's State has the same
// layout.
#pragma once
#include <cstdint>

namespace neon::cuda {

struct State {
  uint32_t stopped = 0;    // 1 + place in the ring of the run whose output "finite" was 0: no later run writes a
                           // variable until the host clears this
  uint32_t bad_index = 0;  // a row was looked up that does not exist:
  int32_t index = 0, limit = 0;
  int64_t place = 0;
};

}  // namespace neon::cuda
