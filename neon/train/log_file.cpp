#include "neon/train/log_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "neon/core/message.h"
#include "neon/train/atomic_file.h"
#include "neon/train/log_part.h"

namespace neon {

namespace {

constexpr const char* kFirstLine = "log ";  // and the name that the log had when it began

std::string first_line(const std::string& path) {
  std::string out;
  std::getline(std::ifstream(path, std::ios::binary), out);
  return out.substr(0, 1000);
}

// Lines of a log begin with "[2026-".
bool begins_as_log(std::string line) {
  line.resize(std::min<size_t>(line.size(), 6));
  for (char& letter : line) letter = letter >= '0' && letter <= '9' ? '0' : letter;
  return line == "[0000-";
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

// "run.log" and 3: "run.3.log".
std::string older_name(const std::string& path, int number) {
  const std::filesystem::path whole = path;
  return (whole.parent_path() / text(whole.stem().string(), ".", number, whole.extension().string())).string();
}

// Whether a file is an older part of this log, so that it may be removed: its first line names the log.
bool is_part_of(const std::string& older, const std::string& path) {
  const std::string line = first_line(older);
  return begins_as_log(line) && line.ends_with(kFirstLine + file_name_of(path));
}

}  // namespace

void check_log_place(const std::string& path) {
  std::error_code ignored;
  if (!is_file(path) || std::filesystem::file_size(path, ignored) == 0) return;
  if (!begins_as_log(first_line(path)))
    fail(ErrorKind::data, "-l ", path, " is there and is no log of neon's; give another name or --overwrite");
}

LogFile::LogFile(const std::string& path, size_t most_bytes)
    : path_(is_file(path) ? follow_links(path) : path), most_bytes_(most_bytes) {
  check_log_place(path);
  open();
  rotates_ = is_file(path_);  // a terminal or a pipe is no file to rename
}

void LogFile::open() {
  const auto cannot = [&](const std::string& why) {
    fail(ErrorKind::failed, "-l ", path_, ": the log file cannot be opened: ", why);
  };
  try {
    make_folder_of(path_);
  } catch (const Error& error) {
    cannot(error.what());
  }
  if (const FileHandle tried(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)); !tried)
    cannot(system_message(errno));
  writer_ = part<LogPart>().open(path_, [this](const std::string& reason) {
    if (!failing_) problem_ = text("cannot write the log file: ", reason, "; training goes on");
    failing_ = true;
  });
  std::error_code error;
  const auto size = std::filesystem::file_size(path_, error);
  bytes_ = error ? 0 : size_t(size);
  if (bytes_ == 0) put(kFirstLine + file_name_of(path_));
}

LogFile::~LogFile() = default;

void LogFile::put(const std::string& line) {
  constexpr size_t kOfTime = 42;  // "[2026-01-02 03:04:05.678] [neon] [info] " and the line's end
  writer_->write(message_line(line));
  bytes_ += line.size() + kOfTime;
}

void LogFile::write(const std::string& line) {
  if (bytes_ > 0 && bytes_ + line.size() > most_bytes_ && rotates_) rotate();
  put(line);
}

// run.4.log becomes run.5.log, which is removed, and so on. A file of somebody else's in that row is left alone, and
// then the log grows in one file.
void LogFile::rotate() {
  int last = 1;  // the first free number, or the one to be removed
  for (;; ++last) {
    const std::string older = older_name(path_, last);
    if (!is_there(older)) break;
    if (is_part_of(older, path_)) {
      if (last == kOlder) break;
      continue;
    }
    problem_ = text(older, " is no part of the log ", path_, ", which therefore stays one file");
    rotates_ = false;
    return;
  }
  writer_.reset();
  for (int number = last; number >= 1; --number)
    std::rename((number == 1 ? path_ : older_name(path_, number - 1)).c_str(), older_name(path_, number).c_str());
  open();
}

std::string LogFile::take_problem() { return std::exchange(problem_, {}); }

}  // namespace neon
