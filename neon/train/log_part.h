// Lines of a log with their time, by spdlog, in a module of its own.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "neon/core/part.h"

namespace neon {

class LogWriter {
 public:
  virtual ~LogWriter() = default;
  virtual void write(const std::string& line) = 0;
};

struct LogPart {
  static constexpr PartName kName = {"log", "log files need", "libspdlog-dev"};
  // `failed` gets the reason where a line cannot be written.
  std::unique_ptr<LogWriter> (*open)(const std::string& path, const std::function<void(const std::string&)>& failed);
};

}  // namespace neon
