// neon lr-find SPEC: a short training whose learning rate grows from step to step until the cost does (Smith 2017).
#include <algorithm>
#include <cmath>

#include "neon/cli/chart.h"
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

// Running means of the costs, as far as they are below four times the least.
std::vector<double> smoothed(const std::vector<double>& costs) {
  constexpr double kKept = 0.9, kTooMuch = 4;
  std::vector<double> out;
  double mean = 0, least = INFINITY;
  for (size_t k = 0; k < costs.size(); ++k) {
    mean = kKept * mean + (1 - kKept) * costs[k];
    out.push_back(mean / (1 - std::pow(kKept, double(k + 1))));
    least = std::min(least, out.back());
    if (k > 10 && out.back() > kTooMuch * std::fabs(least)) break;
  }
  return out;
}

// The step at which the curve falls most within some steps around it; 0 where it hardly falls.
size_t steepest(const std::vector<double>& curve, size_t end) {
  constexpr size_t kReach = 5;
  constexpr double kNoticeable = 1e-3;
  size_t best = 0;
  double most = kNoticeable * std::fabs(curve.front());
  for (size_t k = kReach; k + kReach <= end; ++k) {
    const double fall = curve[k - kReach] - curve[std::min(k + kReach, curve.size() - 1)];
    if (fall > most) most = fall, best = k;
  }
  return best;
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
  const std::vector<double> curve = smoothed(rehearsal.costs(steps));
  if (int64_t(curve.size()) < steps / kFaulty)
    fail(ErrorKind::diverged, "the cost is not finite or grows from the first steps on, at a learning rate of ",
         formatted("%.2g", rising->at_step(int64_t(curve.size()))),
         "; look for the fault in the data or the initial weights (neon check, neon data stats)");
  const size_t least = size_t(std::ranges::min_element(curve) - curve.begin()), fall = steepest(curve, least);
  const auto rate = [&](size_t step) { return formatted("%.2g", rising->at_step(int64_t(step))); };
  print_result(text(curve.size(), " steps with learning rates from ", rate(0), " to ", rate(curve.size() - 1),
                    "; the cost, a running mean:"));
  for (const std::string& row : chart_lines(curve, double(curve.size()), "steps")) print_result(row);
  print_result(text("cost ", cost_text(curve.front()), " at first; lowest ", cost_text(curve[least]), ", at the rate ",
                    rate(least)));
  if (fall == 0)
    fail(ErrorKind::failed,
         "the cost falls at no learning rate; look for the fault with neon overfit and neon grad-check");
  print_result("falls fastest at the rate " + rate(fall));
  print_result(text("next: learning_rate: ", rate(fall), ", as in --set optimizer.learning_rate=", rate(fall)));
  return 0;
}

}  // namespace

NEON_VERB(run_lr_find, "lr-find", 46, takes_step | takes_values | computes, "SPEC",
          "find a learning rate: train some steps with rates that grow, and draw the cost");

}  // namespace neon
