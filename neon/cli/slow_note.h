// A message about what goes on, where that takes more than a second: nobody waits before a silent program.
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace neon {

class SlowNote {
 public:
  explicit SlowNote(std::string what);
  SlowNote(const SlowNote&) = delete;
  ~SlowNote();

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::jthread thread_;
};

}  // namespace neon
