// neon bench SPEC: times the very program that `train` runs, with a new batch each step, and the forward and
// backward passes alone; with -v the time of each kernel. Fails when training does not move the cost of a batch. Ranks
// time the step of all of them. With --inference it times the outputs of a batch instead, as predict makes them.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "neon/cli/kernel_times.h"
#include "neon/cli/output_place.h"
#include "neon/cli/rank_launch.h"
#include "neon/cli/rank_process.h"
#include "neon/cli/read_places.h"
#include "neon/cli/session.h"
#include "neon/cli/step_time.h"
#include "neon/cli/timed_pass.h"
#include "neon/cli/verb.h"
#include "neon/train/terminal.h"
#include "neon/train/trainer.h"

namespace neon {

namespace {

constexpr int64_t kMostTimed = 20;  // steps whose kernels are timed
constexpr int64_t kLeastTimed = 5;
constexpr double kMostSeconds = 10;  // for each of the passes, unless --iterations says how many steps

// Training changes the parameters; these are their present values.
class Weights {
 public:
  explicit Weights(Trainer& trainer) : variables_(trainer.variables()) {
    variables_.to_host();
    for (const Parameter& p : trainer.steps().graph().parameters) values_[p.name] = variables_.at(p.name).clone();
  }
  void restore() const {
    variables_.to_host();
    for (const auto& [name, value] : values_) variables_.at(name).copy_from(value);
    variables_.to_device();
  }

 private:
  Variables& variables_;
  std::map<std::string, Tensor> values_;
};

// With fewer steps than `accumulate` there might be no update among them.
Timings timings_of(const CommandLine& line, int64_t accumulate) {
  const int64_t asked = line.of_verb.iterations.value_or(kUsualIterations);
  if (accumulate > asked)
    print_message(text("note: ", accumulate, " steps are timed, the length of one update (accumulate)"));
  const int64_t most = std::max(asked, accumulate);
  if (line.of_verb.iterations) return {.most = most};
  return {.most = most, .least = std::max(kLeastTimed, accumulate), .seconds = kMostSeconds};
}

std::string memory_text(const DeviceOptions& device) {
  std::string why_not;
  if (!device.gpu) return "";
  return bytes_text(double(gpu_module(why_not)->peak_bytes(device.gpu_index))) +
         " of the GPU's at most, choice of "
         "algorithms included";
}

void write_profile(const std::string& path, const std::string& trace) {
  write_output(path, trace + "\n");
  print_result("wrote " + path + "; chrome://tracing and ui.perfetto.dev show it");
}

// Tables of the kernels with -v, and the profile where one is asked for.
void show_kernels(const CommandLine& line, const std::vector<TimedKernel>& kernels, DType dtype,
                  const DeviceOptions& device) {
  if (kernels.empty()) return;
  const Ceiling ceiling = measure_ceiling(dtype, device);
  const std::string& profile = line.of_verb.profile;
  if (line.verbose > 1) print_lines(kernel_tables(kernels, ceiling));
  if (!profile.empty()) write_profile(profile, chrome_trace(kernels, ceiling));
}

bool shows_kernels(const CommandLine& line) { return line.verbose > 1 || !line.of_verb.profile.empty(); }

// The outputs of each batch, of weights as a training begins with them.
int bench_inference(const CommandLine& line, const Experiment& experiment, const Data& data, Trainer& trainer,
                    const StepOptions& step, const DeviceOptions& device) {
  TimedPass pass(TimedPass::Kind::inference, experiment, data, step, trainer.variables(), device);
  const auto [ms, timings] = pass.time(timings_of(line, 1));
  print_result(
      text("median of ", timings, " runs, batch ", step.batch, ", ", name_of(step.dtype), ", ", trainer.device_text()));
  print_result(formatted("inference         %9.4f ms  %.0f samples/s", ms, 1000 * double(step.batch) / ms));
  if (shows_kernels(line))
    show_kernels(line, time_kernels(pass.program(), std::min(timings, kMostTimed), [&] { return pass.time_kernels(); }),
                 step.dtype, device);
  return 0;
}

// The training step, and the passes of a net that has a cost.
int bench_step(const CommandLine& line, const Experiment& experiment, const Data& data, Trainer& trainer,
               const StepOptions& step, const DeviceOptions& device) {
  const Weights untrained(trainer);
  const Timings timings = timings_of(line, step.accumulate);
  if (experiment.params.buckets.is_given())
    print_message(
        "note: a whole step is the median over batches of all buckets; the passes are of the longest sequences");
  const auto [whole, timed] = time_steps(timings, device.gpu, [&](int64_t count) { trainer.steps().repeat(count); });
  const std::string memory = memory_text(device);  // before other programs take theirs
  std::vector<TimedKernel> kernels;
  if (shows_kernels(line)) kernels = time_kernels(trainer.steps(), std::min(timed, kMostTimed));
  const std::string each = trainer.device_text();
  const std::string where = own_ranks() ? text(own_ranks()->size(), " ranks of ", each) : each;
  print_result(text("median of ", timed, " steps, batch ", step.batch, ", ", name_of(step.dtype), ", ", where));
  double first_cost = 0, last_cost = 0;
  if (experiment.cost()) {
    // Its memory is given back before the next takes some.
    const auto pass = [&](TimedPass::Kind kind) {
      return TimedPass(kind, experiment, data, step, trainer.variables(), device);
    };
    const double both_ms = own_ranks() ? 0 : pass(TimedPass::Kind::gradients).time(timings).ms;
    TimedPass forward = pass(TimedPass::Kind::forward);
    const double forward_ms = own_ranks() ? 0 : forward.time(timings).ms;
    // Batches differ, so only the cost of one and the same says whether training did anything.
    last_cost = forward.cost_of_first_batch();
    untrained.restore();
    first_cost = forward.cost_of_first_batch();
    if (!own_ranks()) print_result(formatted("forward           %9.4f ms", forward_ms));
    if (!own_ranks()) print_result(formatted("forward+backward  %9.4f ms", both_ms));
  }
  print_result(formatted("whole step        %9.4f ms  %.0f samples/s", whole, 1000 * double(step.batch) / whole));
  if (experiment.cost()) print_result(formatted("cost of one batch %9.4f -> %.4f", first_cost, last_cost));
  if (!memory.empty()) print_result("memory            " + memory);
  show_kernels(line, kernels, step.dtype, device);
  if (experiment.cost() && !(std::fabs(last_cost - first_cost) > 1e-6 * std::fabs(first_cost)))
    fail(ErrorKind::failed, "the cost of the same batch stayed at ", first_cost, ": the timed steps do not train");
  return 0;
}

OpenedSpec timed_spec(const CommandLine& line, const std::string& path) {
  OpenedSpec out = open_spec(line, path);
  Experiment& experiment = *out.experiment;
  if (!experiment.cost() && line.of_verb.inference)
    fail(ErrorKind::config, path, ": --inference is for a net with a cost; this spec trains by a rule");
  if (const size_t count = experiment.phases().size(); count > 1) {
    print_message(text("note: of ", count, " phases the last is timed, ", experiment.last_phase().name));
    experiment.keep_last_phase();
  }
  return out;
}

int run_bench(const CommandLine& line) {
  const std::string& path = only_operand(line);
  if (line.of_verb.inference && (starts_ranks(line) || own_ranks()))
    fail(ErrorKind::config, "--inference times one device; ",
         line.asks_for_ranks ? "leave out " + line.ranks_option : "start one process");
  if (starts_ranks(line)) return start_ranks(line);
  const OpenedSpec spec = timed_spec(line, path);
  RunOptions options = options_of(line, spec);
  options.spec_dir = spec.folder;
  if (!line.of_verb.profile.empty()) {
    ReadPlaces(*spec.experiment, options).check_spares("--profile", line.of_verb.profile, false);
    check_replaceable(line.of_verb.profile, kTraceBegin, "profile of neon bench", line.of_verb.overwrite);
  }
  const bool asked = choose_backend(line, options, *spec.experiment);
  const auto waking = wake_gpu(options, *spec.experiment);
  options.save_path.clear();
  options.output_file.clear();
  options.progress_bar = false;
  const Data data = load_data(*spec.experiment, options, spec.folder);
  const auto made = spec.experiment->placing([&] {
    return on_device_or_cpu(options, asked, [&] {
      return std::make_unique<Trainer>(*spec.experiment, data, options, nullptr, std::nullopt, own_ranks());
    });
  });
  const DeviceOptions device = device_options(options, *spec.experiment);
  const StepOptions step = step_options(options, spec.experiment->params);
  return (line.of_verb.inference ? bench_inference : bench_step)(line, *spec.experiment, data, *made, step, device);
}

}  // namespace

NEON_VERB(run_bench, "bench", 60, takes_step | takes_devices | takes_values | computes, "SPEC",
          "time the training step; -v times each layer and kernel");

}  // namespace neon
