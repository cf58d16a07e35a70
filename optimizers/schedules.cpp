#include <algorithm>
#include <cmath>

#include "optimizers/schedule.h"

namespace neon {

// When a rate changes: every so many epochs, or at the epochs listed.
struct Steps {
  int64_t every = 0;  // 0: at those listed
  std::vector<double> epochs;
};

template <>
struct Value_of<Steps> {
  static std::string type() { return "number or list of numbers"; }
  static void read(const Setting& s, Steps& out, const Constraint&, Problems& problems) {
    out = {};
    if (s.is_scalar()) Value_of<int64_t>::read(s, out.every, at_least(1), problems);
    else Value_of<std::vector<double>>::read(s, out.epochs, at_least(0), problems);
  }
  static Setting write(const Steps& value) {
    return value.every ? Value_of<int64_t>::write(value.every) : Value_of<std::vector<double>>::write(value.epochs);
  }
};

// The change of a rate: by a factor each time, or to the rates listed, one for each epoch listed.
struct Change {
  double factor = 1;
  std::vector<double> rates;  // empty: by the factor
};

template <>
struct Value_of<Change> {
  static std::string type() { return "number or list of numbers"; }
  static void read(const Setting& s, Change& out, const Constraint& constraint, Problems& problems) {
    out = {};
    if (s.is_scalar()) return Value_of<double>::read(s, out.factor, constraint, problems);
    Value_of<std::vector<double>>::read(s, out.rates, constraint, problems);
    if (out.rates.empty()) problems.add(s, "is an empty list; give a factor or rates");
  }
  static Setting write(const Change& value) {
    return value.rates.empty() ? Value_of<double>::write(value.factor)
                               : Value_of<std::vector<double>>::write(value.rates);
  }
};

namespace {

void require_increasing(const std::vector<double>& epochs) {
  for (size_t i = 1; i < epochs.size(); ++i)
    if (epochs[i] <= epochs[i - 1])
      fail(ErrorKind::config, "step_config must increase, but ", epochs[i - 1], " stands before ", epochs[i]);
}

// The rate of the last epoch listed that has come.
double listed_rate(const std::vector<double>& epochs, const std::vector<double>& rates, double base, int64_t epoch) {
  for (size_t i = 0; i < epochs.size(); ++i)
    if (double(epoch) >= epochs[i]) base = rates[i];
  return base;
}

// neon's one class had four meanings, told apart by the kinds of its two arguments; all are kept. Its list + list
// form held state and went wrong after a resume; here the rate follows from the epoch alone.
struct ScheduleParams {
  Steps step_config;
  Change change;
  static void describe(auto&& p) {
    p("step_config", &ScheduleParams::step_config,
      "A list of epochs at which the rate changes, or a number N: every N epochs.");
    p("change", &ScheduleParams::change, "Factor at each change, or a list of rates, one for each epoch listed.",
      above(0));
  }
};
struct StepwiseSchedule : Parametrized<Schedule, ScheduleParams> {
  explicit StepwiseSchedule(ScheduleParams given) : Parametrized(std::move(given)) {
    const auto& [every, epochs] = params.step_config;
    const auto& [factor, rates] = params.change;
    if (!rates.empty() && every)
      fail(ErrorKind::config, "change lists rates, and step_config is a number; list the epochs, or give a factor");
    if (!rates.empty() && rates.size() != epochs.size())
      fail(ErrorKind::config, "change lists ", rates.size(), rates.size() == 1 ? " rate" : " rates", ", step_config ",
           epochs.size(), epochs.size() == 1 ? " epoch" : " epochs");
    if (epochs.empty() && !every && factor != 1)
      fail(ErrorKind::config, "change is given, but not when: step_config is missing");
    require_increasing(epochs);
  }
  double rate(double base, const Progress& at) const override {
    const auto& [every, epochs] = params.step_config;
    const auto& [factor, rates] = params.change;
    if (every) return base * std::pow(factor, double(at.epoch / every));
    if (!rates.empty()) return listed_rate(epochs, rates, base, at.epoch);
    const auto passed = std::ranges::count_if(epochs, [&](double epoch) { return epoch <= double(at.epoch); });
    return base * std::pow(factor, double(passed));
  }
};

struct StepScheduleParams {
  std::vector<double> step_config, change;
  static void describe(auto&& p) {
    p("step_config", &StepScheduleParams::step_config, "Epochs from which a new rate holds.", at_least(0), Required{});
    p("change", &StepScheduleParams::change, "The rates, one for each epoch listed.", above(0), Required{});
  }
};
struct StepSchedule : Parametrized<Schedule, StepScheduleParams> {
  explicit StepSchedule(StepScheduleParams given) : Parametrized(std::move(given)) {
    if (params.change.size() != params.step_config.size())
      fail(ErrorKind::config, "step_config lists ", params.step_config.size(), " epochs, change ", params.change.size(),
           " rates");
    require_increasing(params.step_config);
  }
  double rate(double base, const Progress& at) const override {
    return listed_rate(params.step_config, params.change, base, at.epoch);
  }
};
NEON_REGISTER(Schedule, StepSchedule, "The rates listed, each from its epoch on.");

struct PowerParams {
  int64_t step_config = 1;
  double change = 1;
  static void describe(auto&& p) {
    p("step_config", &PowerParams::step_config, "Epochs between changes.", at_least(1), Unit{"epochs"}, Required{});
    p("change", &PowerParams::change, "Factor at each change.", above(0), Required{});
  }
};
struct PowerSchedule : Parametrized<Schedule, PowerParams> {
  using Parametrized::Parametrized;
  double rate(double base, const Progress& at) const override {
    return base * std::pow(params.change, double(at.epoch / params.step_config));
  }
};
NEON_REGISTER(Schedule, PowerSchedule, "rate change^floor(epoch / step_config).");

struct ExpParams {
  double decay = 0;
  static void describe(auto&& p) { p("decay", &ExpParams::decay, "Strength of the decay.", at_least(0), Required{}); }
};
struct ExpSchedule : Parametrized<Schedule, ExpParams> {
  using Parametrized::Parametrized;
  double rate(double base, const Progress& at) const override { return base / (1 + params.decay * double(at.epoch)); }
};
NEON_REGISTER(Schedule, ExpSchedule, "rate / (1 + decay epoch).");

// neon divided the epoch by the total as whole numbers, so the rate never moved; here it is a fraction.
struct PolyParams {
  int64_t total_epochs = 0;
  double power = 1;
  static void describe(auto&& p) {
    p("total_epochs", &PolyParams::total_epochs, "Epochs until the rate is 0; 0: the run's.", at_least(0),
      Unit{"epochs"});
    p("power", &PolyParams::power, "Exponent.", above(0));
  }
};
struct PolySchedule : Parametrized<Schedule, PolyParams> {
  using Parametrized::Parametrized;
  double rate(double base, const Progress& at) const override {
    const double total = double(params.total_epochs ? params.total_epochs : at.epochs);
    return base * std::pow(std::max(0.0, 1 - double(at.epoch) / total), params.power);
  }
};
NEON_REGISTER(Schedule, PolySchedule, "rate (1 - epoch / total_epochs)^power.");

struct ShiftParams {
  int64_t interval = 1;
  double shift_size = 1;
  static void describe(auto&& p) {
    p("interval", &ShiftParams::interval, "Epochs between changes.", at_least(1), Unit{"epochs"}, Required{});
    p("shift_size", &ShiftParams::shift_size, "Powers of two by which the rate falls each time.", at_least(0));
  }
};
struct ShiftSchedule : Parametrized<Schedule, ShiftParams> {
  using Parametrized::Parametrized;
  double rate(double base, const Progress& at) const override {
    return base * std::pow(2.0, -params.shift_size * double(at.epoch / params.interval));
  }
};
NEON_REGISTER(Schedule, ShiftSchedule, "rate 2^(-shift_size floor(epoch / interval)).");

// Share of the rate after a step of a warm-up, which may end between two steps.
double risen(double warmup, const Progress& at) {
  return std::min(1.0, (double(at.step) + 1) / (warmup * double(at.steps_per_epoch)));
}

struct CosineParams {
  double warmup = 0;
  double floor = 0;
  static void describe(auto&& p) {
    p("warmup", &CosineParams::warmup, "Epochs in which the rate first rises from 0 in a line.", at_least(0),
      Unit{"epochs"});
    p("floor", &CosineParams::floor, "Share of the rate that is left at the end.", half_open(0, 1));
  }
};
struct Cosine : Parametrized<Schedule, CosineParams> {
  using Parametrized::Parametrized;
  double rate(double base, const Progress& at) const override {
    const double now = at.fraction(), total = double(at.epochs);
    if (now < params.warmup) return base * risen(params.warmup, at);
    const double done = std::clamp((now - params.warmup) / std::max(1e-9, total - params.warmup), 0.0, 1.0);
    return base * (params.floor + (1 - params.floor) * 0.5 * (1 + std::cos(M_PI * done)));
  }
};
NEON_REGISTER(Schedule, Cosine,
              "Half a cosine from the rate to floor, step by step (Loshchilov and Hutter 2017), after a warm-up.",
              {"CosineSchedule"});

struct WarmupParams {
  double warmup = 1;
  Made<Schedule> then;
  static void describe(auto&& p) {
    p("warmup", &WarmupParams::warmup, "Epochs in which the rate rises from 0 in a line.", above(0), Unit{"epochs"});
    p("then", &WarmupParams::then, "The schedule after that; counts epochs from the start of the run.");
  }
};
struct Warmup : Parametrized<Schedule, WarmupParams> {
  using Parametrized::Parametrized;
  double rate(double base, const Progress& at) const override {
    if (at.fraction() < params.warmup) return base * risen(params.warmup, at);
    return params.then ? params.then->rate(base, at) : base;
  }
};
NEON_REGISTER(Schedule, Warmup, "A rise from 0 in a line, then another schedule.");

const Registration<Schedule, StepwiseSchedule> registration_of_schedule{
    "Schedule", "rate change^(number of listed epochs passed), or the listed rates from the listed epochs on."};

}  // namespace

}  // namespace neon
