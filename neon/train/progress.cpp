#include "neon/train/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace neon {

namespace {

std::string format(const char* pattern, auto... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, pattern, values...);
  return buffer;
}

std::string count_text(double value) {
  if (value >= 1e6) return format("%.1fM", value / 1e6);
  if (value >= 1e4) return format("%.0fk", value / 1e3);
  return format("%.0f", value);
}

// Of the share of time that was spent waiting for data.
std::string data_text(double waiting) { return waiting >= 0.01 ? format("  data %.0f %%", 100 * waiting) : ""; }

bool set(const char* name) {
  const char* value = std::getenv(name);
  return value && *value;
}

// Of the terminal as it is now: a window may change.
size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kLogInterval = std::chrono::seconds(30);

}  // namespace

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e8) return "?";
  if (seconds < 10) return format("%.1f s", seconds);
  const auto whole = int64_t(std::lround(seconds));
  if (whole < 60) return format("%d s", int(whole));
  if (whole < 3600) return format("%d:%02d", int(whole / 60), int(whole % 60));
  return format("%d:%02d:%02d", int(whole / 3600), int(whole / 60 % 60), int(whole % 60));
}

std::string cost_text(double cost) {
  const double size = std::fabs(cost);
  return format(size == 0 || (size >= 0.001 && size < 1e6) ? "%.4f" : "%.4g", cost);
}

ProgressLine::ProgressLine(bool enabled, const std::string& log_file)
    : enabled_(enabled),
      terminal_(isatty(STDERR_FILENO)),
      log_(log_file.empty() ? nullptr : std::make_unique<LogFile>(log_file)) {
  const char* term = std::getenv("TERM");
  if (term && std::string(term) == "dumb") terminal_ = false;
  colour_ = terminal_ && !set("NO_COLOR");
  last_ = std::chrono::steady_clock::now();
}

void ProgressLine::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void ProgressLine::step(const ProgressState& s) {
  if (!enabled_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ <
      (terminal_ ? std::chrono::duration_cast<std::chrono::milliseconds>(kTerminalInterval) : kLogInterval))
    return;
  last_ = now;
  std::string line = format("epoch %d/%d  step %d/%d  cost %s  %s samples/s  %s left", int(s.epoch), int(s.epochs),
                            int(s.step), int(s.steps), cost_text(s.cost).c_str(),
                            count_text(s.samples_per_second).c_str(), duration_text(s.seconds_left).c_str());
  line += data_text(s.waiting);
  if (s.skipped) line += format("  skipped %d", int(s.skipped));
  if (terminal_) {
    line.resize(std::min(line.size(), columns() - 1));
    clear();
    std::fputs((colour_ ? "\033[2m" + line + "\033[0m" : line).c_str(), stderr);
    std::fflush(stderr);
    shown_ = true;
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
}

void ProgressLine::epoch(const ProgressState& s, const std::string& results) {
  std::string line = format("epoch %*d/%d  cost %s  %s samples/s", s.epochs > 9 ? 2 : 1, int(s.epoch), int(s.epochs),
                            cost_text(s.cost).c_str(), count_text(s.samples_per_second).c_str()) +
                     data_text(s.waiting);
  if (s.skipped) line += format("  skipped %d", int(s.skipped));
  if (!results.empty()) line += "  " + results;
  if (enabled_) message(line);
  else log(line);
}

void ProgressLine::log(const std::string& line) {
  if (!log_) return;
  log_->write(line);
  if (const std::string problem = log_->take_problem(); !problem.empty())
    std::fprintf(stderr, "warning: %s\n", problem.c_str());
}

void ProgressLine::message(const std::string& line) {
  clear();
  std::fprintf(stderr, "%s\n", line.c_str());
  log(line);
}

void ProgressLine::waiting(const std::string& what) {
  if (what != waited_for_) message(what);
  waited_for_ = what;
}

ProgressLine::~ProgressLine() { clear(); }

}  // namespace neon
