#include "neon/cli/run_predictions.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "neon/cli/npz_writer.h"
#include "neon/cli/output_place.h"
#include "neon/cli/run_evaluation.h"
#include "neon/cli/session.h"
#include "neon/cli/slow_note.h"
#include "neon/cli/untrained_phase.h"
#include "neon/core/counted.h"
#include "neon/core/paths.h"
#include "neon/train/evaluator.h"
#include "neon/train/outcome.h"
#include "neon/train/run_folder.h"

namespace neon {

namespace {

constexpr int64_t kMostNumbers = int64_t(1) << 27;  // outputs of a set

EvaluatedSet set_of(const Data& data, const std::string& name) {
  if (name == "train") return {data.train, "training"};
  if (name == "validation") return {data.validation, "validation"};
  return {data.test, "test"};
}

std::string file_of(const RunOptions& options) {
  if (!options.run_folder.empty()) return join_path(options.run_folder, "predictions.npz");
  if (options.save_path.empty()) return "";
  return std::filesystem::path(options.save_path).replace_extension(".predictions.npz").string();
}

// What KeptOutputs kept of a set, in rows of `width`; a sample may have several, one for each step or pixel.
class KeptRows {
 public:
  KeptRows(const std::vector<std::vector<double>>& kept, const Split& split, int64_t batch) : kept_(kept) {
    if (kept.size() != 3 || kept[0].empty()) return;
    const int64_t size = split.size(), most = std::min(batch, size), filled = (size + most - 1) / most * most;
    rows_ = int64_t(kept[2].size()) / filled;
    width_ = int64_t(kept[0].size() / kept[2].size());
    const auto counts = [](double weight) { return weight != 0; };
    for (int64_t sample = 0; sample < size; ++sample)
      if (const auto from = kept[2].begin() + sample * rows_; std::any_of(from, from + rows_, counts))
        samples_.push_back(sample);  // others could not be read
  }
  bool empty() const { return width_ == 0; }
  int64_t width() const { return width_; }
  const std::vector<int64_t>& samples() const { return samples_; }

  // Columns [first, first + count) of outputs or targets: (n, count), or (n, rows of a sample, count). NaN for a step
  // without a target.
  Tensor columns(bool targets, int64_t first, int64_t count, DType dtype, const Standard& standard) const {
    Tensor out(dtype, shape(count));
    int64_t at = 0;
    for_each_row([&](int64_t row) {
      for (int64_t k = first; k < first + count; ++k, ++at) {
        const double mean = standard.empty() ? 0 : standard.means[size_t(at) % standard.means.size()];
        out.set(at, targets && !counts(row) ? NAN : kept_[targets][size_t(row * width_ + k)] + mean);
      }
    });
    return out;
  }
  // The place of the 1 among so many columns of the targets; -1 for a step without a target.
  Tensor classes(int64_t first, int64_t count) const {
    Tensor out(DType::i32, shape(0));
    int64_t at = 0;
    for_each_row([&](int64_t row) {
      const auto from = kept_[1].begin() + row * width_ + first, found = std::max_element(from, from + count);
      out.set(at++, counts(row) ? double(found - from) : -1);
    });
    return out;
  }

 private:
  bool counts(int64_t row) const { return kept_[2][size_t(row)] != 0; }
  Shape shape(int64_t count) const {
    Shape out{int64_t(samples_.size())};
    if (rows_ > 1) out = out.concat(Shape{rows_});
    return count > 0 ? out.concat(Shape{count}) : out;
  }
  void for_each_row(auto&& work) const {
    for (const int64_t sample : samples_)
      for (int64_t row = 0; row < rows_; ++row) work(sample * rows_ + row);
  }
  const std::vector<std::vector<double>>& kept_;
  int64_t width_ = 0, rows_ = 1;
  std::vector<int64_t> samples_;
};

void add_set(NpzWriter& npz, const std::string& set, const KeptRows& rows, const Experiment& experiment,
             const Data& data, const Split& split, DType dtype) {
  const auto add = [&](const std::string& target, int64_t first, int64_t width, bool classes,
                       const Standard& standard) {
    const std::string end = target.empty() ? "" : "_" + target;
    npz.add(text(set, "_outputs", end), rows.columns(false, first, width, dtype, standard));
    npz.add(text(set, "_targets", end),
            classes ? rows.classes(first, width) : rows.columns(true, first, width, dtype, standard));
  };
  if (data.targets.empty()) {
    const DataLayout seen = experiment.last_phase().layout(layout_of(data));
    add("", 0, rows.width(), seen.classes > 0 && !seen.target_is_input, data.target_standard);
  } else {
    int64_t first = 0;
    for (const auto& [name, output] : experiment.params.outputs) {
      const NamedTarget& target = *std::ranges::find(data.targets, name, &NamedTarget::name);
      add(name, first, target.width, target.kind == TargetKind::classes, target.standard);
      first += target.width;
    }
  }
  Tensor numbers(DType::i32, {int64_t(rows.samples().size())});
  for (size_t i = 0; i < rows.samples().size(); ++i) numbers.set(int64_t(i), double(split.number(rows.samples()[i])));
  npz.add(set + "_samples", numbers);
}

// Evaluates the sets, and adds those that have samples. Returns what was written, as "30 test".
std::vector<std::string> add_sets(NpzWriter& npz, const OpenedRun& opened, const std::string& checkpoint,
                                  const Experiment& experiment, const Data& data, const RunOptions& options) {
  static const KeptOutputs kKept;
  std::vector<std::string> out;
  for (const std::string& name : experiment.params.predictions) {
    const EvaluatedSet all = set_of(data, name);
    if (all.split.size() == 0) continue;
    Split split = all.split;
    if (name == "train" && split.reader == nullptr) split.stays_on_host = true;  // the run's arrays are still there
    Variables variables;
    const SlowNote note(text("computing the predictions of the ", all.name, " set ..."));
    const StepOptions step = step_options(options, experiment.params);
    Evaluator evaluator(experiment, layout_of(data), {split, all.name}, step, variables, false,
                        device_options(options, experiment), {&kKept});
    restore_variables(sound_weights(opened, checkpoint), checkpoint, variables, true);
    variables.to_device();
    if (evaluator.run().empty()) return {};  // a signal came
    const std::vector<std::vector<double>> none;
    const KeptRows rows(evaluator.kept().empty() ? none : evaluator.kept()[0], split, step.batch);
    if (rows.empty()) fail(ErrorKind::config, "the outputs of the net are not compared one by one with the targets");
    add_set(npz, name, rows, experiment, data, split, step.dtype == DType::f64 ? DType::f64 : DType::f32);
    out.push_back(text(rows.samples().size(), " ", all.name));
  }
  return out;
}

}  // namespace

void check_predicted_net(const Experiment& experiment, const SampleMeaning& meaning) {
  const std::vector<std::string>& sets = experiment.params.predictions;
  if (sets.empty()) return;
  for (const std::string& name : sets)
    if (std::ranges::count(sets, name) > 1) fail_about("predictions", "name the ", name, " set twice");
  if (!experiment.cost())
    fail_about("predictions", "are outputs beside targets, and a rule trains without these; neon predict and neon ",
               "sample print what this net gives");
  if (meaning.label_of == LabelOf::box || meaning.label_of == LabelOf::sequence)
    fail_about("predictions", "have one form for all samples, and these are ",
               meaning.label_of == LabelOf::box ? "boxes" : "sequences of different lengths",
               "; neon predict prints them for files");
}

std::vector<std::string> check_predictions(const CommandLine& line, const Experiment& experiment, const Data& data,
                                           const RunOptions& options) {
  check_predicted_net(experiment, data);
  std::vector<std::string> out;
  for (const std::string& name : experiment.params.predictions) {
    const Split& split = set_of(data, name).split;
    const int64_t width =
        data.classes > 0 ? data.classes * std::max<int64_t>(split.label_count() / std::max<int64_t>(split.size(), 1), 1)
        : split.targets.empty() ? data.sample.elements()
                                : split.targets.elements() / split.size();
    if (split.size() == 0) out.push_back(text("warning: predictions: the data set has no ", name, " samples"));
    if (width * split.size() > kMostNumbers)
      fail_about("predictions", "of the set ", name, " are ", width * split.size(), " numbers, more than ",
                 kMostNumbers, "; neon predict -o FILE writes any number of lines");
  }
  std::ranges::move(check_predictions_place(line, experiment, options, false), std::back_inserter(out));
  return out;
}

std::vector<std::string> check_predictions_place(const CommandLine& line, const Experiment& experiment,
                                                 const RunOptions& options, bool makes_folder) {
  if (experiment.params.predictions.empty() || makes_folder) return {};
  const std::string path = file_of(options);
  if (path.empty())
    return {"warning: predictions: none are written, because the run saves nothing; -s FILE saves the net"};
  check_replaceable(path, "PK", ".npz of predictions", line.of_verb.overwrite);
  return {};
}

std::vector<std::string> write_run_predictions(const CommandLine& line, const Experiment& experiment, const Data& data,
                                               const RunOptions& options) {
  const std::string path = file_of(options);
  if (experiment.params.predictions.empty() || path.empty()) return {};
  try {
    const std::string checkpoint = checkpoint_to_evaluate(options);
    if (checkpoint.empty()) return {};
    CommandLine plain = line;  // the checkpoint has what was set
    plain.overrides.clear();
    const OpenedRun opened = open_checkpoint(plain, checkpoint);
    if (const std::string said = untrained_phase(experiment, opened.run.position, checkpoint); !said.empty())
      return {text("note: no predictions: ", said)};
    RunOptions without_updates = options;
    without_updates.rounding = 0;
    NpzWriter npz(path);
    const std::vector<std::string> sets = add_sets(npz, opened, checkpoint, experiment, data, without_updates);
    if (sets.empty()) return {};
    npz.close();
    return {text("wrote ", path, ": outputs and targets of ", join(sets, ", "), " samples by ", checkpoint)};
  } catch (const Error& error) {
    return {text("warning: no predictions: ", error.what())};
  }
}

}  // namespace neon
