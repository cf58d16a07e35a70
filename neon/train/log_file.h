// The log file of a run (-l): a line for every message and epoch, with the time. At 10 MB it becomes NAME.1.log and a
// new one begins; five older ones are kept.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

namespace neon {

class LogWriter;

// Throws a data error where a file is there that is no log: lines are put behind nobody's data.
void check_log_place(const std::string& path);

class LogFile {
 public:
  // Throws a failed error if the file cannot be opened, and what check_log_place throws.
  explicit LogFile(const std::string& path, size_t most_bytes = 10'000'000);
  ~LogFile();
  void write(const std::string& line);
  // The first failure since the last call, or "". A log that fails must not stop a training.
  std::string take_problem();

 private:
  static constexpr int kOlder = 5;
  void open();
  void put(const std::string& line);
  void rotate();
  const std::string path_;
  const size_t most_bytes_;
  size_t bytes_ = 0;     // of the file
  bool rotates_ = true;  // no file of somebody else's is in the way
  std::string problem_;
  bool failing_ = false;
  std::unique_ptr<LogWriter> writer_;
};

}  // namespace neon
