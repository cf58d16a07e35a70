// How a run is made ready: programs, variables, files.
#include <algorithm>
#include <ranges>

#include "datasets/word_vectors.h"
#include "neon/core/paths.h"
#include "neon/train/changed_settings.h"
#include "neon/train/initial_values.h"
#include "neon/train/learned_images.h"
#include "neon/train/rank_agreement.h"
#include "neon/train/rank_notes.h"
#include "neon/train/run_folder.h"
#include "neon/train/run_room.h"
#include "neon/train/shared_rows.h"
#include "neon/train/signals.h"
#include "neon/train/torch_weights.h"
#include "neon/train/trainer.h"

namespace neon {

namespace {

// Fills the rows of an embedding whose words a file has. Returns a message.
std::string take_vectors(const RunSetup& setup, const Parameter& parameter, Tensor& values) {
  const std::string file = find_vectors(parameter, setup.options);
  const int64_t words = setup.data.vocabulary.size(), found = take_word_vectors(file, setup.data.vocabulary, values);
  return text(parameter.layer, ": vectors of ", found, " of ", words, " words from ", file,
              found < words ? "; the others are drawn" : "");
}

// Takes the weights of the spec's own layers from --model_file.
TakenWeights take_first_weights(const RunSetup& setup, const StepGraph& graph, Variables& variables,
                                RunReport& report) {
  const std::string& path = setup.options.model_file;
  std::vector<std::string> messages;
  const TakingNet net{setup.experiment.network(),
                      graph,
                      setup.data,
                      setup.options.caffe,
                      setup.layout.channels_last || !setup.step.augment.empty(),
                      setup.experiment.params.outputs};
  TensorFile whole = load_weights(path, net, messages);
  // A tensor may be as large as this rank's part, but is no part.
  std::erase_if(whole.tensors, [&](const NamedTensor& tensor) {
    if (!is_of_another_size(tensor, setup)) return false;
    messages.push_back(text("note: ", tensor.name, " ", tensor.tensor.shape(), " of ", path, " is of another size"));
    return true;
  });
  const TensorFile file = with_own_rows(whole, setup);
  report.messages(messages);
  const TakenWeights taken = take_weights(file, path, net, variables);
  report.message(text(path, ": ", taken.line()));
  report.messages(taken.notes);
  return taken;
}

// Copies the arrays of a checkpoint. Its error names what has changed in the spec since.
void restore_resumed(const StoredRun& own, const RunSetup& setup, Variables& variables) {
  constexpr std::string_view kOfNet[] = {"dataset",   "layers", "cost",   "outputs", "rule",
                                         "optimizer", "freeze", "phases", "ema"};
  try {
    restore_variables(own.file, own.file.path, variables);
  } catch (const Error& error) {
    const std::string changed = changed_settings(own.spec, setup.experiment.resolved(setup.options), kOfNet);
    if (error.kind() != ErrorKind::config || changed.empty()) throw;
    fail(ErrorKind::config, changed, ", and ", error.what(), "; leave it as it was, or start another run from these ",
         "weights with --model_file ", own.file.path);
  }
}

// A note, or "": a schedule may go by how many epochs the run has in all, as Cosine does.
std::string other_rates(const PhaseSpan& phase, const StoredRun& resume, const StepGraph& graph, const Progress& at) {
  if (!phase.last) return "";  // only the length of the last phase is the run's
  Progress now{at.epoch - phase.first, at.step - phase.first * at.steps_per_epoch, at.steps_per_epoch, phase.epochs};
  Progress then = now;
  then.epochs = resume.options.epochs ? *resume.options.epochs : Experiment(resume.spec).params.epochs;
  then.epochs -= phase.first;
  for (const Optimizer* const optimizer : graph.optimizers) {
    const double rate = optimizer->rate_at(now), before = optimizer->rate_at(then);
    if (rate == before) continue;
    return text("note: the schedule depends on the run's length, now ", now.epochs + phase.first, " epochs instead of ",
                then.epochs + phase.first, "; the learning rate is now ", rate, " instead of ", before);
  }
  return "";
}

// Epochs that a run was to have, when its checkpoint was saved, and at least those that it began.
int64_t epochs_of(const StoredRun& run) {
  const int64_t asked = run.options.epochs ? *run.options.epochs : Experiment(run.spec).params.epochs;
  return std::max(asked, run.position.epoch + (run.position.step_in_epoch > 0 ? 1 : 0));
}

// The metrics file has its final size from the start, which nobody asked for in a run's folder. Returns a note or "".
std::string leave_large_metrics_out(RunSetup& setup) {
  constexpr double kMostBytes = 256 << 20;
  RunOptions& options = setup.options;
  const double bytes = double(sizeof(float)) * double(setup.epochs) * double(setup.steps_per_epoch);
  const bool in_folder =
      !options.run_folder.empty() && options.output_file == join_path(options.run_folder, kRunMetricsFile);
  if (!in_folder || bytes <= kMostBytes) return "";
  options.output_file.clear();
  return text("note: no ", kRunMetricsFile, ": the costs of ", setup.epochs, " epochs would take ", bytes_text(bytes),
              "; -o FILE writes them");
}

}  // namespace

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
  report_.messages(check_steps(setup_.experiment, setup_.step, setup_.epochs, setup_.steps_per_epoch));
  check_position(start_.position, setup_);
  make_programs(resume);
  report_.messages(rank_notes(setup_, graphs_.back(), resume ? resume->position.ranks : 0));
  if (resume)
    if (const std::string note = other_rates(*phase_, *resume, runner_->graph(), runner_->progress()); !note.empty())
      report_.message(note);
  // A run that has nothing left to do is as long as before, whatever -e asks for: its files keep their room and curves.
  if (resume && finished()) setup_.options.epochs = epochs_of(*resume);
  open_files();
  report_.log_settings(start_.position.seed);
  if (const std::string warning = checkpoints_.mend_best(start_.position); !warning.empty()) report_.message(warning);
  // A resumed run with nothing left to do has nothing new to save, except under another name.
  checkpoints_.set_current(start_.position.step > 0 &&
                           (!checkpoints_.wanted() || setup_.options.save_path == resume->file.path));
}

Trainer::~Trainer() = default;

void Trainer::make_programs(const StoredRun* resume) {
  const DeviceOptions device = setup_.device(start_.position, report_.listener());
  const PhaseSpan& span = setup_.phase_after(start_.position.epoch);
  try {
    graphs_ = graphs_of_phases(setup_, variables_);
    make_runner(span);
    if (runner_->feed().reads_ahead() && setup_.gpu && setup_.data.train.stays_on_host)
      report_.message(
          "note: the samples would take more than memory_share of the GPU's memory; they stay in the host's memory, "
          "and batches are copied");
    if (!setup_.gpu) check_room(runner_->program(), variables_);
    setup_.experiment.fit(graphs_, setup_.layout);
    if (!resume) report_.messages(setup_.experiment.advice(graphs_.back(), setup_.layout));
    const int ranks = setup_.rank().ranks;
    if (const std::string split = split_text(setup_.step, ranks, graphs_.back()); !split.empty())
      report_.message(split);
    if (const std::string shards = sharded_text(setup_.step, ranks, graphs_.back()); !shards.empty())
      report_.message(shards);
    report_.messages(sequence_warnings(*span.phase, setup_.data, setup_.layout, setup_.step));
    if (setup_.buckets && !resume)
      report_.message(padding_text(setup_, training_phase(setup_, span), start_.position.seed));
    if (setup_.phases.size() > 1) report_.message(phase_text(span));
    set_variables(resume);
    evaluations_ = std::make_unique<Evaluations>(setup_, span, variables_, device);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::memory || !setup_.gpu) throw;
    evaluations_.reset();
    runner_.reset();
    variables_.set_mirror(nullptr);
    fail(ErrorKind::memory, error.what(), gpu_room_text(setup_, training_phase(setup_, span), device));
  }
}

void Trainer::set_variables(const StoredRun* resume) {
  const bool begins = setup_.options.model_file.empty() && !resume;
  // Backwards, so that the first phase that has a parameter initialises it.
  for (const StepGraph& graph : graphs_ | std::views::reverse) {
    if (!begins) set_initial_values(graph, start_.position.seed, variables_);
    else
      set_initial_values(graph, start_.position.seed, variables_, [this](const Parameter& p, Tensor& values) {
        report_.message(take_vectors(setup_, p, values));
      });
  }
  if (!resume && learns_from_images(setup_.step)) {
    report_.message(text("Whiten: learning from ", setup_.data.train.size(), " training images"));
    const WorkAlone alone(setup_.ranks);
    learn_from_images(setup_.step, setup_.data, variables_);
  }
  if (!setup_.options.model_file.empty() && !resume)
    taken_ = take_first_weights(setup_, graphs_.back(), variables_, report_);
  const auto keeps_draws = [](const Parameter& p) { return !p.trained && p.initializer; };
  if (begins && !setup_.experiment.phases().front().freeze.empty() &&
      std::ranges::any_of(graphs_.front().parameters, keeps_draws))
    report_.message("note: frozen layers keep the values that were drawn; --model_file FILE takes trained ones");
  if (resume) {
    StoredRun own = *resume;
    own.file = with_own_rows(resume->file, setup_);
    restore_resumed(own, setup_, variables_);
    former_callbacks_ = restore_callbacks(own, setup_.experiment);
  }
  // By the spec as it is now, whatever a checkpoint has.
  set_class_weights(setup_.experiment.params.class_weights, setup_.data, variables_);
  set_class_weights(setup_.experiment.params.outputs, setup_.data, variables_);
  if (setup_.ranks && !begins) check_taken(setup_, variables_);
  Position& at = start_.position;
  if (phase_->first > 0 && at.epoch == phase_->first && at.step_in_epoch == 0)
    begin_phase(runner_->graphs(), variables_, at);
  variables_.to_device();
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
  if (const std::string note = leave_large_metrics_out(setup_); !note.empty()) report_.message(note);
  const bool writes_metrics = !options.output_file.empty();
  RunPlan plan{graphs_.back(),
               setup_.step.dtype,
               finished() ? options.epochs.value_or(setup_.epochs) : setup_.epochs,
               setup_.steps_per_epoch,
               writes_metrics,
               experiment.results(),
               {},
               {},
               {}};
  plan.begins = start_.position.step == 0;
  plan.run_folder = options.run_folder;
  plan.leads = setup_.leads();
  plan.histograms_of_others = histograms_of_others(setup_);
  plan_callbacks(experiment, evaluations_->any(), plan);
  if (evaluations_->any()) plan.attributes.push_back({"", "evaluated", std::string(evaluations_->set_name())});
  if (checkpoints_.wanted()) check_names(options);
  // A signal must not leave behind the files that are made from here on.
  if (checkpoints_.wanted() || writes_metrics || setup_.ranks) signals_ = std::make_unique<SignalGuard>(setup_.ranks);
  checkpoints_.claim(variables_);
  report_.messages(plan.messages);
  report_.messages(notes);
  if (writes_metrics) report_.open_metrics_file(plan, evaluations_->frequency(), start_.position);
  if (options.run_folder.empty() || !setup_.leads()) return;
  report_.open_results(evaluations_->any() ? evaluations_->set_name() : "", start_.position);
  write_run_spec(experiment, options);
}

}  // namespace neon
