#include "neon/train/progress.h"

#include <algorithm>
#include <cmath>

namespace neon {

namespace {

std::string count_text(double value) {
  if (value >= 1e6) return formatted("%.1fM", value / 1e6);
  if (value >= 1e4) return formatted("%.0fk", value / 1e3);
  return formatted("%.0f", value);
}

// Shows the share of time that was spent waiting for data.
std::string data_text(double waiting) { return waiting >= 0.01 ? formatted("  data %.0f %%", 100 * waiting) : ""; }

// "first: ", the begin of a line.
std::string phase_words(const std::string& phase) { return phase.empty() ? "" : phase + ": "; }

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kLogInterval = std::chrono::seconds(30);

}  // namespace

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e8) return "?";
  if (seconds < 10) return formatted("%.1f s", seconds);
  const auto whole = int64_t(std::lround(seconds));
  if (whole < 60) return formatted("%d s", int(whole));
  if (whole < 3600) return formatted("%d:%02d", int(whole / 60), int(whole % 60));
  return formatted("%d:%02d:%02d", int(whole / 3600), int(whole / 60 % 60), int(whole % 60));
}

std::string cost_text(double cost) {
  const double size = std::fabs(cost);
  return formatted(size == 0 || (size >= 0.001 && size < 1e6) ? "%.4f" : "%.4g", cost);
}

ProgressLine::ProgressLine(bool enabled, const std::string& log_file)
    : enabled_(enabled), log_(log_file.empty() ? nullptr : std::make_unique<LogFile>(log_file)) {
  last_ = std::chrono::steady_clock::now();
}

void ProgressLine::clear() { status_.clear(); }

bool ProgressLine::due() const {
  const auto interval =
      status_.terminal() ? std::chrono::duration_cast<std::chrono::milliseconds>(kTerminalInterval) : kLogInterval;
  return enabled_ && std::chrono::steady_clock::now() - last_ >= interval;
}

void ProgressLine::step(const ProgressState& s) {
  if (!due()) return;
  last_ = std::chrono::steady_clock::now();
  std::string line = phase_words(s.phase);
  line += formatted("epoch %d/%d  step %d/%d  cost %s  %s samples/s  %s left", int(s.epoch), int(s.epochs), int(s.step),
                    int(s.steps), cost_text(s.cost).c_str(), count_text(s.samples_per_second).c_str(),
                    duration_text(s.seconds_left).c_str());
  line += data_text(s.waiting);
  if (s.skipped) line += formatted("  skipped %d", int(s.skipped));
  if (!s.best.empty()) line += "  " + s.best;
  if (s.memory > 0) line += "  " + bytes_text(s.memory);
  if (status_.terminal()) status_.show(line);
  else print_message(line);
}

void ProgressLine::epoch(const ProgressState& s, const std::string& results) {
  std::string line =
      phase_words(s.phase) +
      formatted("epoch %*d/%d  cost %s", s.epochs > 9 ? 2 : 1, int(s.epoch), int(s.epochs), cost_text(s.cost).c_str()) +
      (s.output_costs.empty() ? "" : " (" + s.output_costs + ")") +
      formatted("  %s samples/s", count_text(s.samples_per_second).c_str()) + data_text(s.waiting);
  if (s.skipped) line += formatted("  skipped %d", int(s.skipped));
  if (!results.empty()) line += "  " + results;
  if (enabled_) message(line);
  else log(line);
}

void ProgressLine::log(const std::string& line) {
  if (!log_) return;
  log_->write(line);
  if (const std::string problem = log_->take_problem(); !problem.empty()) print_message("warning: " + problem);
}

void ProgressLine::message(const std::string& line) {
  clear();
  print_message(line);
  log(line);
}

void ProgressLine::listing(const std::string& lines) {
  clear();
  print_listing(lines);
}

void ProgressLine::waiting(const std::string& what) {
  if (what != waited_for_) message(what);
  waited_for_ = what;
}

ProgressLine::~ProgressLine() { clear(); }

}  // namespace neon
