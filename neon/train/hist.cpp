// Hist: histograms of weights, gradients and outputs of layers over the run, as neon 1.x wrote them: hist/LAYER_W of
// the metrics file, (bins, points). They are counted inside the step: weights as the step finds them, the others of its
// batch. In f16 it
// also says which arrays f16 does not hold well, once each; whatever bins are asked for, that is seen in those of the
// step, which tell every size.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

#include "backends/graph/histogram.h"
#include "models/histograms.h"
#include "neon/core/counted.h"
#include "neon/core/key_error.h"
#include "neon/train/callback.h"

namespace neon {

namespace {

// Sizes 2^e: f16's normal numbers begin with the one, its numbers end above the other. Numbers there lose bits, or are
// next to infinity. The loss scale brings gradients close to that by itself. Half of f16's least number becomes 0.
constexpr int64_t kLeastNormal = -14, kLargest = 15, kHalfOfLeast = -25;
constexpr double kManySmall = 0.05, kManyLarge = 0.01;

std::string percent(double share) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1f %%", 100 * share);
  return buffer;
}

constexpr const char* kWider = "-d bf16 has the range of f32";

using Sizes = std::array<double, kSizes>;  // elements by size, as the step counted them

// One array, and all names that a step needs of it, since a step allocates nothing.
struct Watched : StepGraph::Histogram {
  explicit Watched(const StepGraph::Histogram& histogram)
      : StepGraph::Histogram(histogram),
        series("hist/" + name),
        range("range/" + name),
        small(name + "/small"),
        large(name + "/large"),
        zero(name + "/zero"),
        infinite(name + "/infinite") {
    for (const char* part : kRangeParts) parts.push_back(text(range, "/", part));
  }
  std::string series, range, small, large, zero, infinite;  // the outputs and their series; warnings
  std::vector<std::string> parts;                           // outputs of the range
};

// How many elements of an array lie at the ends of f16, where they are stored times `scale`, a power of two.
struct Range {
  Range(const Watched& array, const Sizes& sizes, double scale) : all(double(array.elements)), zeros(sizes[0]) {
    double counted = zeros;
    for (size_t i = 1; i < sizes.size(); ++i) {
      const int64_t exponent = kSizeOfZero + int64_t(i) + std::ilogb(scale);
      counted += sizes[i];
      if (exponent < kLeastNormal) small += sizes[i];
      if (exponent < kHalfOfLeast) vanishing += sizes[i];
      if (exponent >= kLargest) large += sizes[i];
    }
    infinite = all - counted;
  }
  double all, zeros;
  double small = 0, vanishing = 0;  // of the small, those that f16 takes for 0
  double large = 0, infinite = 0;   // the latter with NaN
};

struct HistParams {
  int64_t every = 0;
  std::vector<std::string> tensors = {"W", "dW"};
  int64_t bins = 64, offset = -48;
  bool ranges = false;
  static void describe(auto&& p) {
    p("every", &HistParams::every,
      "Steps from one histogram to the next; 0: one in the last step of each epoch. Gradients of a generator are those "
      "of its last move.",
      at_least(0), Unit{"steps"});
    p("tensors", &HistParams::tensors,
      "Arrays of the layers to count: W and other weights, dW for the gradient of W, '*' for all of these, y for the "
      "outputs (activations).",
      Alias{"filter_key"});
    p("bins", &HistParams::bins,
      "Number of bins, one for each power of 2, to which sizes are rounded; the last one counts 2^(offset + bins - 1).",
      closed(1, 1024));
    p("offset", &HistParams::offset, "Exponent of the first bin, which counts 2^offset and all smaller numbers.",
      closed(-1000, 1000));
    p("ranges", &HistParams::ranges,
      "Writes the least and the largest number, and the shares of negative numbers and of zeros, to range/LAYER_W, (4, "
      "points), too. They are computed in every step, so that a step of a small net takes longer. On one device only: "
      "see -m.");
  }
};

class Hist : public Parametrized<Callback, HistParams> {
 public:
  using Parametrized::Parametrized;

  void prepare(StepOptions& options) const override {
    if (!options.histograms.empty())
      fail_about("callbacks", "Hist is given twice; name all arrays in one, as in tensors: [W, dW]");
    if (params.tensors.empty()) fail_about("callbacks", "Hist: tensors names no array; leave it out for [W, dW]");
    options.histograms = params.tensors;
    options.ranges = params.ranges;
  }

  void plan(RunPlan& plan) override {
    watched_ = {plan.graph.histograms.begin(), plan.graph.histograms.end()};
    of_others_.clear();
    for (const auto& of_player : plan.histograms_of_others) of_others_.emplace_back(of_player.begin(), of_player.end());
    make_counts();
    bins_.resize(size_t(params.bins));
    dtype_ = plan.dtype;
    const int64_t steps = plan.epochs * plan.steps_per_epoch;
    if (params.every > steps) fail_about("callbacks", "Hist: every ", params.every, " steps, but the run has ", steps);
    if (!plan.writes_file)
      plan.messages.push_back("note: Hist writes its histograms to the metrics file; give one with -o FILE");
    const int64_t points = params.every > 0 ? steps / params.every : plan.epochs;
    const std::string markers = params.every > 0 ? "minibatch" : "epoch";
    for (const Watched* const each : all_watched()) {
      const Watched& array = *each;
      SeriesSpec spec;
      spec.path = array.series;
      spec.length = points;
      spec.width = params.bins;
      spec.columns = true;
      spec.dtype = DType::i32;
      spec.units = "elements";
      spec.x = markers;
      spec.minibatch_freq = std::max<int64_t>(params.every, 1);
      plan.series.push_back(spec);
      if (!params.ranges) continue;
      spec.path = array.range;
      spec.width = int64_t(std::size(kRangeParts));
      spec.dtype = DType::f64;
      spec.units = "";
      plan.series.push_back(std::move(spec));
    }
    if (plan.writes_file && plan.begins) note_size(plan, points);
    const std::vector<AttributeSpec> attributes = {{"hist", "bins", params.bins},
                                                   {"hist", "offset", params.offset},
                                                   {"hist", "time_markers", markers},
                                                   {"hist", "time_steps", points}};
    plan.attributes.insert(plan.attributes.end(), attributes.begin(), attributes.end());
  }

  // The file has its final size from the start, and a run keeps it in memory, too.
  void note_size(RunPlan& plan, int64_t points) {
    constexpr double kMuch = 256 << 20;
    const size_t arrays = all_watched().size();
    const double bytes = double(points) * double(params.bins) * 4 * double(arrays);
    if (bytes >= kMuch)
      plan.messages.push_back(text("note: Hist takes ", bytes_text(bytes), " of memory, and of the metrics file: ",
                                   points, " histograms of each of ", counted(int64_t(arrays), "array"),
                                   "; with a larger `every`, in steps, there are fewer"));
  }

  bool watches(const Progress& at) const override {
    if (params.every > 0) return (at.step + 1) % params.every == 0;
    return at.step + 1 == (at.epoch + 1) * at.steps_per_epoch;
  }

  void step_end(StepEnd& end) override {
    const int64_t point = params.every > 0 ? (end.at.step + 1) / params.every - 1 : end.at.epoch;
    for (const Watched& array : watched_) {
      const Tensor output = end.program.output(array.series);
      Sizes sizes;
      for (int64_t i = 0; i < kSizes; ++i) sizes[size_t(i)] = output.at(i);
      if (end.file) {
        fill_bins(sizes);
        end.file->set(array.series, point, bins_);
        if (params.ranges) end.file->set(array.range, point, range_of(array, sizes, end.program));
      }
      if (dtype_ != DType::f16) continue;
      switch (array.of) {
        case Watched::Of::weights: judge_weights(array, sizes, end.messages); break;
        case Watched::Of::gradients: judge_gradients(array, sizes, end.loss_scale, end.messages); break;
        case Watched::Of::outputs: judge_outputs(array, sizes, end.messages); break;
      }
    }
    write_moves(end, point);
  }

  void move_end(size_t player, const Program& program) override {
    for (const Watched& array : of_others_.at(player - 1)) {
      const Tensor output = program.output(array.series);
      const auto counts = counts_.at(array.series).as<double>();
      for (int64_t i = 0; i < kSizes; ++i) counts[size_t(i)] = output.at(i);
      if (!params.ranges) continue;
      const Sizes sizes = sizes_of(array);
      std::ranges::copy(range_of(array, sizes, program), counts.begin() + kSizes);
    }
  }

  std::map<std::string, double> state() const override { return told_; }
  void restore(const std::map<std::string, double>& state) override { told_ = state; }
  std::map<std::string, Tensor> arrays() const override { return counts_; }
  void restore_arrays(const std::map<std::string, Tensor>& arrays) override { counts_ = arrays; }

 private:
  // The arrays of all players.
  std::vector<const Watched*> all_watched() const {
    std::vector<const Watched*> out;
    for (const Watched& array : watched_) out.push_back(&array);
    for (const auto& of_player : of_others_)
      for (const Watched& array : of_player) out.push_back(&array);
    return out;
  }

  // Counts of a checkpoint stay if they fit: its file may have been changed.
  void make_counts() {
    const std::map<std::string, Tensor> restored = std::exchange(counts_, {});
    const Shape shape{kSizes + int64_t(std::size(kRangeParts))};
    for (const auto& of_player : of_others_)
      for (const Watched& array : of_player) {
        const auto found = restored.find(array.series);
        const bool fits =
            found != restored.end() && found->second.dtype() == DType::f64 && found->second.shape() == shape;
        counts_[array.series] = fits ? found->second.clone() : Tensor(DType::f64, shape);
      }
  }

  Sizes sizes_of(const Watched& array) const {
    Sizes out;
    std::ranges::copy(counts_.at(array.series).as<double>().first(size_t(kSizes)), out.begin());
    return out;
  }

  // Writes the counts of the last moves of players after the first: zeros before a first move.
  void write_moves(StepEnd& end, int64_t point) {
    if (!end.file) return;
    for (const auto& of_player : of_others_)
      for (const Watched& array : of_player) {
        fill_bins(sizes_of(array));
        end.file->set(array.series, point, bins_);
        if (params.ranges)
          end.file->set(array.range, point, counts_.at(array.series).as<double>().subspan(size_t(kSizes)));
      }
  }

  // Shares are of the numbers that are finite, as the sizes count them.
  static std::vector<double> range_of(const Watched& array, const Sizes& sizes, const Program& program) {
    std::vector<double> out;
    for (const std::string& part : array.parts) out.push_back(program.output(part).at(0));
    const double all = std::accumulate(sizes.begin(), sizes.end(), 0.0);
    for (size_t k = 2; k < out.size(); ++k) out[k] = all > 0 ? out[k] / all : 0;
    return out;
  }

  void fill_bins(const Sizes& sizes) {
    std::ranges::fill(bins_, 0.0);
    for (int64_t i = 0; i < kSizes; ++i) {
      const int64_t bin = i == 0 ? 0 : histogram_bin(double(kSizeOfZero + i), params.bins, params.offset);
      if (bin < params.bins) bins_[size_t(bin)] += sizes[size_t(i)];
    }
  }

  void judge_weights(const Watched& array, const Sizes& sizes, std::vector<std::string>& messages) {
    const Range range(array, sizes, 1);
    const double zeros = array.narrow ? range.zeros : 0;  // the zeros of f32 masters are meant
    warn_of_small("weights", array, range.small + zeros, range.vanishing + zeros, range.all, messages);
    if (range.large + range.infinite > kManyLarge * range.all && tell_once(array.large))
      messages.push_back(text("warning: ", percent((range.large + range.infinite) / range.all), " of the weights ",
                              array.name, " are close to the largest f16 or beyond; ", kWider));
  }

  // A step with infinite ones is skipped, and the loss scale halved.
  void judge_outputs(const Watched& array, const Sizes& sizes, std::vector<std::string>& messages) {
    const Range range(array, sizes, 1);
    const double counted = range.all - range.infinite;
    if (range.large > kManyLarge * counted && tell_once(array.large))
      messages.push_back(text("warning: ", percent(range.large / counted), " of the outputs ", array.name,
                              " are close to the largest f16; ", kWider));
  }

  // Some are 0 by right: of inputs that are, of rectifiers that are off. So the others say how many are too small.
  void judge_gradients(const Watched& array, const Sizes& sizes, double scale, std::vector<std::string>& messages) {
    const Range range(array, sizes, scale);
    if (range.zeros == range.all) {
      if (tell_once(array.zero))
        messages.push_back(text("warning: all gradients ", array.name,
                                " are 0: they are too small for f16, or nothing reaches them; ", kWider));
      return;
    }
    warn_of_small("gradients", array, range.small, range.zeros, range.all - range.zeros, messages);
    if (range.infinite > kManyLarge * range.all && tell_once(array.infinite))
      messages.push_back(text("warning: ", percent(range.infinite / range.all), " of the gradients ", array.name,
                              " overflow f16 at a loss scale of ", scale,
                              "; such a step is skipped, and the scale halved"));
  }

  void warn_of_small(const char* what, const Watched& array, double small, double zeros, double of,
                     std::vector<std::string>& messages) {
    if (!(small > kManySmall * of) || !tell_once(array.small)) return;
    messages.push_back(text("warning: ", percent(small / of), " of the ", what, " ", array.name,
                            " are below f16's normal numbers and lose bits",
                            zeros > 0 ? text(", ", int64_t(zeros), " are 0") : "", "; ", kWider));
  }
  bool tell_once(const std::string& what) { return told_.try_emplace(what, 1).second; }

  std::vector<Watched> watched_;
  std::vector<std::vector<Watched>> of_others_;  // by player, from the second on
  // By series: the sizes and the range in the last watched move, for the checkpoint, too.
  std::map<std::string, Tensor> counts_;
  std::vector<double> bins_;  // of the array at hand
  DType dtype_ = DType::f32;
  std::map<std::string, double> told_;
};
NEON_REGISTER(Callback, Hist,
              "Writes histograms of the sizes of weights, gradients and outputs of layers to the metrics file.");

}  // namespace

}  // namespace neon
