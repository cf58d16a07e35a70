#include "neon/train/log_file.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "neon/core/error.h"

namespace neon {

LogFile::LogFile(const std::string& path) try
    : logger_(std::make_shared<spdlog::logger>(
          "neon", std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path, 10'000'000, 5))) {
  logger_->flush_on(spdlog::level::info);
  logger_->set_error_handler([this](const std::string& reason) {
    if (!failing_) problem_ = text("cannot write the log file: ", reason, "; training goes on");
    failing_ = true;
  });
} catch (const spdlog::spdlog_ex& error) {
  fail(ErrorKind::failed, "-l ", path, ": the log file cannot be opened: ", error.what());
}

LogFile::~LogFile() = default;

void LogFile::write(const std::string& line) { logger_->info("{}", line); }

std::string LogFile::take_problem() { return std::exchange(problem_, {}); }

}  // namespace neon
