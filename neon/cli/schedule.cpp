// neon schedule SPEC: how the learning rate and the momentum change during a run, without training.
#include <algorithm>

#include "neon/cli/chart.h"
#include "neon/cli/session.h"
#include "neon/cli/verb.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr int64_t kStepsWithoutData = 100;  // in an epoch

// A phase and one of its optimizers.
struct Scheduled {
  std::string title;  // "" for the only one
  const Optimizer* optimizer;
  int64_t epochs;
};

std::vector<Scheduled> all_scheduled(const Experiment& experiment, const RunOptions& options) {
  std::vector<Scheduled> out;
  int64_t before = 0;
  for (const TrainedPhase& phase : experiment.phases()) {
    const bool last = &phase == &experiment.last_phase();
    const int64_t epochs = last ? options.epochs.value_or(experiment.params.epochs) - before : phase.epochs;
    before += epochs;
    std::vector<std::string> names = phase.optimizer->mentions();
    const bool several = !names.empty();
    names.insert(names.begin(), "default");
    for (const std::string& name : names) {
      const std::string part = several ? name : "";
      out.push_back({join({phase.name, part}, phase.name.empty() || part.empty() ? "" : ", "),
                     &phase.optimizer->serving(name, name), epochs});
    }
  }
  return out;
}

// Steps of an epoch; by a guess, with a note, where the data are not there.
int64_t steps_of_epoch(const OpenedSpec& spec, const RunOptions& options) {
  const DataCheck check = check_data(*spec.experiment, options, spec.folder);
  const int64_t batch = options.batch_size.value_or(spec.experiment->params.batch_size);
  if (check.train_size > 0) return (check.train_size + batch - 1) / batch;
  print_message(text("note: the data are not here, so an epoch is drawn with ", kStepsWithoutData, " steps"));
  return kStepsWithoutData;
}

// Values before at most so many steps of the run, the first and the last among them.
std::vector<double> sampled(const Scheduled& one, int64_t steps, const auto& value) {
  constexpr int64_t kMost = 6001;
  const int64_t total = one.epochs * steps, count = std::min(total, kMost);
  std::vector<double> out;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t step = count > 1 ? int64_t(double(k) * double(total - 1) / double(count - 1)) : 0;
    out.push_back(value(Progress{step / steps, step, steps, one.epochs}));
  }
  return out;
}

void draw(const std::string& what, const std::vector<double>& values, const Scheduled& one) {
  const auto [least, largest] = std::ranges::minmax(values);
  if (least == largest) return print_result(text(what, ": ", number(least), " from the first step to the last"));
  print_result(text(what, ": begins at ", formatted("%.4g", values.front()), ", at most ", formatted("%.4g", largest),
                    ", ends at ", formatted("%.4g", values.back())));
  for (const std::string& line : chart_lines(values, double(one.epochs), "epochs")) print_result(line);
}

int run_schedule(const CommandLine& line) {
  const OpenedSpec spec = open_spec(line, only_operand(line));
  const RunOptions options = options_of(line, spec);
  const int64_t steps = steps_of_epoch(spec, options);
  bool first = true;
  for (const Scheduled& one : all_scheduled(*spec.experiment, options)) {
    if (one.epochs < 1) continue;  // -e ends the run before
    if (!std::exchange(first, false)) print_result("");
    if (!one.title.empty()) print_result(one.title);
    print_result(text(one.epochs, one.epochs == 1 ? " epoch of " : " epochs of ", steps, " steps"));
    draw("learning rate", sampled(one, steps, [&](const Progress& at) { return one.optimizer->rate_at(at); }), one);
    if (one.optimizer->momentum_at({}))
      draw("momentum", sampled(one, steps, [&](const Progress& at) { return *one.optimizer->momentum_at(at); }), one);
  }
  return 0;
}

}  // namespace

NEON_VERB(run_schedule, "schedule", 45, takes_shapes | takes_values, "SPEC",
          "draw the learning rate and the momentum of a run; train nothing");

}  // namespace neon
