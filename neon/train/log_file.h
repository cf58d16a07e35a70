// The log file of a run (-l): a line for every message and epoch, with the time. Rotates at 10 MB, five files.
#pragma once
#include <memory>
#include <string>

namespace spdlog {
class logger;
}

namespace neon {

class LogFile {
 public:
  // Throws a failed error when the file cannot be opened, a data error when it is there and is no log.
  explicit LogFile(const std::string& path);
  ~LogFile();
  void write(const std::string& line);
  // What went wrong for the first time since the last call, or "". A log that fails must not stop a training.
  std::string take_problem();

 private:
  std::string problem_;
  bool failing_ = false;
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace neon
