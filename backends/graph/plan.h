// Places in one arena for all values that live between kernels, by lifetime.
#pragma once
#include <vector>

#include "backends/graph/lower.h"

namespace neon {

// Fills storage, buffers, arena_bytes and value_bytes of a lowered graph whose kernels are in order. A value
// whose life ends where an equally large one begins, in an elementwise kernel, an exchange or a kernel that the device
// says may write over it, hands its place on.
void plan_memory(Lowered& lowered, const DeviceKernels& kernels);

// An exchange between ranks may still be on its way while the kernels that follow run. Returns the first kernel after
// exchange k that touches its arrays, or the number of kernels. Kernels that run once do so before all others.
int join_of(const Lowered& lowered, int exchange);

// The buffers that lie one behind the other begin at multiples of this.
constexpr size_t kSharedAlignment = 256;

// Whether the array of the second value lies behind that of the first, at the next multiple of kSharedAlignment. Both
// are arrays of one exchange.
bool lies_behind(const Lowered& lowered, Value first, Value second);

// Whether it is read after the last kernel, or by the next run.
bool is_read_later(const Lowered& lowered, const Buffer& buffer);

// Where programs that run one after the other share a memory. A Buffer's place is then in that, or in the program's
// own.
struct SharedPlaces {
  size_t kept = 0;                 // bytes of a program's own memory, for what outlives its runs
  size_t scratch = 0;              // bytes of the memory that is shared, for all else
  std::vector<size_t> workspaces;  // by kernel: where in the scratch memory it works
};

// Places values anew, in the one memory or the other, and with them what each kernel works in, of so many bytes: a
// value that lives while one kernel runs. All is at multiples of 256, as libraries want what they work in.
SharedPlaces place_shared(Lowered& lowered, const std::vector<size_t>& workspaces);

}  // namespace neon
