#include "backends/cuda/scratch.h"

#include "neon/core/error.h"

namespace neon::cuda {

// The old memory goes first: there may be no room for both. Freeing memory waits for the kernels that use it.
void Scratch::take(size_t bytes) {
  ++moves_;
  memory_ = Memory();
  if (bytes) memory_ = Memory(device_, bytes, kValuesOfStep);
}

void Scratch::add(size_t bytes) {
  if (bytes > memory_.bytes()) {
    try {
      take(bytes);
    } catch (const Error&) {
      try {
        data();
      } catch (const Error&) {  // who needs it asks again
      }
      throw;
    }
  }
  needs_.insert(bytes);
}

// More than half of it stays: another program like the one that goes may follow.
void Scratch::remove(size_t bytes) noexcept {
  needs_.erase(needs_.find(bytes));
  if (most() > memory_.bytes() / 2) return;
  try {
    take(most());
  } catch (...) {  // who needs it asks again
  }
}

void* Scratch::data() {
  if (memory_.bytes() < most()) take(most());
  return memory_.data();
}

}  // namespace neon::cuda
