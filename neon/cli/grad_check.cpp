// neon grad-check SPEC: the gradients of a net's parameters beside differences of its cost, in f64 on the CPU.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "neon/cli/rehearsal.h"
#include "neon/cli/verb.h"
#include "neon/core/random.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr int64_t kElements = 8, kBatch = 8;
constexpr double kSteps[] = {1e-5, 1e-6, 1e-7}, kTolerance = 1e-5, kKink = 1e-3;

// The results for a parameter's elements.
struct Compared {
  int64_t elements = 0, kinks = 0, wrong = 0;
  double worst = 0;        // largest relative difference
  std::string first = {};  // element that is wrong, and the two numbers
};

class Check {
 public:
  Check(OneBatch& batch, uint64_t seed) : batch_(batch), seed_(seed), cost_(batch.cost()) {
    for (const Parameter& p : batch_.graph().parameters)
      if (const Tensor gradient = batch_.gradient(p.name); !gradient.empty()) {
        gradients_.emplace_back(p.name, gradient.clone());
        for (int64_t i = 0; i < gradient.elements(); ++i) largest_ = std::max(largest_, std::fabs(gradient.at(i)));
      }
  }
  const std::vector<std::pair<std::string, Tensor>>& gradients() const { return gradients_; }
  double cost() const { return cost_; }

  Compared of(const std::string& parameter, const Tensor& gradient) {
    Compared out;
    Stream draw(seed_, "grad-check/" + parameter);
    const int64_t count = std::min(kElements, gradient.elements());
    for (int64_t k = 0; k < count; ++k) {
      const int64_t all = gradient.elements(), element = count == all ? k : int64_t(draw.uniform() * double(all));
      compare(parameter, element, gradient.at(element), out);
    }
    return out;
  }

 private:
  double cost_at(Tensor& values, int64_t element, double value) {
    values.set(element, value);
    batch_.variables().to_device();
    return batch_.cost();
  }

  // The cost's slopes on both sides of a value.
  struct Slopes {
    double above = 0, below = 0;
    double mean() const { return (above + below) / 2; }
    double bend() const { return std::fabs(above - below); }
    bool enclose(double slope, double slack) const {
      return slope > std::min(above, below) - slack && slope < std::max(above, below) + slack;
    }
  };
  Slopes slopes(Tensor& values, int64_t element, double value, double step) {
    const double above = cost_at(values, element, value + step), below = cost_at(values, element, value - step);
    cost_at(values, element, value);
    return {(above - cost_) / step, (cost_ - below) / step};
  }

  // Differences of the first step are exact to about 1e-11 of the cost, and small gradients are measured by the
  // largest. A smaller step leaves out kinks (of Rectlin, of a maximum) that lie near. One at the value itself keeps
  // its bend, which falls with the step where the cost is smooth. The gradient of a small one lies between the slopes.
  // At a large one samples lie on both sides, and the slopes of their sum need not enclose it.
  void compare(const std::string& parameter, int64_t element, double derived, Compared& out) {
    Tensor& values = batch_.variables().at(parameter);
    const double value = values.at(element), scale = std::max(1.0, std::fabs(value));
    ++out.elements;
    double first_measured = 0, first_difference = 0, first_bend = 0;
    for (const double step : kSteps) {
      const Slopes found = slopes(values, element, value, step * scale);
      const double size = std::max({std::fabs(derived), std::fabs(found.mean()), 1e-3 * largest_, 1e-12});
      const double difference = std::fabs(derived - found.mean()) / size, bend = found.bend() / size;
      if (difference <= kTolerance) {
        out.worst = std::max(out.worst, difference);
        return;
      }
      if (step == kSteps[0]) {
        first_measured = found.mean(), first_difference = difference, first_bend = bend;
      } else if (step == std::end(kSteps)[-1] && bend > first_bend / 10 &&
                 (bend > kKink || (bend > difference && found.enclose(derived, kTolerance * size)))) {
        ++out.kinks;
        return;
      }
    }
    out.worst = std::max(out.worst, first_difference);
    if (++out.wrong == 1)
      out.first = text("element ", element, ": the gradient is ", number(float(derived)), ", the cost changes by ",
                       number(float(first_measured)));
  }

  OneBatch& batch_;
  const uint64_t seed_;
  std::vector<std::pair<std::string, Tensor>> gradients_;
  double cost_ = 0, largest_ = 0;
};

int run_grad_check(const CommandLine& line) {
  const OpenedSpec spec = open_spec(line, only_operand(line));
  Experiment& experiment = *spec.experiment;
  if (!experiment.cost())
    fail(ErrorKind::config, line.operands[0], ": neon grad-check is for a net with a cost; this one trains by a rule");
  RunOptions options = options_of(line, spec);
  options.backend = "cpu", options.datatype = "f64", options.rounding = 0;
  experiment.params.callbacks.clear();
  const Data data = load_data(experiment, options, spec.folder);
  StepOptions step = step_options(options, experiment.params);
  step.batch = options.batch_size.value_or(std::min({step.batch, kBatch, data.train.size()}));
  step.seed = uint64_t(options.rng_seed.value_or(experiment.params.rng_seed.value_or(0)));
  int64_t wrong = 0;
  experiment.placing([&] {
    check_batch(options, step, layout_of(data));
    OneBatch batch(experiment, data, step, true);
    Check check(batch, step.seed);
    print_result(text("a batch of ", step.batch, " samples in f64, cost ", formatted("%.6g", check.cost()),
                      "; largest relative difference of gradient and cost:"));
    for (const auto& [name, gradient] : check.gradients()) {
      const Compared found = check.of(name, gradient);
      wrong += found.wrong;
      print_result(formatted("%-32s %-10s %2lld of %lld elements", name.c_str(), formatted("%.1e", found.worst).c_str(),
                             (long long)found.elements, (long long)gradient.elements()) +
                   (found.kinks ? text(", ", found.kinks, " at a kink") : "") +
                   (found.wrong ? text("  WRONG ", found.first) : ""));
    }
  });
  if (wrong > 0)
    fail(ErrorKind::failed, wrong, wrong == 1 ? " gradient differs" : " gradients differ",
         " from the cost: a layer is not differentiable there (Sign, say), or its gradient is wrong");
  print_result("all gradients are those of the cost");
  return 0;
}

}  // namespace

NEON_VERB(run_grad_check, "grad-check", 48, takes_data | takes_seed | takes_values | computes, "SPEC",
          "compare the gradients of a net with differences of its cost, in f64");

}  // namespace neon
