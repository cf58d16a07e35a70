// Callbacks: things that happen at the end of an epoch, or of steps that they watch. Their state is saved with the
// run.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "backends/program.h"
#include "models/step_graph.h"
#include "neon/core/params.h"
#include "neon/core/registry.h"
#include "neon/train/metrics_file.h"

namespace neon {

// Facts known before the first step, and the series that a callback adds to the metrics file.
struct RunPlan {
  const StepGraph& graph;  // of a rule's first player
  DType dtype = DType::f32;
  int64_t epochs = 0, steps_per_epoch = 0;
  bool writes_file = false;
  std::vector<Metric::Result> results;  // of an evaluation, beside the cost
  std::vector<SeriesSpec> series;
  std::vector<AttributeSpec> attributes;
  std::vector<std::string> messages;
  std::string run_folder = {};  // "": the run has none
  bool leads = true;            // of several ranks one writes what a callback writes
  bool begins = true;           // false: a resumed run, which repeats no message of its begin
  // Histograms in the steps of a rule's players after the first, by player.
  std::vector<std::vector<StepGraph::Histogram>> histograms_of_others = {};
};

// A callback sees this when a step that it watches has ended.
struct StepEnd {
  Progress at;  // the step
  double loss_scale = 1;
  const Program& program;
  MetricsFile* file = nullptr;  // null: none is written
  std::vector<std::string> messages;
};

// A callback sees this when an epoch has ended.
struct EpochEnd {
  int64_t epoch = 0;                      // epochs done
  double train_cost = 0;                  // mean over the epoch
  std::map<std::string, double> results;  // of the evaluation, when there was one: "cost", "Top1Misclass"
  Variables& variables;
  std::string message;       // a line for the user
  double learning_rate = 0;  // of the first optimizer, in the last step
  // A sheet of so many images of the net's generator is drawn there; "": none is.
  std::string sheet;
  int64_t sheet_images = 0;
};

// Sheets of the first so many maps of each convolution, by the images of that share of a set.
struct MapsToDraw {
  int64_t maps = 16;
  double percent = 25;
};

class Callback {
 public:
  static constexpr const char* kCategory = "callback";
  virtual ~Callback() = default;
  virtual const void* params_address() const = 0;
  // Asks for outputs of the programs before they are made.
  virtual void prepare(StepOptions& options) const { (void)options; }
  virtual void plan(RunPlan& plan) { (void)plan; }
  virtual bool watches(const Progress& step) const {
    (void)step;
    return false;
  }
  virtual void step_end(StepEnd& end) { (void)end; }
  // The last move of a rule's player after the first, from 1 on, before the end of a step that a callback watches.
  virtual void move_end(size_t player, const Program& program) { (void)player, (void)program; }
  // Before the first step, also of a run that goes on.
  virtual void train_begin(Variables& variables) { (void)variables; }
  virtual void epoch_end(EpochEnd& end) { (void)end; }
  // Whether it has ended the run, so that nothing is left to go on with.
  virtual bool ended_run() const { return false; }
  // After the last step; not when a signal stopped the run, which then goes on later.
  virtual void train_end(Variables& variables, std::string& message) { (void)variables, (void)message; }
  virtual bool needs_evaluation() const { return false; }
  // Whether the net must have a generator of images.
  virtual bool needs_generator() const { return false; }
  // Whether batch norm's statistics are measured anew after each epoch.
  virtual bool tunes_batch_norm() const { return false; }
  // The sheets to draw at the end of the run.
  virtual std::optional<MapsToDraw> maps_to_draw() const { return {}; }
  // The subject of its state. A resumed run hands the state to the callback of the same name and subject.
  virtual std::string subject() const { return ""; }
  // State: numbers by name, and arrays by name, for the checkpoint.
  virtual std::map<std::string, double> state() const { return {}; }
  virtual void restore(const std::map<std::string, double>& state) { (void)state; }
  virtual std::map<std::string, Tensor> arrays() const { return {}; }
  virtual void restore_arrays(const std::map<std::string, Tensor>& arrays) { (void)arrays; }
};

// A callback that is given twice: of one class and subject.
void check_callbacks(const std::vector<Made<Callback>>& callbacks, const Setting* given, Problems& problems);

}  // namespace neon
