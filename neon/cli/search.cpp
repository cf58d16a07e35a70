// neon search SPEC: trials of a spec's ranges, each a neon of its own.
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <exception>
#include <memory>
#include <set>
#include <utility>

#include "neon/cli/best_spec.h"
#include "neon/cli/child_process.h"
#include "neon/cli/fold_means.h"
#include "neon/cli/objective.h"
#include "neon/cli/search_plan.h"
#include "neon/cli/verb.h"
#include "neon/core/counted.h"
#include "neon/search/pruning.h"
#include "neon/train/clock.h"
#include "neon/train/progress.h"
#include "neon/train/signals.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kLookMilliseconds = 200;  // between looks at signals

struct RunningTrial {
  size_t row;
  int64_t slot;
  double began;
  std::unique_ptr<ChildProcess> process;
  bool reported = false;  // its last line has come, or it was pruned
};

class Search {
 public:
  explicit Search(const CommandLine& line)
      : line_(line),
        plan_(plan_search(line)),
        method_(find_method(line.of_verb.method)),
        sampler_(method_.make(plan_.space, line.of_verb.trials, plan_.seed)),
        folder_(plan_.folder, plan_.settings) {}

  int run() {
    take_former();
    if (const std::string note = sampler_->note(); !note.empty()) print_message(note);
    const double began = now_seconds();
    while (!stop_signal()) {
      while (int64_t(running_.size()) < plan_.at_once && may_start() && start_next()) {
      }
      if (running_.empty()) break;
      note_end();
      wait();
      for (RunningTrial& one : running_) look(one);
      std::erase_if(running_, [](const RunningTrial& one) { return !one.process; });
    }
    running_.clear();
    if (ends_ && !stop_signal()) std::rethrow_exception(ends_);
    return report(now_seconds() - began);
  }

 private:
  std::vector<Trial>& trials() { return folder_.trials(); }
  bool prunes() const { return method_.prunes || line_.of_verb.prune; }

  // Trials that were cut off run again with their values; the sampler gets to know the others.
  void take_former() {
    int64_t finished = 0;
    for (size_t row = 0; row < trials().size(); ++row) {
      Trial& trial = trials()[row];
      if (const std::string why = sampler_->objection(trial.number, plan_.space.point(trial.values)); !why.empty())
        fail(ErrorKind::config, folder_.file("trials.jsonl"), ": ", why);
      if (trial.status == Trial::Status::running) again_.push_back(row), trial.curve.clear();
      else ++finished, tell(trial), alike_.add(trial);
    }
    alike_.began_anew = true;
    if (!trials().empty())
      print_message(text(plan_.folder, ": going on after ", finished, finished == 1 ? " trial" : " trials",
                         again_.empty() ? "" : text("; ", again_.size(), " cut off, now from their start")));
  }

  void tell(const Trial& trial) {
    std::optional<double> cost;
    if (trial.objective) cost = folder_.objective().cost(*trial.objective);
    sampler_->tell(trial.number, plan_.space.point(trial.values), cost);
  }

  void check_spec() const {
    check_unchanged(line_, plan_.path, plan_.settings.at("spec").get<std::string>(),
                    "restore it and give the same command to go on, or give another --folder");
  }

  // Running trials go on to their ends where no other may start: what they tell may change that.
  bool may_start() {
    ends_ = nullptr;
    try {
      check_spec();
      refuse_spec_that_fails_always();
    } catch (const Error& error) {
      ends_ = std::current_exception();
      why_ends_ = error.what();
    }
    return !ends_;
  }

  // Trials may run for hours after the last one began.
  void note_end() {
    const bool has_more = !again_.empty() || int64_t(trials().size()) < line_.of_verb.trials;
    if (!ends_ || !has_more || std::exchange(noted_, why_ends_) == why_ends_) return;
    print_message(text("note: no further trial begins, ", running_.size(), " still ",
                       running_.size() == 1 ? "runs" : "run", ": ", why_ends_));
  }

  bool start_next() {
    size_t row = 0;
    if (!again_.empty()) {
      row = again_.front();
      again_.erase(again_.begin());
    } else {
      const auto number = int64_t(trials().size()) + 1;
      if (number > line_.of_verb.trials) return false;
      const auto point = sampler_->ask(number);
      if (!point) return false;
      Trial trial;
      trial.number = number, trial.values = plan_.space.values(*point), trial.seed = plan_.seed;
      row = trials().size();
      trials().push_back(std::move(trial));
      folder_.save();
    }
    const Trial& trial = trials()[row];
    const int64_t slot = free_slot();
    running_.push_back(
        {row, slot, now_seconds(),
         std::make_unique<ChildProcess>(words_of_trial(line_, plan_, trial, slot, prunes()), settings_of_trial(plan_),
                                        folder_.file(text("logs/", trial.number, ".txt")))});
    return true;
  }

  int64_t free_slot() const {
    int64_t out = 0;
    while (std::ranges::count(running_, out, &RunningTrial::slot)) ++out;
    return out;
  }

  void wait() const {
    std::vector<pollfd> all;
    for (const RunningTrial& one : running_) all.push_back({one.process->descriptor(), POLLIN, 0});
    poll(all.data(), all.size(), kLookMilliseconds);
  }

  void look(RunningTrial& one) {
    Trial& trial = trials()[one.row];
    for (const std::string& line : one.process->lines())
      if (!one.reported) take_line(one, trial, line);
    if (!one.process->ended()) return;
    const std::string failure = one.process->failure();
    if (!one.reported) {
      const std::string last = one.process->last_message();
      trial.status = Trial::Status::failed;
      trial.cause = (failure.empty() ? "ended without a result" : failure) + (last.empty() ? "" : ": " + last);
    }
    trial.seconds = std::round((now_seconds() - one.began) * 1000) / 1000;
    one.process.reset();
    alike_.add(trial);
    finish(trial);
  }

  void take_line(RunningTrial& one, Trial& trial, const std::string& words) {
    const Json line = Json::parse(words, nullptr, false);
    if (!line.is_object()) return;
    if (line.contains("metric") && folder_.objective().name.empty()) {
      folder_.set_objective({line["metric"], line["better"] == "higher"});
      if (line["set"] == "test") print_message("note: without a validation set, trials are compared by the test set");
    }
    const auto number = line.find("objective");
    const bool finite = number != line.end() && number->is_number();
    if (line.contains("status")) {
      const std::string status = line["status"];
      one.reported = true;
      trial.epochs = line.value("epochs", int64_t(0));
      trial.cause = line.value("cause", "");
      if (finite) trial.objective = number->get<double>();
      if (const auto cost = line.find("cost"); cost != line.end() && cost->is_number())
        trial.cost = cost->get<double>();
      trial.status = status == "done" && finite ? Trial::Status::done
                     : status == "diverged"     ? Trial::Status::diverged
                                                : Trial::Status::failed;
      if (status == "done" && !finite) trial.cause = "its objective is no finite number";
      if (status == "stopped") trial.cause = "was stopped by a signal";
      trial.of_spec = line.value("kind", "") == "config";
      return;
    }
    if (!finite) return;
    trial.epochs = line["epoch"];
    trial.curve.emplace_back(trial.epochs, number->get<double>());
    const int64_t epochs = line["of"];
    const bool ends = (method_.prunes && leaves_at_rung(trial, trials(), folder_.objective(), epochs)) ||
                      (line_.of_verb.prune && is_below_median(trial, trials(), folder_.objective(), epochs));
    if (!ends) return;
    trial.status = Trial::Status::pruned;
    trial.objective = trial.curve.back().second;
    one.reported = true;
    one.process->end();
  }

  // Trials of other values of all ranges that fail with one message have a cause in the spec: the next would fail, too.
  void refuse_spec_that_fails_always() const {
    constexpr int64_t kEnough = 3;
    if (alike_.others || alike_.began_anew || alike_.count < kEnough || !all_ranges_varied()) return;
    fail(ErrorKind::config, alike_.count, " trials of other values failed alike, so the search ends: ", alike_.cause);
  }

  bool all_ranges_varied() const {
    return std::ranges::all_of(plan_.space.ranges(), [&](const SearchRange& range) {
      const bool choice = range.kind == SearchRange::Kind::choice;
      if (choice ? range.options.size() == 1 : range.low == range.high) return true;
      std::set<std::string> seen;
      for (const Trial& trial : folder_.trials())
        if (const auto value = trial.values.find(range.name); trial.status == Trial::Status::failed)
          seen.insert(value == trial.values.end() ? "" : value->second);
      return seen.size() >= (choice ? range.options.size() : 2);
    });
  }

  void finish(const Trial& trial) {
    tell(trial);
    folder_.save();
    print_message(text("trial ", trial.number, " of ", line_.of_verb.trials, ": ", words_of(trial)));
    if (folder_.best() == &trial && may_start()) write_best(trial);
  }

  void write_best(const Trial& trial) const {
    check_spec();
    write_best_spec(folder_.file(kBestSpec), line_, plan_, trial, words_of(trial));
  }

  // "done, Misclassification 0.031; lr 0.01, units 50"
  std::string words_of(const Trial& trial) const {
    std::vector<std::string> values;
    for (const auto& [name, value] : trial.values) values.push_back(text(name, " ", value));
    return text(name_of(trial.status),
                trial.objective ? text(", ", folder_.objective().name, formatted(" %.6g", *trial.objective)) : "", "; ",
                join(values, ", "), trial.cause.empty() ? "" : text(" (", trial.cause, ")"));
  }

  int report(double seconds) {
    const int signal = stop_signal();
    if (signal) {
      print_result(text("stopped after ", counted(finished(), "trial"), "; the same command goes on"));
      return 128 + signal;
    }
    const Trial* const best = folder_.best();
    if (!best) {
      const std::string first = trials().empty() ? "" : text("; trial 1: ", words_of(trials().front()));
      fail(ErrorKind::failed, "no trial was trained to its end", first, "; ", folder_.file("trials.jsonl"), " has all");
    }
    std::vector<std::string> counts;
    for (const auto status :
         {Trial::Status::done, Trial::Status::pruned, Trial::Status::failed, Trial::Status::diverged})
      if (const auto count = std::ranges::count(trials(), status, &Trial::status))
        counts.push_back(text(count, " ", name_of(status)));
    write_best(*best);  // a search that was killed may have left it out
    print_result(text("best: trial ", best->number, ", ", words_of(*best)));
    for (const std::string& line : fold_lines(trials(), folder_.objective())) print_result(line);
    print_result(text(trials().size(), " trials: ", join(counts, ", "), ", in ", duration_text(seconds)));
    print_result(text("wrote ", folder_.file("trials.jsonl"), ", ", folder_.file(kBestSpec)));
    return 0;
  }

  int64_t finished() {
    return std::ranges::count_if(trials(), [](const Trial& one) { return one.status != Trial::Status::running; });
  }

  const CommandLine& line_;
  const SearchPlan plan_;
  const SearchMethod& method_;
  const std::unique_ptr<Sampler> sampler_;
  TrialFolder folder_;
  const SignalGuard signals_;
  std::vector<RunningTrial> running_;
  std::vector<size_t> again_;  // rows of trials that were cut off
  // Trials that failed with one message about the spec, and whether there were any others. Former ones count once
  // another has ended: data may have changed since.
  struct Alike {
    std::string cause;
    int64_t count = 0;
    bool others = false, began_anew = true;
    void add(const Trial& trial) {
      began_anew = false;
      if (count == 0) cause = trial.cause;
      if (trial.of_spec && trial.cause == cause) ++count;
      else others = true;
    }
  } alike_;
  std::exception_ptr ends_;       // why no further trial may start
  std::string why_ends_, noted_;  // its message; the message that a note had last
};

int run_search(const CommandLine& line) {
  const VerbOptions& options = line.of_verb;
  if (options.curve && !options.objective)
    fail(ErrorKind::config, "option --curve does nothing without --objective; a search's trials.jsonl has the curves");
  if (options.objective) {
    if (!options.folder.empty() || options.prune)
      fail(ErrorKind::config, "--objective trains one trial and keeps nothing; leave --folder and --prune out");
    return run_objective(line);
  }
  outlive_closed_pipes();
  return Search(line).run();
}

}  // namespace

NEON_VERB(run_search, "search", 25, takes_step | takes_devices | takes_values | computes, "SPEC",
          "search the ranges of a spec, {search: {log: [1e-4, 1e-1]}}, for the best values");

}  // namespace neon
