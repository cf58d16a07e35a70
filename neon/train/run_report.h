// Reports of a run while it goes on: to people on stderr, to the log file, to the metrics file.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "neon/train/progress.h"
#include "neon/train/results_table.h"
#include "neon/train/run_log.h"
#include "neon/train/run_setup.h"

namespace neon {

class RunReport {
 public:
  explicit RunReport(const RunSetup& setup);
  // For what a device takes long for.
  Listener& listener() { return line_; }
  // To people and the log file; to the log file alone.
  void message(const std::string& line) { line_.message(line); }
  void messages(const std::vector<std::string>& lines);
  // The same, unless the run has printed that line.
  void message_once(const std::string& line);
  void log(const std::string& line) { line_.log(line); }
  void listing(const std::string& lines) { line_.listing(lines); }
  void log_settings(uint64_t seed);

  // The metrics file; null where none is written.
  MetricsFile* metrics_file() { return log_ ? &log_->file() : nullptr; }
  void open_metrics_file(RunPlan& plan, int64_t eval_freq, const Position& position);
  void close_metrics_file(RunStatus status);
  // The table of results in the run's folder; `set` is the name of what is evaluated.
  void open_results(const std::string& set, const Position& position);
  void flush_metrics_file();
  void take_metrics_messages();

  // An epoch's steps begin, or go on after a stop, and end. `waited`: seconds that all steps of the run so far waited
  // for data. The end returns the seconds since their begin.
  void begin_steps(const Position& position, double waited);
  void step(int64_t step, double cost);
  // The step of a rule's second player.
  void player(int64_t step, double cost);
  void progress(const Position& position, double waited);
  double end_steps(double waited);
  void evaluation(int64_t epoch, const std::map<std::string, double>& results, double seconds);
  // The epoch that `position` has just completed: its numbers go to the metrics file, then its line to people.
  void epoch_metrics(const Position& position, const MeanCosts& costs, double rate,
                     const std::map<std::string, double>& results);
  void epoch_line(const Position& position, const MeanCosts& costs, const std::string& results);
  // Samples that were left out since the last call.
  void left_out();
  void clear_line() { line_.clear(); }

 private:
  ProgressState state_of(const Position& position, double cost) const;

  // Seconds of the steps of an epoch.
  struct Clock {
    double started = 0, took = 0, waited_before = 0, share_waiting = 0;
    int64_t first_step = 0;
    void read(double waited);
  };

  const RunSetup& setup_;
  ProgressLine line_;
  std::unique_ptr<RunLog> log_;
  std::unique_ptr<ResultsTable> results_;
  Clock clock_;
  std::optional<double> recent_cost_;  // running mean of the last steps
  std::set<std::string> printed_once_;
  std::vector<std::string> left_out_;  // messages so far about samples that were left out
};

}  // namespace neon
