// How a run is made ready: programs, variables, files.
#include <algorithm>

#include "datasets/word_vectors.h"
#include "neon/train/constant_cost.h"
#include "neon/train/initial_values.h"
#include "neon/train/rank_agreement.h"
#include "neon/train/run_room.h"
#include "neon/train/signals.h"
#include "neon/train/trainer.h"

namespace neon {

Trainer::Trainer(Experiment& experiment, Data data, RunOptions options, const StoredRun* resume,
                 std::optional<uint64_t> drawn, Ranks* ranks)
    : setup_(experiment, std::move(data), std::move(options), ranks),
      report_(setup_),
      start_(start_of_run(setup_, resume, ranks && !drawn ? ranks->seed() : drawn)),
      checkpoints_(setup_, resume ? resume->file.path : ""),
      observer_(setup_, report_, checkpoints_) {
  setup_.step.seed = start_.position.seed;
  if (ranks) check_ranks(setup_, start_.position);
  report_.messages(start_.notes);
  const std::string note = check_steps(setup_.step, setup_.epochs * setup_.steps_per_epoch);
  if (!note.empty()) report_.message(note);
  check_position(start_.position, setup_);
  make_programs(resume);
  if (resume) note_other_rates(*resume);
  open_files();
  report_.log_settings(start_.position.seed);
  // A resumed run with nothing left to do has nothing new to save, except under another name.
  checkpoints_.set_current(start_.position.step > 0 &&
                           (!checkpoints_.wanted() || setup_.options.save_path == resume->file.path));
}

Trainer::~Trainer() = default;

void Trainer::make_programs(const StoredRun* resume) {
  const DeviceOptions device = setup_.device(start_.position, report_.listener());
  const Phase phase = training_phase(setup_);
  try {
    runner_ = std::make_unique<StepRunner>(setup_, phase, variables_, start_.position, observer_, report_.listener());
    if (runner_->feed().reads_ahead() && setup_.gpu && setup_.data.train.stays_on_host)
      report_.message(
          "note: the samples would take more than memory_share of the GPU's memory; they stay in the host's memory, "
          "and batches are copied");
    if (!setup_.gpu) check_room(runner_->program(), variables_);
    setup_.experiment.fit(runner_->graph(), setup_.layout);
    if (!resume) report_.messages(setup_.experiment.advice(runner_->graph(), setup_.layout));
    observer_.learning().set_constant([this] {
      return cost_of_constant(*setup_.experiment.params.cost, setup_.data, runner_->graph().outputs.size());
    });
    set_variables(resume);
    evaluations_ = std::make_unique<Evaluations>(setup_, variables_, device);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::memory || !setup_.gpu) throw;
    evaluations_.reset();
    runner_.reset();
    variables_.set_mirror(nullptr);
    fail(ErrorKind::memory, error.what(), gpu_room_text(setup_, phase, device));
  }
}

void Trainer::set_variables(const StoredRun* resume) {
  const StepGraph& graph = runner_->graph();
  const std::string& path = setup_.options.model_file;
  if (!path.empty() || resume) set_initial_values(graph, start_.position.seed, variables_);
  else
    set_initial_values(graph, start_.position.seed, variables_,
                       [this](const Parameter& p, Tensor& values) { take_vectors(p, values); });
  if (!path.empty() && !resume) {
    std::vector<std::string> warnings;
    const TensorFile file = load_checkpoint(path, warnings);
    report_.messages(warnings);
    report_.messages(take_weights(file, path, graph, setup_.options.caffe, variables_));
  }
  if (resume) {
    restore_variables(resume->file, resume->file.path, variables_);
    former_callbacks_ = restore_callbacks(*resume, setup_.experiment);
  }
  variables_.to_device();
}

// The rows of an embedding whose words a file has.
void Trainer::take_vectors(const Parameter& parameter, Tensor& values) {
  DataContext context;
  context.data_dir = setup_.options.data_dir;
  context.run_dir = setup_.options.run_dir;
  context.spec_dir = setup_.options.spec_dir;
  const std::string file = find_data_file(parameter.vectors, context);
  const int64_t found = take_word_vectors(file, setup_.data.vocabulary, values);
  report_.message(text(parameter.layer, ": vectors of ", found, " of ", setup_.data.vocabulary.size(), " words from ",
                       file, found < setup_.data.vocabulary.size() ? "; the others are drawn" : ""));
}

// A schedule may go by how many epochs the run has in all, as Cosine does.
void Trainer::note_other_rates(const StoredRun& resume) {
  Progress now = runner_->progress(), then = now;
  then.epochs = resume.options.epochs ? *resume.options.epochs : Experiment(resume.spec).params.epochs;
  for (const Optimizer* const optimizer : runner_->graph().optimizers) {
    const double rate = optimizer->rate_at(now), before = optimizer->rate_at(then);
    if (rate == before) continue;
    report_.message(text("note: the schedule depends on the run's length, now ", now.epochs, " epochs instead of ",
                         then.epochs, "; the learning rate is now ", rate, " instead of ", before));
    return;
  }
}

void Trainer::open_files() {
  Experiment& experiment = setup_.experiment;
  RunOptions& options = setup_.options;
  const bool needed = std::ranges::any_of(experiment.params.callbacks,
                                          [](const auto& callback) { return callback->needs_evaluation(); });
  std::vector<std::string> notes;
  evaluations_->settle_frequency(needed, notes);
  // Kept in the checkpoint: the curves of a run that goes on to other epochs would not fit another frequency.
  options.eval_freq = evaluations_->frequency();
  const bool writes_metrics = !options.output_file.empty();
  RunPlan plan{runner_->graph(),
               setup_.step.dtype,
               setup_.epochs,
               setup_.steps_per_epoch,
               writes_metrics,
               experiment.results(),
               {},
               {},
               {}};
  plan.begins = start_.position.step == 0;
  plan_callbacks(experiment, evaluations_->any(), plan);
  if (evaluations_->any()) plan.attributes.push_back({"", "evaluated", std::string(evaluations_->set_name())});
  if (checkpoints_.wanted()) check_names(options);
  // A signal must not leave behind the files that are made from here on.
  if (checkpoints_.wanted() || writes_metrics) signals_ = std::make_unique<SignalGuard>();
  checkpoints_.claim(variables_);
  report_.messages(plan.messages);
  report_.messages(notes);
  if (writes_metrics) report_.open_metrics_file(plan, evaluations_->frequency(), start_.position);
}

}  // namespace neon
