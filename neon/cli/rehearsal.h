// Small trainings and measurements that leave nothing behind: for neon check, lr-find, overfit and grad-check.
#pragma once
#include <functional>
#include <memory>

#include "neon/cli/session.h"
#include "neon/train/batch_feed.h"
#include "neon/train/trainer.h"

namespace neon {

// A training without files, callbacks, evaluations and progress.
struct Rehearsal {
  OpenedSpec spec;
  RunOptions options;
  Data data;
  bool asked_for_gpu = false;
  uint64_t drawn = 0;  // the seed without a given one
  std::unique_ptr<Trainer> trainer;
  // Makes the trainer, whose steps then have the same weights, batches and random numbers as the first time.
  void start_again();
  // Costs of so many steps, fewer where one is not finite.
  std::vector<double> costs(int64_t steps);
};
// `change` changes spec and data before the programs are made. A config error for a spec with phases or a rule.
Rehearsal make_rehearsal(const CommandLine& line, OpenedSpec spec, const std::function<void(Rehearsal&)>& change);

// So many samples, one of each of as many parts of the set, at places in them that differ: in a set that repeats
// itself, as where classes alternate, every nth sample would be of one class.
Split spread_samples(const Split& from, int64_t count);

// The forward pass of one batch of the training set, spread evenly over it, with initial weights on the CPU.
class OneBatch {
 public:
  // `options` has the batch, no larger than the set. With `backward` there are gradients. Weights `taken` from a
  // checkpoint stand in the place of initial ones.
  OneBatch(const Experiment& experiment, const Data& data, const StepOptions& options, bool backward,
           const std::vector<NamedTensor>& taken = {});
  // The mean cost, with the same random draws at each call.
  double cost();
  // The place at which a number of that pass is first not finite; "" where all are finite.
  std::string not_finite() { return program_->first_nonfinite(0).text; }
  // The gradient in the last call of cost(); empty where the cost does not depend on the parameter.
  Tensor gradient(const std::string& parameter) const;
  const StepGraph& graph() const { return graph_; }
  // After a change call to_device().
  Variables& variables() { return variables_; }

 private:
  Split samples_;
  std::unique_ptr<BatchFeed> feed_;
  StepGraph graph_;
  Variables variables_;
  std::unique_ptr<Program> program_;
};

}  // namespace neon
