#include "neon/train/log_file.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "neon/core/message.h"

namespace neon {

namespace {

// Lines are put behind those of a log, which begin with "[2026-", and behind nothing else: it may be somebody's data.
const std::string& check_is_log(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) || std::filesystem::file_size(path, ignored) == 0) return path;
  std::string begin(6, '\0');
  std::ifstream(path, std::ios::binary).read(begin.data(), std::streamsize(begin.size()));
  for (char& letter : begin) letter = letter >= '0' && letter <= '9' ? '0' : letter;
  if (begin != "[0000-")
    fail(ErrorKind::data, "-l ", path, " is there and is no log of neon's; give another name or remove it");
  return path;
}

}  // namespace

LogFile::LogFile(const std::string& path) try
    : logger_(std::make_shared<spdlog::logger>(
          "neon", std::make_shared<spdlog::sinks::rotating_file_sink_mt>(check_is_log(path), 10'000'000, 5))) {
  logger_->flush_on(spdlog::level::info);
  logger_->set_error_handler([this](const std::string& reason) {
    if (!failing_) problem_ = text("cannot write the log file: ", reason, "; training goes on");
    failing_ = true;
  });
} catch (const spdlog::spdlog_ex& error) {
  fail(ErrorKind::failed, "-l ", path, ": the log file cannot be opened: ", error.what());
}

LogFile::~LogFile() = default;

void LogFile::write(const std::string& line) { logger_->info("{}", message_line(line)); }

std::string LogFile::take_problem() { return std::exchange(problem_, {}); }

}  // namespace neon
