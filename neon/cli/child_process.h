// neon itself as a child: its results come through a pipe, its messages go to a file. A child that crashes takes
// nothing of its parent with it, and none outlives its parent.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "neon/train/atomic_file.h"

namespace neon {

class ChildProcess {
 public:
  // `words` follow the program's name; `settings` are added to the environment (NAME=VALUE). Throws where it cannot be
  // started.
  ChildProcess(const std::vector<std::string>& words, const std::vector<std::string>& settings,
               const std::string& messages);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();  // ends the child

  // To wait for with poll(): readable where there is more to read, or it has ended.
  int descriptor() const { return pipe_.get(); }
  // The whole lines that have come since the last call; does not wait.
  std::vector<std::string> lines();
  // Once it has ended and all its lines are read.
  bool ended() const { return !pipe_; }
  void end();  // at once
  // After ended(): "was killed by SIGSEGV", "ended with exit code 3"; "" after success. Waits for the process.
  std::string failure();
  // The last line of its messages.
  std::string last_message() const;

 private:
  pid_t id_ = -1;
  FileHandle pipe_;
  std::string unread_, messages_;
};

}  // namespace neon
