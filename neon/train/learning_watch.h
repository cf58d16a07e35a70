// Whether a run learns: its training cost beside that of a constant answer, and beside where it began.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace neon {

class LearningWatch {
 public:
  // Computes the cost of a constant answer. Called once, after the first epoch.
  void set_constant(std::function<std::optional<double>()> compute) { compute_constant_ = std::move(compute); }
  // After each step of an epoch of so many, counted from 0.
  void step(double cost, int64_t step, int64_t steps);
  // After the last step of an epoch: what the cost grew to, if that is beyond any sense; otherwise "".
  std::string divergence();
  // After an evaluation of so many epochs with its cost, and the training cost of its epoch. Returns once a note that
  // the one has risen for some evaluations while the other fell; otherwise "".
  std::string evaluated(int64_t epoch, double cost, double train_cost, const std::string& set);
  // Ends an epoch. Returns once a warning that the cost is no better than a constant answer's, and does not fall;
  // otherwise "".
  std::string end_epoch(int64_t epoch, double mean_cost);

 private:
  std::string warning(int64_t epoch, double mean_cost);
  std::optional<double> constant();
  double late_cost() const { return count_ ? sum_ / double(count_) : 0; }

  std::function<std::optional<double>()> compute_constant_;  // empty once it is known
  std::optional<double> constant_, first_;                   // first_: the first step's cost
  double sum_ = 0;                                           // over the second half of the epoch
  int64_t count_ = 0, steps_ = 0;                            // steps_: all that were seen
  bool warned_ = false;
  // The evaluation with the least cost so far, its epoch and training cost, and how many followed.
  std::optional<double> least_;
  double train_then_ = 0;
  int64_t least_epoch_ = 0, since_ = 0;
  bool noted_ = false;  // overfitting
};

}  // namespace neon
