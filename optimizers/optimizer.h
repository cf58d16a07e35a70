// Optimizers: an update rule as an expression over weight, gradient and state. Everything all rules share
// (schedule, clipping) stands in the base. The trainer counts updates.
#pragma once
#include <functional>

#include "backends/graph/expression.h"
#include "optimizers/schedule.h"

namespace neon {

// A rule sees this of one parameter. All values are in the parameter's own type (f32, or f64).
class UpdateContext {
 public:
  UpdateContext(Graph& graph, std::string parameter, Expr weight, Expr gradient, Expr rate, Expr count, Expr epoch,
                Value guard, bool split = false)
      : graph(graph),
        weight(weight),
        gradient(gradient),
        rate(rate),
        count(count),
        epoch(epoch),
        parameter_(std::move(parameter)),
        guard_(guard),
        split_(split) {}
  Graph& graph;
  const Expr weight;
  const Expr gradient;  // clipped
  const Expr rate;      // of this step, by the schedule
  const Expr count;     // of updates, with this one: 1 in the first; a skipped update is not counted
  const Expr epoch;     // 0 in the first epoch

  // The length of an array of the parameter's shape, of all ranks' rows where they share it: one number of no axes.
  Expr length(Expr array) const {
    Expr squares = sum(square(array), all_axes(array.shape()));
    if (split_) squares = {graph, exchange(graph, {squares})[0]};
    return reshape(sqrt(squares), {});
  }

  // A state array of the parameter's shape, zero at first.
  Expr state(const std::string& name) {
    return {graph, graph.variable(state_name(name), weight.dtype(), weight.shape())};
  }
  void set_state(const std::string& name, Expr value) { graph.assign(state(name), value, guard_); }
  std::string state_name(const std::string& name) const { return parameter_ + "/" + name; }

 private:
  std::string parameter_;
  Value guard_;
  bool split_;  // ranks share the parameter's rows
};

// neon's rules each took `stochastic_round`. Rounding is the whole run's here: only "no" is allowed.
struct RunRounding {};
template <>
struct Value_of<RunRounding> {
  static std::string type() { return "false"; }
  static void read(const Setting& s, RunRounding&, const Constraint&, Problems& problems) {
    bool on = true;
    if (!detail::read_bool(s, on) || on)
      problems.add(s,
                   text("expected false, found ", s.describe(), "; updates of the whole run are rounded with -u BITS"));
  }
  static Setting write(const RunRounding&) { return Setting::scalar("false"); }
};

class Optimizer {
 public:
  static constexpr const char* kCategory = "optimizer";
  // Parameters that every rule takes.
  struct Common {
    double gradient_clip_norm = 0;
    double gradient_clip_value = 0;
    double param_clip_value = 0;
    double layer_decay = 1;
    Made<Schedule> schedule;
    RunRounding stochastic_round;
    static void describe(auto&& p) {
      p("gradient_clip_norm", &Common::gradient_clip_norm,
        "Longest gradient of the mean cost over all parameters of this optimizer: a longer one is shortened to this "
        "length before the rule uses it. The length is measured before gradient_clip_value; 0: no limit.",
        at_least(0));
      p("gradient_clip_value", &Common::gradient_clip_value,
        "Largest element of a gradient: larger ones are set to it, with their sign, before gradient_clip_norm shortens "
        "the gradient; 0: no limit.",
        at_least(0));
      p("param_clip_value", &Common::param_clip_value, "Largest element of a weight after the update; 0: any.",
        at_least(0));
      p("layer_decay", &Common::layer_decay,
        "Learning rate of a layer as a share of the rate one layer deeper, counted among the trained layers. The "
        "deepest has the whole rate. Branches of a container and heads of several outputs begin at one depth; a layer "
        "behind branches is deeper than the longest of them. 1: all layers have the whole rate. Example: 0.5.",
        open_closed(0, 1));
      p("schedule", &Common::schedule, "How the learning rate changes during the run.");
      p("stochastic_round", &Common::stochastic_round, "Accepted for neon 1.x's specs; -u rounds the whole run.");
    }
  };
  Common common;

  virtual ~Optimizer() = default;
  virtual const void* params_address() const = 0;
  virtual double learning_rate() const = 0;
  // Whether gradient_clip_norm shortens the step instead of the gradient: the rate is then multiplied by its factor.
  virtual bool clips_step() const { return false; }
  // The weight after the step.
  virtual Expr update(UpdateContext& context) const = 0;

  double rate_at(const Progress& progress) const {
    return common.schedule ? common.schedule->rate(learning_rate(), progress) : learning_rate();
  }
  // The share of the last step that is repeated, of a rule that repeats one.
  virtual std::optional<double> momentum_at(const Progress& progress) const {
    (void)progress;
    return std::nullopt;
  }
  // For one that hands parameters to others by layer: which one serves the layer of this name and class.
  virtual const Optimizer& serving(const std::string& layer, const std::string& layer_class) const {
    (void)layer, (void)layer_class;
    return *this;
  }
  // Changes each optimizer that serves parameters.
  virtual void change_each(const std::function<void(Optimizer&)>& change) { change(*this); }
  // Names of layers and classes that it mentions.
  virtual std::vector<std::string> mentions() const { return {}; }
};

}  // namespace neon
