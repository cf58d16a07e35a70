#include "neon/train/experiment.h"

#include <algorithm>
#include <iterator>

#include "backends/graph/ops.h"
#include "models/generation.h"
#include "neon/train/result_names.h"
#include "neon/train/sign_inputs.h"

namespace neon {

constexpr int kUsualKeptBits = 10;  // of -u without a number, as in neon

Experiment::Experiment(const Setting& root) {
  Problems problems;
  params = read_params<ExperimentParams>(root, problems);
  if (!params.layers.is_null())
    network_ = std::make_shared<Network>(params.layers, problems, "", layers_of_outputs(params.outputs));
  check_result_names(params.metrics, root.find("metrics"), problems);
  check_callbacks(params.callbacks, root.find("callbacks"), problems);
  if (const Setting* const outputs = root.find("outputs"); outputs && problems.lines().empty())
    make_outputs(*outputs, problems);
  make_phases(root, problems);
  problems.throw_if_any();
  metrics_given_ = root.find("metrics") != nullptr;
  for (const auto& entry : root.entries) places_[entry.key] = entry.value.where;
}

void Experiment::make_outputs(const Setting& where, Problems& problems) {
  if (params.outputs.empty()) return problems.add(where, "names no output; give each target one, or cost");
  find_layers(params.outputs, *network_, where, problems);
  for (const auto& [name, output] : params.outputs)
    if (output.metrics) check_result_names(*output.metrics, where.find(name)->find("metrics"), problems);
  if (!params.metrics.empty())
    problems.add(where, "outputs have metrics of their own; move those of the spec into the outputs");
  if (params.class_weights.is_given())
    problems.add(where,
                 "class_weights of the spec are for its one cost; give them to an output, as in outputs: {NAME: {cost: "
                 "..., class_weights: "
                 "balanced}}");
  cost_of_outputs_ = std::make_unique<OutputCosts>(parts_of(params.outputs));
  of_outputs_ = measures_of(params.outputs);
}

void Experiment::make_phases(const Setting& root, Problems& problems) {
  const auto given = [&](const char* key) {
    const Setting* const value = root.find(key);
    return value && !value->is_null() ? value : nullptr;
  };
  if (given("cost") && given("rule"))
    problems.add(*given("rule"), "rule and cost are both given; a rule trains in place of a cost, leave one out");
  for (const char* const other : {"cost", "rule"})
    if (given("outputs") && given(other))
      problems.add(*given(other), text("outputs and ", other, " are both given; outputs have costs of their own"));
  if (!given("cost") && !given("rule") && !given("outputs")) {
    const std::string& what = schema_of<ExperimentParams>().find("cost")->sentence;
    if (const Setting* const empty = root.find("cost")) problems.add(*empty, text("no value is given: ", what));
    else problems.add(root, text("'cost' is missing: ", what));
  }
  if (params.draws_by_class() && !params.shuffle)
    problems.add(*given("shuffle"), "balanced sampling draws an order; leave shuffle out");
  if (params.class_weights.is_given() && params.rule)
    problems.add(*given("class_weights"), "weigh the samples of a cost, and a rule has none; leave this out");
  const SpecParts spec{
      network_, {cost(), params.rule ? &*params.rule : nullptr}, params.optimizer ? &*params.optimizer : nullptr};
  phases_ = phases_of(params.phases, spec, root, problems);
  if (phases_.empty()) {
    phases_.push_back({"", spec.network, spec.source, spec.optimizer, params.epochs, params.freeze, false, true});
  } else {
    if (given("epochs")) problems.add(*given("epochs"), "each of the phases has epochs of its own; leave this out");
    if (!params.freeze.empty())
      problems.add(*given("freeze"), "each of the phases has a freeze of its own; leave this out");
    params.epochs = 0;
    for (const TrainedPhase& phase : phases_) params.epochs += phase.epochs;
  }
  for (const TrainedPhase& phase : phases_)
    if (phase.source.rule && phase.source.rule->players() > 1 && params.accumulate > 1)
      problems.add(root, "accumulate is for one player; a rule with two has turns of its own, leave accumulate out");
  for (const TrainedPhase& phase : phases_)
    if (phase.source.rule && phase.network && problems.lines().empty())
      if (const std::string line = phase.source.rule->objection(*phase.network); !line.empty())
        problems.add(phase.of_spec ? *given("rule") : *given("phases"), line);
}

Location Experiment::place_of(const std::string& key) const {
  const auto place = places_.find(key);
  return place == places_.end() ? Location{} : place->second;
}

std::vector<const Metric*> Experiment::metrics() const {
  std::vector<const Metric*> out;
  for (const auto& metric : params.metrics) out.push_back(&*metric);
  for (const auto& metric : of_outputs_) out.push_back(metric.get());
  return out;
}

std::vector<Metric::Result> Experiment::results() const {
  std::vector<Metric::Result> out;
  for (const Metric* metric : metrics()) std::ranges::move(metric->results(), std::back_inserter(out));
  if (params.rule) std::ranges::move(params.rule->results(), std::back_inserter(out));
  if (params.train_metrics == 0) return out;
  for (size_t i = 0, count = out.size(); i < count; ++i) {
    out.push_back(out[i]);
    out.back().name = kOfTraining + out.back().name;
  }
  out.push_back({kOfTraining + "cost", false, Metric::Better::lower});
  return out;
}

Setting Experiment::resolved(const RunOptions& options) const {
  Setting out = write_params(params);
  std::erase_if(out.entries, [](const auto& entry) { return entry.key == "define"; });
  *out.find("layers") = network_->resolved();
  const auto say = [&](const char* key, const auto& value) { *out.find(key) = Setting::scalar(text(value)); };
  if (options.epochs) say("epochs", *options.epochs);
  if (options.batch_size) say("batch_size", *options.batch_size);
  if (options.rng_seed) say("rng_seed", *options.rng_seed);
  say("datatype", name_of(data_type(options, params)));
  if (!options.fixed_point.empty()) say("fixed_point", options.fixed_point);
  Setting& phases = *out.find("phases");
  for (size_t i = first_kept_; i < phases.items.size(); ++i)
    if (Setting* const layers = phases.items[i].find("layers")) *layers = phases_[i - first_kept_].network->resolved();
  std::erase_if(out.entries, [&](const auto& entry) {
    // Each phase has its own number of epochs.
    if (entry.key == "epochs" || entry.key == "phases") return params.phases.empty() == (entry.key == "phases");
    if (entry.key == "outputs") return params.outputs.empty();
    if (entry.key == "predictions") return params.predictions.empty();
    if (entry.key == "metrics") return !params.outputs.empty();
    return (entry.key == "cost" || entry.key == "rule") && entry.value.is_null();
  });
  return out;
}

void Experiment::add_default_metric(int64_t outputs, const DataLayout& layout) {
  Made<Metric> metric(layout.label_of == LabelOf::sequence ? "EditDistance"
                      : layout.label_of == LabelOf::box    ? "MeanAveragePrecision"
                                                           : "Misclassification");
  if (layout.classes > 0 && metric->objection(outputs, layout.classes).empty())
    params.metrics.push_back(std::move(metric));
  default_metric_ = true;
}

// The statistics of batch norm are measured over batches as samples lie, and without carried states.
void Experiment::check_tunable(const std::string& callback, const DataLayout& layout) const {
  if (params.rule) fail_about("callbacks", callback, " is for nets with a cost, and this one has a rule; leave it out");
  if (params.buckets.is_given())
    fail_about("callbacks", callback,
               " measures batches of one length, and buckets has several; leave one of the two out");
  if (layout.streams)
    fail_about("callbacks", callback, " is for samples of their own, and these are pieces of streams; leave it out");
}

void Experiment::fit(const std::vector<StepGraph>& graphs, const DataLayout& layout) {
  check_shared(phases_, graphs);
  for (size_t k = 0; k + 1 < graphs.size(); ++k) {
    if (!phases_[k].source.cost) continue;
    const std::string line = phases_[k].source.cost->objection(graphs[k].outputs, phases_[k].layout(layout).classes);
    if (!line.empty()) fail_about("phases", phases_[k].name, ": cost: ", line);
  }
  for (const auto& callback : params.callbacks)
    if (callback->needs_generator() && !makes_images(network(), layout))
      fail_about("callbacks", class_name_of(callback),
                 " draws images of 1 or 3 channels that a generator makes: it is ",
                 "for nets of GenerativeAdversarial");
  for (const auto& callback : params.callbacks)
    if (callback->tunes_batch_norm()) check_tunable(class_name_of(callback), layout);
  fit(graphs.back(), layout);
}

void Experiment::fit(const StepGraph& graph, const DataLayout& layout) {
  if (!metrics_given_ && !default_metric_ && params.cost) add_default_metric(graph.outputs[0].width, layout);
  Problems problems;
  if (params.rule) {
    if (!params.metrics.empty())
      problems.add(place_of("metrics"), "metrics",
                   "metrics compare outputs with targets; a rule has results of its own");
    return problems.throw_if_any();
  }
  if (!params.outputs.empty() && !default_metric_ && name_labels(params.outputs, graph.outputs))
    of_outputs_ = measures_of(params.outputs);
  if (!params.outputs.empty() && !default_metric_)
    std::ranges::move(add_default_metrics(params.outputs, graph.outputs), std::back_inserter(of_outputs_));
  if (!params.outputs.empty()) default_metric_ = true;
  const char* const key = params.cost ? "cost" : "outputs";
  if (const std::string line = cost()->objection(graph.outputs, layout.classes); !line.empty())
    problems.add(place_of(key), key, line);
  for (const auto& metric : params.metrics)
    if (const std::string line = metric->objection(graph.outputs, layout.classes); !line.empty())
      problems.add(place_of("metrics"), "metrics", text(class_name_of(metric), ": ", line));
  for (const auto& metric : of_outputs_)
    if (const std::string line = metric->objection(graph.outputs, layout.classes); !line.empty())
      problems.add(place_of("outputs"), "outputs", line);
  problems.throw_if_any();
}

namespace {

// Whether targets of steps are rows that a window has, too.
bool foretells_seen_columns(const DataLayout& layout) {
  return layout.seen_later > 0 && layout.sample.rank() > 0 && layout.seen_later < layout.sample[0];
}

bool takes_probabilities(std::string_view metric) {
  return metric == "Perplexity" || metric == "BitsPerCharacter" || metric == "LogLoss";
}

// Products and quotients are means and shares of outputs, as of several Softmax.
bool may_be_probabilities(std::string_view last_op) {
  constexpr std::string_view kOps[] = {"softmax", kPartOfSoftmax, "logistic", "mul", "div"};
  return std::ranges::count(kOps, last_op) > 0;
}

// A warning about a layer that sees what the net is to predict, or "".
std::string advice_on_sight(const Network& network, const DataLayout& layout) {
  const Link* const layer = network.sees_all_steps();
  const bool tokens = layout.foretells_tokens();
  if (!layer || (!tokens && !foretells_seen_columns(layout))) return "";
  const std::string place = layer->where.to_string();
  return text("warning: ", place, place.empty() ? "" : ": ", "layer ", layer->name,
              " sees the steps that follow. The target of a step is ",
              tokens ? "the token of the next one, which the net can copy; use "
                     : "a later row of a column that the net sees and can copy; use ",
              kBlindToSteps);
}

}  // namespace

std::vector<std::string> Experiment::advice(const StepGraph& graph, const DataLayout& layout) const {
  std::vector<std::string> out;
  const auto warn = [&](const char* key, const std::string& line) {
    const std::string place = place_of(key).to_string();
    out.push_back(text("warning: ", place, place.empty() ? "" : ": ", line));
  };
  if (const int64_t usual = ExperimentParams().batch_size; !places_.contains("batch_size") && params.batch_size < usual)
    out.push_back(text("note: batch_size: ", params.batch_size, ", the whole training set, which is smaller than the ",
                       "default of ", usual, "; the spec may give another"));
  const Rule* const rule = phases_.back().source.rule;
  if (rule && rule->players() == 1 && phases_.size() == 1 && params.freeze.empty())
    if (const auto kept = std::ranges::find(graph.parameters, false, &Parameter::trained);
        kept != graph.parameters.end())
      warn("rule", text("rule: it trains the last layer alone, and ", kept->owner,
                        " keeps its initial weights; `phases` train layers one after the other"));
  for (const std::string& line : network().idle_parameters()) out.push_back("note: " + line);
  if (!cost()) return out;
  if (const std::string line = cost()->advice(graph.outputs, layout.classes); !line.empty())
    warn(params.cost ? "cost" : "outputs",
         params.cost ? text("cost: ", class_name_of(params.cost), line) : text("outputs: ", line));
  for (const auto& metric : params.metrics)
    if (takes_probabilities(class_name_of(metric)) && graph.outputs.size() == 1 && layout.classes > 0 &&
        !may_be_probabilities(graph.outputs[0].last_op))
      warn("metrics", text(class_name_of(metric), " takes outputs as probabilities, and the net does not end with ",
                           "Softmax; give the last layer activation: Softmax, or leave the metric out"));
  if (const std::string line = advice_on_sight(network(), layout); !line.empty()) out.push_back(line);
  if (const std::string line = advice_on_signs(*this, graph, layout); !line.empty()) out.push_back(line);
  return out;
}

namespace {

// Bits of mantissa that updates keep, by -u; 0 without stochastic rounding.
int kept_bits(int64_t asked, DType dtype) {
  const int most = most_kept_bits(dtype);
  if (asked == 0) return 0;
  if (most == 0)
    fail(ErrorKind::config, "-u rounds updates of f32, f16 and bf16 stochastically, but the run is in ", dtype);
  if (asked > most)
    fail(ErrorKind::config, "-u ", asked, " keeps more bits of mantissa than ", dtype, " may: give 1 to ", most,
         ", or -u alone for ", std::min(most, kUsualKeptBits));
  return asked == kUsualRounding ? std::min(most, kUsualKeptBits) : int(asked);
}

FixedPoint fixed_point(const RunOptions& options, const ExperimentParams& params, DType dtype) {
  const bool by_option = !options.fixed_point.empty();
  const std::string& written = by_option ? options.fixed_point : params.fixed_point;
  if (written.empty()) return {};
  const auto out = read_fixed_point(written, kMostFixedBits);
  const std::string wrong = !out ? text(in_quotes(written), ": ", expected_fixed_point(kMostFixedBits))
                            : dtype == DType::f32
                                ? ""
                                : text(written, " is emulated in f32, but the run is in ", dtype, "; leave one out");
  if (!wrong.empty() && by_option) fail(ErrorKind::config, "option --fixed_point: ", wrong);
  if (!wrong.empty()) fail_about("fixed_point", wrong);
  return *out;
}

}  // namespace

DType data_type(const RunOptions& options, const ExperimentParams& params) {
  const std::string& name = options.datatype.empty() ? params.datatype : options.datatype;
  return name.empty() ? StepOptions().dtype : dtype_from_name(name);
}

StepOptions step_options(const RunOptions& options, const ExperimentParams& params) {
  StepOptions out;
  out.batch = options.batch_size.value_or(params.batch_size);
  out.dtype = data_type(options, params);
  out.rounding = kept_bits(options.rounding, out.dtype);
  out.fixed_point = fixed_point(options, params, out.dtype);
  out.caffe = options.caffe;
  out.blank = params.cost ? params.cost->blank() : -1;
  out.ema_decay = params.ema;
  out.accumulate = params.accumulate;
  out.reset_period = params.reset_period;
  out.class_weights = params.class_weights.is_given();
  out.dense = params.parallel.dense_split();
  out.sharded = params.parallel.optimizer == "sharded";
  out.shared_statistics = params.parallel.batch_norm == "all";
  out.wide_gradients = params.parallel.gradients == "f32";
  for (const auto& [name, output] : params.outputs)
    out.outputs.push_back({name, output.layer, output.class_weights.is_given()});
  for (const auto& augmentation : params.augment) out.augment.push_back(&*augmentation);
  for (const auto& callback : params.callbacks) callback->prepare(out);
  return out;
}

bool mixes(const StepOptions& step) { return std::ranges::any_of(step.augment, &Augmentation::mixes); }

std::vector<std::string> check_steps(const Experiment& experiment, const StepOptions& options, int64_t epochs,
                                     int64_t steps_per_epoch) {
  std::vector<std::string> out;
  int64_t first = 0;
  for (const TrainedPhase& phase : experiment.phases()) {
    const bool last = &phase == &experiment.last_phase();
    const int64_t count = last ? epochs - first : std::min(phase.epochs, epochs - first);
    first += count;
    if (count == 0) continue;  // -e ends the run before
    const int64_t steps = count * steps_per_epoch, left = steps % options.accumulate;
    const std::string name = phase.name.empty() ? "run" : "phase " + phase.name;
    if (const std::string idle = phase.idle_player(steps); !idle.empty()) out.push_back(idle);
    if (options.accumulate > steps)
      fail_about("accumulate", "the ", name, " ends after ", steps, " steps, before the first ", options.accumulate,
                 " are together: nothing would be learnt");
    if (left > 0)
      out.push_back(text("note: accumulate: of the ", steps, " steps of the ", name, " the last ",
                         left > 1 ? text(left, " are") : "is", " left over, being fewer than ", options.accumulate,
                         ": no update comes of that"));
  }
  return out;
}

void plan_callbacks(const Experiment& experiment, bool evaluates, RunPlan& plan) {
  if (!evaluates && experiment.metrics_named() && plan.begins)
    plan.messages.push_back(
        "note: metrics are not computed, as the data set has no test samples; validation: N keeps "
        "training samples apart for it");
  if (!evaluates && experiment.params.train_metrics > 0)
    fail_about("train_metrics", "is part of an evaluation, but the data set has no test samples; validation: N keeps ",
               "training samples apart for it");
  for (const auto& callback : experiment.params.callbacks)
    if (callback->needs_evaluation() && !evaluates)
      fail_about(
          "callbacks", class_name_of(callback),
          " needs an evaluation, but the data set has no test samples; validation: N keeps training samples apart for "
          "it");
  for (const auto& callback : experiment.params.callbacks) callback->plan(plan);
}

namespace {

Shape one_if_scalar(const Shape& shape) { return shape.rank() == 0 ? Shape{1} : shape; }

}  // namespace

DataLayout layout_of(const Data& data) {
  DataLayout out;
  out.meaning() = data.meaning();
  out.dtype = data.train.dtype();
  out.train_size = data.train.size();
  out.target_is_input = data.train.reader ? data.classes == 0 : data.train.targets.empty();
  if (data.train.rows) {
    out.target_is_input = data.classes == 0;
    out.target_dtype = data.train.rows->target_dtype();
    out.target = data.train.rows->target().rank() > 0 ? data.train.rows->target() : data.sample;
    return out;
  }
  if (out.target_is_input) return out;
  if (data.train.reader) {
    out.target_dtype = DType::i32;
    out.target = {1};
    return out;
  }
  out.target_dtype = data.train.targets.dtype();
  const Shape& shape = data.train.targets.shape();
  out.target = one_if_scalar(shape.slice(1, shape.rank()));
  return out;
}

DataLayout layout_of(const DataCheck& check) {
  DataLayout out;
  out.meaning() = check.meaning();
  out.train_size = std::max<int64_t>(1, check.train_size);
  out.target_is_input = check.target.rank() == 0;
  const bool numbers = out.target_is_input || check.classes == 0 || check.label_of == LabelOf::box;
  out.target_dtype = numbers ? DType::f32 : DType::i32;
  out.target = check.target;
  return out;
}

}  // namespace neon
