#include "neon/cli/rehearsal.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <numeric>

#include "neon/cli/verb.h"
#include "neon/train/initial_values.h"
#include "neon/train/learned_images.h"
#include "neon/train/run_start.h"
#include "neon/train/terminal.h"

namespace neon {

std::vector<double> Rehearsal::costs(int64_t steps) {
  std::vector<double> out;
  try {
    while (int64_t(out.size()) < steps) out.push_back(trainer->steps().repeat(1));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::diverged) throw;
  }
  return out;
}

void Rehearsal::start_again() {
  trainer = nullptr;
  trainer = spec.experiment->placing([&] {
    return on_device_or_cpu(options, asked_for_gpu,
                            [&] { return std::make_unique<Trainer>(*spec.experiment, data, options, nullptr, drawn); });
  });
}

Rehearsal make_rehearsal(const CommandLine& line, OpenedSpec spec, const std::function<void(Rehearsal&)>& change) {
  Rehearsal out;
  out.spec = std::move(spec);
  Experiment& experiment = *out.spec.experiment;
  if (experiment.phases().size() > 1 || !experiment.cost())
    fail(ErrorKind::config, line.operands[0], ": neon ", line.verb, " is for a spec with one cost, without phases");
  out.options = options_of(line, out.spec);
  out.asked_for_gpu = choose_backend(line, out.options, experiment);
  out.drawn = fresh_seed();
  const auto waking = wake_gpu(out.options, experiment);
  out.options.progress_bar = false;
  experiment.params.callbacks.clear();
  experiment.params.train_metrics = 0;
  experiment.params.metrics.clear();  // nothing is evaluated
  out.data = load_data(experiment, out.options, out.spec.folder);
  out.data.test = out.data.validation = {};
  change(out);
  out.start_again();
  return out;
}

Split spread_samples(const Split& from, int64_t count) {
  std::vector<int64_t> rows;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t first = k * from.size() / count, end = (k + 1) * from.size() / count;
    const double turns = double(k) * std::numbers::phi;  // their fractions repeat nothing
    rows.push_back(first + int64_t((turns - std::floor(turns)) * double(end - first)));
  }
  return rows_of(from, rows);
}

OneBatch::OneBatch(const Experiment& experiment, const Data& data, const StepOptions& options, bool backward,
                   const std::vector<NamedTensor>& taken)
    : samples_(spread_samples(data.train, options.batch)) {
  FeedOptions feeding;
  feeding.batch = options.batch;
  feeding.order = SampleOrder::as_given;
  feeding.weight = DType::f32;
  feeding.samples = !options.augment.empty();
  feed_ = make_feed(samples_, feeding);
  DataLayout layout = layout_of(data);
  layout.held = feed_->rows();
  graph_ = gradient_graph(experiment.network(), *experiment.cost(), layout, options, backward);
  program_ = compile_program(graph_.graph, variables_, with_sequences({}));
  // The passes alone update no running statistics; only those of frozen layers are read. A parameter may serve a rule
  // alone, as the visible biases of an RBM do.
  StepGraph read;
  const auto is_read = [&](const auto& array) { return variables_.has(array.name); };
  std::ranges::copy_if(graph_.parameters, std::back_inserter(read.parameters), is_read);
  std::ranges::copy_if(graph_.states, std::back_inserter(read.states), is_read);
  set_initial_values(read, options.seed, variables_);
  for (const auto& [name, values] : taken)
    if (variables_.has(name)) variables_.at(name).copy_from(values);
  set_class_weights(experiment.params.class_weights, data, variables_);
  set_class_weights(experiment.params.outputs, data, variables_);
  learn_from_images(options, data, variables_);
  variables_.to_device();
  feed_->bind(*program_);
}

double OneBatch::cost() {
  feed_->next(*program_, 0);
  program_->run(0);
  return program_->output("cost").at(0);  // in its own type
}

Tensor OneBatch::gradient(const std::string& parameter) const {
  const std::string name = "grad/" + parameter;
  for (const auto& [output, value] : graph_.graph.outputs())
    if (output == name) return program_->output(name);
  return {};
}

}  // namespace neon
