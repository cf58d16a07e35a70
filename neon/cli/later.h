// An act that follows where something else takes longer than so many seconds: a message about it, or the end of a rank.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace neon {

// Calls `act` on a thread of its own after `patience`, unless this object is destroyed earlier.
class Later {
 public:
  Later(std::chrono::duration<double> patience, std::function<void()> act);
  Later(const Later&) = delete;
  ~Later();

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::jthread thread_;
};

}  // namespace neon
