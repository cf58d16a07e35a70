#include "neon/train/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "neon/core/message.h"
#include "neon/train/output_reader.h"

namespace neon {

namespace {

std::atomic<bool> without_messages = false;

bool results_to_terminal() {
  static const bool terminal = isatty(STDOUT_FILENO);
  return terminal;
}

// Bytes that stdout holds where it is no terminal. As long as more fit, nobody needs to wait for a reader.
size_t held = 0;
constexpr size_t kMostHeld = PIPE_BUF;  // what a pipe that takes some takes whole

void hold(std::string_view bytes) {
  if (held + bytes.size() > kMostHeld) {
    if (!wait_for_reader(STDOUT_FILENO)) return;
    std::fflush(stdout);
    held = 0;
  }
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  held += bytes.size();
}

void put(std::FILE* stream, std::string_view bytes) {
  if (stream == stderr && without_messages) return;
  if (stream == stdout && !results_to_terminal()) return hold(bytes);
  if (wait_for_reader(fileno(stream))) std::fwrite(bytes.data(), 1, bytes.size(), stream);
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value && *value;
}

// The terminal's width as it is now: a window may change.
size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// The messages printed, where each is printed once.
class PrintedOnce {
 public:
  static PrintedOnce& of_process() {
    static PrintedOnce all;
    return all;
  }
  void begin() {
    const std::lock_guard lock(mutex_);
    wanted_ = true;
  }
  bool is_new(const std::string& line) {
    const std::lock_guard lock(mutex_);
    return !wanted_ || printed_.insert(line).second;
  }

 private:
  std::mutex mutex_;
  bool wanted_ = false;
  std::set<std::string> printed_;
};

}  // namespace

void print_message(std::string_view line) {
  const std::string shown = message_line(line);
  if (PrintedOnce::of_process().is_new(shown)) put(stderr, shown + "\n");
}

void print_each_message_once() { PrintedOnce::of_process().begin(); }

void leave_messages_out() { without_messages = true; }

void print_listing(std::string_view lines) {
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    put(stderr, printable(lines.substr(0, end)) + "\n");
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

void print_result(std::string_view line) { put(stdout, printable(line) + "\n"); }

void print_lines(std::string_view lines) {
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    print_result(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

void print_part(std::string_view part) {
  if (part == "\n" || !results_to_terminal()) put(stdout, part);
  else put(stdout, printable(part));
  std::fflush(stdout);
  held = 0;
}

void print_data(std::string_view content) {
  if (results_to_terminal()) print_lines(content);
  else put(stdout, content);
}

void print_record(std::string_view record) {
  if (results_to_terminal()) return print_result(record);
  put(stdout, std::string(record) + "\n");
}

std::string formatted(const char* pattern, ...) {
  va_list values, again;
  va_start(values, pattern);
  va_copy(again, values);
  const int size = std::vsnprintf(nullptr, 0, pattern, values);
  va_end(values);
  std::string out(size_t(std::max(size, 0)), '\0');
  std::vsnprintf(out.data(), out.size() + 1, pattern, again);
  va_end(again);
  return out;
}

StatusLine::StatusLine() : terminal_(isatty(STDERR_FILENO)) {
  const char* term = std::getenv("TERM");
  if (term && std::string_view(term) == "dumb") terminal_ = false;
  colour_ = terminal_ && !is_set("NO_COLOR");
}

void StatusLine::show(std::string_view line) {
  const size_t width = columns() - 1;
  std::string shown = printable(line);
  if (shown.size() > width) shown = printable(line, width - std::min<size_t>(width, 3));  // and "..."
  clear();
  put(stderr, colour_ ? "\033[2m" + shown + "\033[0m" : shown);
  std::fflush(stderr);
  shown_ = true;
}

void StatusLine::clear() {
  if (shown_) put(stderr, "\r\033[K");
  shown_ = false;
}

void flush_results() {
  if (!wait_for_reader(STDOUT_FILENO)) return;
  held = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    fail(ErrorKind::failed, "results cannot be written to standard output: ", std::strerror(errno));
}

bool discard_results() { return std::freopen("/dev/null", "w", stdout) != nullptr; }

}  // namespace neon
