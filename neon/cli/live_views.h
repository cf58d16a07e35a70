// Nets, filters, evaluations and pictures of runs that go on, for a live page.
#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "neon/cli/command_line.h"
#include "neon/report/run.h"

namespace neon {

// Reads these from a run's folder again whenever its files change. A run writes its evaluation at its end, so until
// then a thread evaluates each new best checkpoint, and rests for 20 times as long as that took.
class LiveViews {
 public:
  // `begun`: the runs with the views that they have now. Both are borrowed.
  LiveViews(const CommandLine& line, const std::vector<ReportedRun>& begun);
  ~LiveViews();
  LiveViews(const LiveViews&) = delete;
  // Gives the same runs, read again, their newest views.
  void give(std::vector<ReportedRun>& runs);

 private:
  struct Shown {
    std::string folder;                // of the run; "": views stay as they are
    std::string files;                 // their times and sizes when they were read
    std::string evaluated;             // the same of the checkpoint that the thread evaluated last
    bool going = false;                // the run goes on
    RunViews views;                    // of the folder
    std::optional<RunViews> measured;  // of that checkpoint, while it is the newest
  };
  void evaluate_best(const std::stop_token& ended);
  bool evaluate(size_t run);

  const CommandLine& line_;
  const size_t count_;
  std::mutex mutex_;  // of what follows
  std::vector<Shown> shown_;
  std::jthread thread_;
};

}  // namespace neon
