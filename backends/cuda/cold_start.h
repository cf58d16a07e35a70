// What is done the first time that a machine sees a program, and is then found on disk: kernels are compiled,
// algorithms chosen. When that takes more than a moment the listener is told once what it waits for.
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
