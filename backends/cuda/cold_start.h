// The work for a program that is new to a machine: neon compiles kernels and chooses algorithms, and later finds both
// on disk. If the work takes more than a moment, this tells the listener once why it waits.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

#include "backends/device/device.h"

namespace neon::cuda {

class ColdStart {
 public:
  // `listener` may be null.
  explicit ColdStart(Listener* listener) : listener_(listener) {}
  ColdStart(const ColdStart&) = delete;
  ~ColdStart();
  // Something was not on disk: the clock starts, unless it runs already.
  void begin();

 private:
  void watch(std::stop_token ended);
  Listener* const listener_;
  std::mutex mutex_;
  std::condition_variable_any change_;
  std::jthread watcher_;
};

}  // namespace neon::cuda
