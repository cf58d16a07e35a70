#include "neon/train/feature_maps.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "models/guided_graph.h"
#include "neon/core/paths.h"
#include "neon/train/evaluator.h"
#include "neon/train/image_sheet.h"
#include "neon/train/run_folder.h"
#include "neon/train/shared_rows.h"

namespace neon {

namespace {

// Finds the samples and pixels that the maps of a layer respond to, on the CPU.
class MapFinder {
 public:
  MapFinder(const MapsOfNet& of, const std::string& layer, const Variables& weights) : samples_(of.set.split.inputs) {
    StepOptions options = of.step;
    options.share = {};
    options.rounding = 0;
    options.batch = batch_ = std::min<int64_t>(options.batch, of.set.split.size());
    DataLayout data = of.layout;
    data.dtype = of.set.split.dtype();
    const StepGraph graph = guided_graph(of.network, layer, data, of.set.split.size(), options);
    program_ = compile_for_cpu(graph.graph, variables_, {});
    for (const auto& [name, tensor] : variables_.all()) {
      const std::string from = weights.has(name + "/ema") ? name + "/ema" : name;
      const auto found = of.shared.find(from);
      variables_.at(name).copy_from(found == of.shared.end() ? weights.at(from) : found->second);
    }
    chosen_ = Tensor(graph.graph.dtype(graph.graph.outputs().at("best")),
                     graph.graph.shape(graph.graph.outputs().at("best")));
    indices_ = Tensor(DType::i32, {batch_});
    program_->bind("data", samples_.data());
  }

  int64_t maps() const { return chosen_.shape()[1]; }

  // The sample with the largest activation of each of the first maps, among the first `count`.
  std::vector<int64_t> best(int64_t most, int64_t count) {
    std::vector<int64_t> out(size_t(std::min(most, maps())), 0);
    std::vector<double> largest(out.size(), -INFINITY);
    for (int64_t first = 0; first < count; first += batch_) {
      run([&](int64_t row) { return std::min(first + row, count - 1); });
      const Tensor found = program_->output("best");
      for (int64_t row = 0; row < std::min(batch_, count - first); ++row)
        for (size_t map = 0; map < out.size(); ++map)
          if (const double value = found.at(row * maps() + int64_t(map)); value > largest[map])
            largest[map] = value, out[map] = first + row;
    }
    return out;
  }

  // For each map its picture and the sample (2 maps,H,W,C), each from 0 to 1.
  Tensor pictures(const std::vector<int64_t>& samples) {
    Tensor out;
    const auto count = int64_t(samples.size());
    for (int64_t first = 0; first < count; first += batch_) {
      const int64_t rows = std::min(batch_, count - first);
      for (int64_t i = 0; i < chosen_.elements(); ++i) chosen_.set(i, 0);
      for (int64_t row = 0; row < rows; ++row) chosen_.set(row * maps() + first + row, 1);
      run([&](int64_t row) { return samples[size_t(std::min(first + row, count - 1))]; });
      const Tensor guided = program_->output("guided"), x = program_->output("x");
      if (out.empty()) out = Tensor(DType::f32, Shape{2 * count}.concat(x.shape().slice(1, 4)));
      for (int64_t row = 0; row < rows; ++row) {
        stretch(guided.rows(row, 1), out.rows(2 * (first + row), 1));
        stretch(x.rows(row, 1), out.rows(2 * (first + row) + 1, 1));
      }
    }
    return out;
  }

 private:
  template <typename SampleOf>
  void run(const SampleOf& sample_of) {
    for (int64_t row = 0; row < batch_; ++row) indices_.set(row, double(sample_of(row)));
    program_->bind("indices", indices_.data());
    program_->bind("chosen", chosen_.data());
    program_->run(0);
  }

  static void stretch(const Tensor& from, Tensor to) {
    const SheetRange range = range_of(from);
    for (int64_t i = 0; i < from.elements(); ++i) to.set(i, (from.at(i) - range.low) / (range.high - range.low));
  }

  const Tensor& samples_;
  int64_t batch_ = 1;
  Variables variables_;
  std::unique_ptr<Program> program_;
  Tensor chosen_, indices_;
};

std::string sheet_name(const std::string& layer) {
  std::string out = text(kGuidedBegin, layer, ".png");
  for (char& c : out)
    if (!std::isalnum(uint8_t(c)) && c != '-' && c != '_' && c != '.') c = '_';
  return out;
}

std::string why_not(const SampleMeaning& data, const EvaluatedSet& set) {
  if (!data.is_image() || (data.sample[0] != 1 && data.sample[0] != 3))
    return "samples are no images of 1 or 3 channels";
  if (set.split.size() == 0) return "the data set has no validation or test samples";
  if (set.split.reader || set.split.rows)
    return "samples are read while the run goes on (stream: false holds them in memory)";
  return "";
}

}  // namespace

std::vector<std::string> draw_feature_maps(const RunSetup& setup, const StepGraph& step, Variables& variables) {
  std::optional<MapsToDraw> asked;
  for (const auto& callback : setup.experiment.params.callbacks)
    if (callback->maps_to_draw()) asked = callback->maps_to_draw();
  if (!asked) return {};
  variables.to_host();
  std::map<std::string, Tensor> shared = with_all_rows(variables, setup);
  if (!setup.leads()) return {};
  const WorkAlone alone(setup.ranks);
  const EvaluatedSet set = set_during_training(setup.data);
  return write_feature_maps({setup.experiment.network(), setup.step, setup.layout, set, std::move(shared)},
                            convolutions_of(step.parameters), *asked, variables, setup.options.run_folder);
}

std::vector<std::string> write_feature_maps(const MapsOfNet& of, const std::vector<std::string>& layers,
                                            const MapsToDraw& asked, const Variables& variables,
                                            const std::string& folder) {
  if (const std::string why = why_not(of.layout, of.set); !why.empty())
    return {text("warning: GuidedBackprop draws nothing: ", why)};
  const int64_t size = of.set.split.size(),
                count = std::max<int64_t>(1, std::llround(asked.percent / 100 * double(size)));
  std::vector<std::string> out;
  for (const std::string& layer : layers) try {
      MapFinder finder(of, layer, variables);
      const std::string path = join_path(folder, sheet_name(layer));
      check_preview_place(path);
      write_sheet(finder.pictures(finder.best(asked.maps, count)), {}, path);
      out.push_back(text("wrote ", path));
    } catch (const Error& error) {
      out.push_back(text("warning: ", error.what()));
    }
  return out;
}

}  // namespace neon
