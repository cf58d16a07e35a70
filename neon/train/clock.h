// Seconds of a clock that never goes back, to measure how long something takes.
#pragma once
#include <chrono>

namespace neon {

inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace neon
