// Evaluation: cost and metrics over a whole set, every sample counted once whatever the batch.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "neon/train/batch_buckets.h"
#include "neon/train/batch_feed.h"
#include "neon/train/experiment.h"

namespace neon {

// Samples to evaluate, and what people call them.
struct EvaluatedSet {
  const Split& split;  // may be empty
  const char* name;    // "validation" or "test"
};
// While training goes on, and what chooses among weights: the validation samples, where there are any.
EvaluatedSet set_during_training(const Data& data);
// The set for final weights: the test samples, where there are any.
EvaluatedSet set_at_end(const Data& data);

class Evaluator {
 public:
  // Evaluates the net of a phase. `variables` are those of the training, or any others with the same parameters. With
  // `running_means` (a spec's ema) the arrays NAME/ema of weights and statistics are used in place of NAME. The set's
  // split must outlive this. The metrics `kept` are measured beside those of
  // the spec; kept() has their sums.
  Evaluator(const Experiment& experiment, const TrainedPhase& phase, const DataLayout& layout, const EvaluatedSet& set,
            StepOptions options, Variables& variables, bool running_means, const DeviceOptions& device,
            const std::vector<const Metric*>& kept = {});
  Evaluator(const Experiment& experiment, const DataLayout& layout, const EvaluatedSet& set, StepOptions options,
            Variables& variables, bool running_means, const DeviceOptions& device,
            const std::vector<const Metric*>& kept = {})
      : Evaluator(experiment, experiment.last_phase(), layout, set, std::move(options), variables, running_means,
                  device, kept) {}
  // Each rank of several (DeviceOptions) passes its share of the samples, and gets the results of all samples.
  // "cost" and the names of the metrics. Empty: a signal came while samples were being read.
  std::map<std::string, double> run();
  // The sums of `kept`, in its order; empty where the net is not measured by metrics.
  const std::vector<std::vector<std::vector<double>>>& kept() const { return kept_; }
  // Samples that the last run's numbers are of: without bad images that were left out. A data error where none is left.
  int64_t samples_counted() const;
  // Samples that a run passes through the net, each of its views counted.
  int64_t samples_passed() const { return set_.split.size() * views_; }

 private:
  void take_variables();
  // Adds the metrics' numbers of a batch, `back` runs of its program before the last, to what they were so far.
  void add_metrics(const Program& program, std::vector<std::vector<std::vector<double>>>& sums, int64_t batch,
                   int back) const;
  // The place in the set of row `row` of a batch; rows that fill up the last batch have places behind the set.
  size_t place_of(int64_t batch, int64_t row) const;
  // How many runs of the programs can wait before their results are read.
  int depth() const;
  void add_all_ranks(double& cost, double& counted, std::vector<std::vector<std::vector<double>>>& sums) const;
  const TrainedPhase& phase_;
  std::vector<const Metric*> metrics_;  // none of a rule, which has results of its own; then those that are kept
  const int64_t reset_period_;
  const size_t keeps_;  // the last ones of metrics_
  std::vector<std::vector<std::vector<double>>> kept_;
  const EvaluatedSet set_;
  int64_t batch_, views_ = 1;
  BatchShare share_;  // of a batch, that this rank computes
  Variables& source_;
  Variables copies_;  // used with running means only
  bool running_means_;
  Ranks* const ranks_;  // null: this process is alone
  std::unique_ptr<BatchFeed> feed_;
  std::optional<BatchBuckets> buckets_;
  std::vector<std::unique_ptr<Program>> programs_;  // of each bucket
  std::vector<int32_t> order_;                      // of the samples in a pass; empty: that of the set
  int64_t batches_ = 0;                             // run so far, in whole passes at the end of each
};

// For what is not finite: "not a number" or "infinite".
const char* not_finite_words(double value);

// Why results are not a number though the cost is one, by their names: "AUC_POS_1 takes two kinds of samples apart, and
// SAMPLES are all of one".
std::map<std::string, std::string> undefined_results(const std::map<std::string, double>& results,
                                                     const Experiment& experiment, const std::string& samples);

// "Top1Misclass 2.13 %  test cost 0.0712": shares, as the metrics of the experiment say, in percent.
// `set` is the name of what was evaluated.
std::string results_text(const std::map<std::string, double>& results, const Experiment& experiment,
                         const std::string& set);

}  // namespace neon
