// The work for a program that is new to a machine: neon compiles kernels and chooses algorithms, and later finds both
// on disk. If the work takes more than a moment, the listener hears why it waits, once for all programs of a GPU.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "backends/device/device.h"

namespace neon::cuda {

class ColdStart {
 public:
  // `listener` may be null. `told`: whether one of those programs has said so.
  ColdStart(Listener* listener, std::atomic<bool>& told) : listener_(listener), told_(told) {}
  ColdStart(const ColdStart&) = delete;
  ~ColdStart();
  // Something was not on disk: the clock starts, unless it runs already.
  void begin();

 private:
  void watch(std::stop_token ended);
  Listener* const listener_;
  std::atomic<bool>& told_;
  std::mutex mutex_;
  std::condition_variable_any change_;
  std::jthread watcher_;
};

}  // namespace neon::cuda
