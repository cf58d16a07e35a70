// TrainMulticost of neon 1.x: the cost of each output of a net, batch by batch, in the metrics file.
#include "neon/core/key_error.h"
#include "neon/train/callback.h"

namespace neon {

namespace {

constexpr const char* kPartsSeries = "multicost/train_allbranches";

class TrainMulticost : public Parametrized<Callback, NoParams> {
 public:
  using Parametrized::Parametrized;
  void prepare(StepOptions& options) const override { options.cost_parts = true; }
  void plan(RunPlan& plan) override {
    const size_t outputs = plan.graph.outputs.size();
    if (outputs < 2)
      fail_about("callbacks",
                 "TrainMulticost: the net has one output, whose cost is cost/train; leave TrainMulticost out");
    if (!plan.writes_file)
      plan.messages.push_back("note: TrainMulticost writes its costs to the metrics file; give one with -o FILE");
    for (size_t i = 0; i < outputs; ++i) names_.push_back(text("part/", i));
    costs_.resize(outputs);
    SeriesSpec spec;
    spec.path = kPartsSeries;
    spec.length = plan.epochs * plan.steps_per_epoch;
    spec.width = int64_t(outputs);
    spec.dtype = DType::f64;
    spec.time_markers = "minibatch";
    plan.series.push_back(std::move(spec));
  }
  bool watches(const Progress&) const override { return true; }
  void step_end(StepEnd& end) override {
    if (!end.file) return;
    for (size_t i = 0; i < names_.size(); ++i) costs_[i] = end.program.output(names_[i]).at(0);
    end.file->set(kPartsSeries, end.at.step, costs_);
  }

 private:
  std::vector<std::string> names_;
  std::vector<double> costs_;
};
NEON_REGISTER(Callback, TrainMulticost,
              "Writes the cost of each output in each training step to the metrics file, times its weight.",
              {"TrainMulticostCallback"});

}  // namespace

}  // namespace neon
