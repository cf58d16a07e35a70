// GradientNorm: the length of the gradient over the run, in the metrics file.
#include <cmath>

#include "neon/core/key_error.h"
#include "neon/train/callback.h"

namespace neon {

namespace {

constexpr const char* kNormOutput = "gradient_norm";
constexpr const char *kNormSeries = "gradient/norm", *kGeneratorSeries = "gradient/generator_norm";
constexpr const char* kGenerator = "generator";  // its norm in the state

struct GradientNormParams {
  int64_t every = 1;
  static void describe(auto&& p) {
    p("every", &GradientNormParams::every, "Steps from one point to the next.", at_least(1), Unit{"steps"});
  }
};

class GradientNorm : public Parametrized<Callback, GradientNormParams> {
 public:
  using Parametrized::Parametrized;
  void prepare(StepOptions& options) const override { options.gradient_norm = true; }
  void plan(RunPlan& plan) override {
    const int64_t steps = plan.epochs * plan.steps_per_epoch;
    if (params.every > steps)
      fail_about("callbacks", "GradientNorm: every ", params.every, " steps, but the run has ", steps);
    if (!plan.writes_file)
      plan.messages.push_back("note: GradientNorm writes its curve to the metrics file; give one with -o FILE");
    SeriesSpec spec;
    spec.path = kNormSeries;
    spec.length = steps / params.every;
    spec.time_markers = "minibatch";
    spec.minibatch_freq = params.every;
    plan.series.push_back(spec);
    has_generator_ = !plan.histograms_of_others.empty();
    if (!has_generator_) return;
    spec.path = kGeneratorSeries;
    plan.series.push_back(std::move(spec));
  }
  bool watches(const Progress& at) const override { return (at.step + 1) % params.every == 0; }
  void step_end(StepEnd& end) override {
    if (!end.file) return;
    const int64_t point = (end.at.step + 1) / params.every - 1;
    end.file->set(kNormSeries, point, end.program.output(kNormOutput).at(0));
    if (has_generator_) end.file->set(kGeneratorSeries, point, of_generator_);
  }
  void move_end(size_t, const Program& program) override { of_generator_ = program.output(kNormOutput).at(0); }

  std::map<std::string, double> state() const override {
    if (std::isnan(of_generator_)) return {};
    return {{kGenerator, of_generator_}};
  }
  void restore(const std::map<std::string, double>& state) override {
    if (const auto found = state.find(kGenerator); found != state.end()) of_generator_ = found->second;
  }

 private:
  bool has_generator_ = false;
  double of_generator_ = NAN;  // in its last watched move
};
NEON_REGISTER(
    Callback, GradientNorm,
    "Writes the square root of the sum of all squared gradients to the metrics file: of trained weights, before "
    "they are clipped. With accumulate, a point before the update is of the sum so far. An adversarial net has "
    "gradient/generator_norm, too, of the generator's last move.");

}  // namespace

}  // namespace neon
