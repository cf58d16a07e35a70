// The progress of a run for people, on stderr: one line that renews itself on a terminal, a plain line an epoch (and
// now and then within a long one) elsewhere.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "backends/device/device.h"
#include "neon/train/log_file.h"
#include "neon/train/terminal.h"

namespace neon {

struct ProgressState {
  int64_t epoch = 0, epochs = 0, step = 0, steps = 0;  // step within the epoch
  std::string phase;                                   // "": the run has no phases
  double cost = 0;                                     // mean of the last steps
  std::string output_costs;                            // of an epoch, by the name of the output; "": it has one
  double samples_per_second = 0;
  double seconds_left = 0;
  double waiting = 0;   // share of time spent waiting for data
  int64_t skipped = 0;  // steps skipped for overflow
  std::string best;     // "best Top1Misclass 2.13 %"; "": none yet
  double memory = 0;    // bytes that the run takes, of a GPU where it is on one
};

class ProgressLine : public Listener {
 public:
  // `enabled` false: nothing but messages. Epochs and messages go to the log file too, where one is named.
  ProgressLine(bool enabled, const std::string& log_file);
  // At most ten times a second on a terminal.
  void step(const ProgressState& state);
  // Whether step() would show something now.
  bool due() const;
  // The line that stays: of an epoch, with what the evaluation found.
  void epoch(const ProgressState& state, const std::string& results);
  // Takes away the line that renews itself, before others write.
  void clear();
  // A message of its own, above the line.
  void message(const std::string& line);
  // Lines of our own making, above the line; not to the log file.
  void listing(const std::string& lines);
  // To the log file alone.
  void log(const std::string& line);
  // The same, of what a device takes long for; once, however many programs do.
  void waiting(const std::string& what) override;
  ~ProgressLine() override;

 private:
  bool enabled_;
  StatusLine status_;
  std::string waited_for_;
  std::unique_ptr<LogFile> log_;
  std::chrono::steady_clock::time_point last_{};
};

// 75 -> "1:15"; seconds
std::string duration_text(double seconds);
// Four decimals, or four digits of what is too small or large for those.
std::string cost_text(double cost);

}  // namespace neon
