// neon lr-find SPEC: a short training whose learning rate grows from step to step until the cost does (Smith 2017).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "neon/cli/chart.h"
#include "neon/cli/rate_curve.h"
#include "neon/cli/rehearsal.h"
#include "neon/cli/verb.h"
#include "neon/train/progress.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr double kLow = 1e-6, kHigh = 10;
constexpr int64_t kFaulty = 10;  // a cost that grows within 1/10 of the steps does so at any rate

// The rate grows by the same factor at each step.
struct RisingRate : Schedule {
  explicit RisingRate(int64_t steps) : steps(steps) {}
  const void* params_address() const override { return nullptr; }
  double rate(double, const Progress& at) const override { return at_step(at.step); }
  double at_step(int64_t step) const {
    return kLow * std::pow(kHigh / kLow, double(step) / double(std::max<int64_t>(steps - 1, 1)));
  }
  int64_t steps;
};

// The weights stay as they are, so that a step takes a third of its time.
struct AtRest : Callback {
  const void* params_address() const override { return nullptr; }
  void prepare(StepOptions& options) const override { options.updates = false; }
};

// Whether the cost has long been so high that no later step changes the curve, which ends where the cost is 4 times its
// least.
bool has_run_away(const std::vector<double>& costs) {
  constexpr size_t kMean = 15;
  constexpr double kMuch = 10;
  if (costs.size() < 4 * kMean || std::ranges::any_of(costs, [](double cost) { return cost <= 0; })) return false;
  const auto mean = [&](auto first) { return std::accumulate(first, first + kMean, 0.0) / double(kMean); };
  return mean(costs.end() - 2 * kMean) > kMuch * mean(costs.begin());
}

std::vector<double> rising_costs(Rehearsal& rehearsal, int64_t steps) {
  std::vector<double> out;
  while (int64_t(out.size()) < steps && !has_run_away(out)) {
    const std::vector<double> one = rehearsal.costs(1);
    if (one.empty()) break;
    out.push_back(one[0]);
  }
  return out;
}

int run_lr_find(const CommandLine& line) {
  // The means and the slope take some steps each, and the cost falls in a part of the curve only.
  constexpr int64_t kFewest = 50;
  const int64_t steps = line.of_verb.iterations.value_or(kUsualIterations);
  OpenedSpec spec = open_spec(line, only_operand(line));
  if (steps < kFewest)
    fail(ErrorKind::config, "option --iterations: ", steps, " steps show no curve; give lr-find at least ", kFewest);
  const auto rising = std::make_shared<RisingRate>(steps);
  Rehearsal rehearsal = make_rehearsal(line, std::move(spec), [&](Rehearsal& made) {
    Optimizer& optimizer = *made.spec.experiment->params.optimizer;
    if (!optimizer.mentions().empty())
      fail(ErrorKind::config, line.operands[0], ": neon lr-find is for one optimizer; give one, as in --set ",
           "'optimizer={Adam: {learning_rate: 0.001}}'");
    optimizer.common.schedule = Made<Schedule>(rising);
    made.options.epochs = steps;  // each has a step at least
  });
  const std::vector<double> risen = rising_costs(rehearsal, steps);
  rehearsal.spec.experiment->params.callbacks.push_back(Made<Callback>(std::make_shared<AtRest>()));
  print_each_message_once();
  rehearsal.start_again();
  const RateCurve curve = rate_curve(risen, rehearsal.costs(int64_t(risen.size())));
  if (int64_t(curve.costs.size()) < steps / kFaulty)
    fail(ErrorKind::diverged, "the cost is not finite or grows from the first steps on, at a learning rate of ",
         formatted("%.2g", rising->at_step(int64_t(curve.costs.size()))),
         "; look for the fault in the data or the initial weights (neon check, neon data stats)");
  const auto rate = [&](size_t step) { return formatted("%.2g", rising->at_step(int64_t(step))); };
  const size_t shown = curve.costs.size();
  print_result(
      text(shown, " steps with learning rates from ", rate(0), " to ", rate(shown - 1), "; the cost, a running mean:"));
  for (const std::string& row : chart_lines(curve.costs, double(shown), "steps")) print_result(row);
  print_result(text("cost ", cost_text(curve.first), " at first; lowest ", cost_text(curve.costs[curve.least]),
                    ", at the rate ", rate(curve.least)));
  if (!curve.steepest)
    fail(ErrorKind::failed, "the cost falls at no learning rate by more than batches differ; more steps (--iterations ",
         "N) or a larger batch (-z N) show smaller falls, neon overfit and neon grad-check a fault");
  const std::string advised = rate(*curve.steepest);
  print_result("falls fastest at the rate " + advised);
  print_result(text("next: learning_rate: ", advised, ", as in --set optimizer.learning_rate=", advised));
  return 0;
}

}  // namespace

NEON_VERB(run_lr_find, "lr-find", 46, takes_step | takes_values | computes, "SPEC",
          "find a learning rate: train some steps with rates that grow, and draw the cost");

}  // namespace neon
