// Counts calls of operator new in the whole program that this is linked into. What oneDNN allocates within a primitive
// (a table of its arguments) is told apart.
#pragma once

namespace neon_test {

struct Allocations {
  long ours = 0, of_onednn = 0;
};

void start_counting();
Allocations stop_counting();

// What `work` allocates.
template <typename Work>
Allocations allocations_of(Work&& work) {
  start_counting();
  work();
  return stop_counting();
}

}  // namespace neon_test
