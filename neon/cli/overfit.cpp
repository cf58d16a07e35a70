// neon overfit SPEC: trains one batch again and again. A net that cannot learn even that has a fault.
#include <algorithm>

#include "neon/cli/chart.h"
#include "neon/cli/rehearsal.h"
#include "neon/cli/verb.h"
#include "neon/train/constant_cost.h"
#include "neon/train/progress.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr double kLearnt = 0.1;  // of the cost of a constant answer

// A run's schedule in as many steps as are trained here, however many epochs it has.
struct ShorterSchedule : Schedule {
  ShorterSchedule(Made<Schedule> of_run, int64_t epochs, int64_t steps)
      : of_run(std::move(of_run)), epochs(epochs), steps(steps) {}
  const void* params_address() const override { return nullptr; }
  double rate(double base, const Progress& at) const override {
    return of_run->rate(base, {at.step * epochs / steps, at.step * epochs, steps, epochs});
  }
  Made<Schedule> of_run;
  int64_t epochs, steps;
};

int run_overfit(const CommandLine& line) {
  const int64_t steps = line.of_verb.iterations.value_or(kUsualIterations);
  Rehearsal rehearsal = make_rehearsal(line, open_spec(line, only_operand(line)), [&](Rehearsal& made) {
    ExperimentParams& params = made.spec.experiment->params;
    const int64_t batch = std::min(made.options.batch_size.value_or(params.batch_size), made.data.train.size());
    made.data.train = spread_samples(made.data.train, batch);
    made.options.batch_size = batch;
    const int64_t epochs = made.options.epochs.value_or(params.epochs);
    params.optimizer->change_each([&](Optimizer& optimizer) {
      Made<Schedule>& schedule = optimizer.common.schedule;
      if (schedule) schedule = Made<Schedule>(std::make_shared<ShorterSchedule>(schedule, epochs, steps));
    });
    made.options.epochs = steps;  // of one step each
    params.augment.clear();
    params.accumulate = 1;
  });
  const std::vector<double> costs = rehearsal.costs(steps);
  const auto constant =
      cost_of_constant(*rehearsal.spec.experiment, rehearsal.data, rehearsal.trainer->steps().graph().outputs.size());
  if (constant && *constant <= 0)
    fail(ErrorKind::failed, "the ", rehearsal.data.train.size(),
         " samples of the batch have one target, so a net learns ",
         "them without a look at them; take a larger batch (-z N)");
  if (costs.empty()) fail(ErrorKind::diverged, "the first step on the batch is not finite");
  for (const std::string& row : chart_lines(costs, double(costs.size()), "steps")) print_result(row);
  print_result(text("one batch of ", rehearsal.data.train.size(), " samples: cost ", cost_text(costs.front()), " -> ",
                    cost_text(costs.back()), " in ", costs.size(), " steps",
                    constant ? text("; the same answer for every sample: ", cost_text(*constant)) : ""));
  if (int64_t(costs.size()) < steps)
    fail(ErrorKind::diverged, "the training diverged after ", costs.size(),
         " steps; try a smaller learning rate (neon lr-find)");
  const double aim = kLearnt * (constant && *constant > 0 ? *constant : costs.front());
  if (costs.back() > aim)
    fail(ErrorKind::failed, "the net has not learnt one batch: its cost is above ", cost_text(aim),
         ". More steps (--iterations N), another learning rate (neon lr-find) or less dropout may help; else look at "
         "the ",
         "data (neon data preview) and the gradients (neon grad-check)");
  print_result("the net learns one batch: data, net, cost and optimizer fit together");
  return 0;
}

}  // namespace

NEON_VERB(run_overfit, "overfit", 47, takes_step | takes_values | computes, "SPEC",
          "train one batch again and again: a net that cannot learn that has a fault");

}  // namespace neon
