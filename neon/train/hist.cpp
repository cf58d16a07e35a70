// Hist: histograms of weights and gradients over the run, as neon 1.x wrote them: hist/LAYER_W of the metrics file,
// (bins, points). They are counted inside the step: weights as the step finds them, gradients of its batch. In f16 it
// also says which arrays f16 does not hold well, once each.
#include <cmath>
#include <cstdio>

#include "neon/train/callback.h"

namespace neon {

namespace {

// Sizes 2^e: f16's normal numbers begin with the one, its numbers end above the other. Numbers there lose bits, or are
// next to infinity. The loss scale brings gradients close to that by itself.
constexpr int64_t kLeastNormal = -14, kLargest = 15;
constexpr double kManySmall = 0.05, kManyLarge = 0.01;

std::string percent(double share) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1f %%", 100 * share);
  return buffer;
}

struct HistParams {
  int64_t every = 0;
  std::vector<std::string> tensors = {"W", "dW"};
  int64_t bins = 64, offset = -48;
  static void describe(auto&& p) {
    p("every", &HistParams::every, "Steps from one histogram to the next; 0: one in the last step of each epoch.",
      at_least(0), Unit{"steps"});
    p("tensors", &HistParams::tensors, "Which arrays of the layers: W and the like, or dW for the gradient of W.",
      Alias{"filter_key"});
    p("bins", &HistParams::bins, "Bins; the last one is of 2^(offset + bins).", closed(1, 1024));
    p("offset", &HistParams::offset, "The first bin is of 2^offset and all that is smaller.", closed(-1000, 1000));
  }
};

class Hist : public Parametrized<Callback, HistParams> {
 public:
  using Parametrized::Parametrized;

  void prepare(StepOptions& options) const override {
    if (!options.histograms.tensors.empty())
      fail(ErrorKind::config, "callbacks: Hist is given twice; name all arrays in one, as in tensors: [W, dW]");
    options.histograms = {params.tensors, params.bins, params.offset};
  }

  void plan(RunPlan& plan) override {
    histograms_ = plan.graph.histograms;
    dtype_ = plan.dtype;
    const int64_t steps = plan.epochs * plan.steps_per_epoch;
    if (params.every > steps)
      fail(ErrorKind::config, "callbacks: Hist: every ", params.every, " steps, but the run has ", steps);
    if (!plan.writes_file)
      plan.messages.push_back("note: Hist writes its histograms to the metrics file; give one with -o FILE");
    const int64_t points = params.every > 0 ? steps / params.every : plan.epochs;
    const std::string markers = params.every > 0 ? "minibatch" : "epoch";
    for (const auto& histogram : histograms_) {
      SeriesSpec spec;
      spec.path = "hist/" + histogram.name;
      spec.length = points;
      spec.width = params.bins;
      spec.columns = true;
      spec.dtype = DType::i32;
      spec.units = "elements";
      spec.x = markers;
      spec.minibatch_freq = std::max<int64_t>(params.every, 1);
      plan.series.push_back(std::move(spec));
    }
    const std::vector<AttributeSpec> attributes = {{"hist", "bins", params.bins},
                                                   {"hist", "offset", params.offset},
                                                   {"hist", "time_markers", markers},
                                                   {"hist", "time_steps", points}};
    plan.attributes.insert(plan.attributes.end(), attributes.begin(), attributes.end());
  }

  bool watches(const Progress& at) const override {
    if (params.every > 0) return (at.step + 1) % params.every == 0;
    return at.step + 1 == (at.epoch + 1) * at.steps_per_epoch;
  }

  void step_end(StepEnd& end) override {
    const int64_t point = params.every > 0 ? (end.at.step + 1) / params.every - 1 : end.at.epoch;
    for (const auto& histogram : histograms_) {
      const Tensor output = end.program.output("hist/" + histogram.name);
      std::vector<double> counts;
      for (int64_t bin = 0; bin < params.bins; ++bin) counts.push_back(output.at(bin));
      if (end.file) end.file->set("hist/" + histogram.name, point, counts);
      if (dtype_ == DType::f16) judge(histogram, counts, histogram.gradient ? end.loss_scale : 1, end.messages);
    }
  }

  std::map<std::string, double> state() const override { return told_; }
  void restore(const std::map<std::string, double>& state) override { told_ = state; }

 private:
  // Gradients are stored times the loss scale, a power of two: their sizes are shifted.
  void judge(const StepGraph::Histogram& histogram, const std::vector<double>& counts, double scale,
             std::vector<std::string>& messages) {
    const int64_t shift = std::ilogb(scale);
    double all = 0, small = 0, large = 0;
    for (size_t bin = 0; bin < counts.size(); ++bin) {
      const int64_t exponent = params.offset + int64_t(bin) + shift;
      all += counts[bin];
      if (bin > 0 && exponent < kLeastNormal) small += counts[bin];  // the first bin also has the zeros
      if (exponent >= kLargest) large += counts[bin];
    }
    if (small > kManySmall * all && tell_once(histogram.name + "/small"))
      messages.push_back(text("warning: ", percent(small / all),
                              histogram.gradient ? " of the gradients " : " of the weights ", histogram.name,
                              " are below f16's normal numbers and lose bits; -d bf16 has the range of f32"));
    if (!histogram.gradient && large > kManyLarge * all && tell_once(histogram.name + "/large"))
      messages.push_back(text("warning: ", percent(large / all), " of the weights ", histogram.name,
                              " are close to the largest f16; -d bf16 has the range of f32"));
  }
  bool tell_once(const std::string& what) { return told_.emplace(what, 1).second; }

  std::vector<StepGraph::Histogram> histograms_;
  DType dtype_ = DType::f32;
  std::map<std::string, double> told_;
};
NEON_REGISTER(Callback, Hist, "Histograms of weights and gradients, by size, in the metrics file.");

}  // namespace

}  // namespace neon
