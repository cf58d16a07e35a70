#include "neon/train/evaluator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <set>

#include "backends/ranks.h"
#include "neon/train/progress.h"
#include "neon/train/rank_agreement.h"
#include "neon/train/rank_step.h"
#include "neon/train/run_state.h"
#include "neon/train/signals.h"

namespace neon {

EvaluatedSet set_during_training(const Data& data) {
  if (data.validation.size() > 0) return {data.validation, "validation"};
  return {data.test, "test"};
}

EvaluatedSet set_at_end(const Data& data) {
  if (data.test.size() > 0) return {data.test, "test"};
  return set_during_training(data);
}

namespace {

// Steps of an evaluation by the length of their sequences, and the buckets that these are of.
struct EvaluationSteps {
  std::vector<StepGraph> graphs;
  SampleBuckets buckets;
};

// Whether results of both can be added up.
bool have_same_results(const StepGraph& one, const StepGraph& other) {
  const auto& outputs = one.graph.outputs();
  return outputs.size() == other.graph.outputs().size() && std::ranges::all_of(outputs, [&](const auto& output) {
           const auto found = other.graph.outputs().find(output.first);
           return found != other.graph.outputs().end() &&
                  (output.first == "y" || one.graph.shape(output.second) == other.graph.shape(found->second));
         });
}

// A bucket whose sequences are too short for the net, for a filter say, joins the next one. Results are the same.
EvaluationSteps steps_of_evaluation(const DataLayout& layout, const SampleBuckets& wanted,
                                    const std::function<StepGraph(const DataLayout&)>& make) {
  EvaluationSteps out;
  StepGraph whole = make(layout);
  std::vector<int64_t> lengths;
  for (const int64_t steps : wanted ? wanted->steps : lengths) {
    auto graph = step_of_length(whole, layout.sample[0], steps, [&] { return make(layout.with_steps(steps)); });
    if (!graph || !have_same_results(whole, *graph)) continue;
    out.graphs.push_back(std::move(*graph));
    lengths.push_back(steps);
  }
  if (lengths.empty() || lengths.back() < wanted->steps.back()) out.graphs.push_back(std::move(whole));
  if (wanted) out.buckets = std::make_shared<const LengthBuckets>(sorted_into_buckets(wanted->lengths, lengths));
  return out;
}

}  // namespace

Evaluator::Evaluator(const Experiment& experiment, const TrainedPhase& phase, const DataLayout& layout,
                     const EvaluatedSet& set, StepOptions options, Variables& variables, bool running_means,
                     const DeviceOptions& device, const std::vector<const Metric*>& kept)
    : phase_(phase),
      metrics_(phase.of_spec ? experiment.metrics() : std::vector<const Metric*>{}),
      reset_period_(options.reset_period),
      keeps_(phase.of_spec && !phase.source.rule ? kept.size() : 0),
      set_(set),
      source_(variables),
      running_means_(running_means),
      ranks_(device.program.ranks) {
  metrics_.insert(metrics_.end(), kept.begin(), kept.begin() + std::ptrdiff_t(keeps_));
  const RankOf of = ranks_ ? ranks_->of() : RankOf();
  batch_ = batch_of_evaluation(layout, options, set.split.size(), of.ranks);
  options.share = share_ = share_of(batch_, batch_, of);
  options.batch = share_.count;
  FeedOptions feed;
  feed.of = of;
  feed.batch = batch_;
  feed.order = layout.streams ? SampleOrder::streams : SampleOrder::as_given;
  options.carried_prefix = evaluation_prefix(set.name);
  feed.weight = options.dtype == DType::f64 ? DType::f64 : DType::f32;
  feed.device = device;
  DataLayout own = layout;
  own.dtype = set.split.dtype();  // bytes, say, beside a training set of f32
  SampleBuckets wanted;
  if (!phase.source.rule) wanted = buckets_of_evaluation(experiment.params.buckets, own, set.split, batch_);
  const int64_t rows = feed_bytes(set.split, feed).rows;
  const EvaluationSteps steps = steps_of_evaluation(
      own, wanted, [&](const DataLayout& of) { return evaluation_graph(phase, metrics_, of, rows, options); });
  feed.buckets = steps.buckets;
  feed_ = make_feed(set.split, feed);
  buckets_.emplace(set.split, feed);
  if (steps.buckets) order_ = epoch_order(feed.order, set.split.size(), batch_, 0, 0, nullptr, steps.buckets);
  views_ = steps.graphs.back().views;
  DeviceOptions of_program = with_sequences(device);
  of_program.name = "the evaluation";
  of_program.timed = false;  // it takes less time than choosing algorithms by the clock would
  for (const StepGraph& step : steps.graphs) {
    programs_.push_back(compile_program(step.graph, running_means ? copies_ : variables, of_program));
    if (!running_means) declare_variables(step.graph, variables);  // a checkpoint has them all
    feed_->bind(*programs_.back());
  }
}

void Evaluator::take_variables() {
  if (!running_means_) return;
  source_.to_host();
  for (const auto& [name, tensor] : copies_.all()) {
    if (belongs_to_evaluation(name)) continue;
    const Tensor& from = source_.has(name + "/ema") ? source_.at(name + "/ema") : source_.at(name);
    copies_.at(name).copy_from(from);
  }
  copies_.to_device();
}

int64_t Evaluator::samples_counted() const {
  const LeftOut* const left_out = set_.split.reader ? set_.split.reader->left_out() : nullptr;
  const int64_t counted = set_.split.size() - (left_out ? left_out->count() : 0);
  if (counted == 0)
    fail(ErrorKind::data, "none of the ", set_.split.size(), " ", set_.name,
         " images can be read; the first: ", left_out->first());
  return counted;
}

// The order of the sums is the same on every rank: first by rank, then as the rank has added them up.
void Evaluator::add_all_ranks(double& cost, double& counted,
                              std::vector<std::vector<std::vector<double>>>& sums) const {
  std::vector<double*> places = {&cost, &counted};
  for (auto& metric : sums)
    for (auto& part : metric)
      for (double& number : part) places.push_back(&number);
  std::vector<double> numbers;
  for (const double* place : places) numbers.push_back(*place);
  ranks_->sum(numbers);
  for (size_t i = 0; i < places.size(); ++i) *places[i] = numbers[i];
}

size_t Evaluator::place_of(int64_t batch, int64_t row) const {
  const auto place = size_t(batch * batch_ + share_.first + row);
  return place < order_.size() ? size_t(order_[place]) : place;
}

void Evaluator::add_metrics(const Program& program, std::vector<std::vector<std::vector<double>>>& sums, int64_t batch,
                            int back) const {
  const Graph& graph = program.lowered().graph;
  const int64_t batches = (set_.split.size() + batch_ - 1) / batch_;
  for (size_t m = 0; m < sums.size(); ++m)
    for (size_t j = 0;; ++j) {
      const std::string name = text("metric/", m, "/", j);
      const auto found = graph.outputs().find(name);
      if (found == graph.outputs().end()) break;
      const int64_t elements = graph.shape(found->second).elements();
      if (sums[m].size() <= j) sums[m].emplace_back();
      std::vector<double>& into = sums[m][j];
      const bool keeps = m < metrics_.size() && metrics_[m]->keeps_samples();
      // Samples have their places in the set: those of other ranks are 0 here, and are added at the end.
      const int64_t row = elements / share_.count;
      into.resize(keeps ? size_t(batches * batch_ * row) : size_t(elements));
      for (int64_t k = 0; k < elements && share_.counts; ++k) {
        const size_t at = keeps ? place_of(batch, k / row) * size_t(row) + size_t(k % row) : size_t(k);
        into[at] += program.recorded(name, k, back);
      }
    }
}

int Evaluator::depth() const {
  int out = programs_.front()->depth("cost");
  for (const auto& program : programs_)
    for (const auto& [name, value] : program->lowered().graph.outputs())
      if (name == "cost" || name.starts_with("metric/")) out = std::min(out, program->depth(name));
  return out;
}

std::map<std::string, double> Evaluator::run() {
  take_variables();
  const std::vector<Metric::Result> of_rule =
      phase_.source.rule ? phase_.source.rule->results() : std::vector<Metric::Result>{};
  const auto& metrics = metrics_;
  double cost = 0, steps = 0;
  std::vector<std::vector<std::vector<double>>> sums(metrics.size() + of_rule.size());
  const int64_t size = set_.split.size();
  const bool of_steps = programs_.front()->lowered().graph.outputs().contains("count");
  int64_t taken = 0;  // batches
  auto take = [&](const Program& program, int back) {
    if (share_.counts) cost += program.recorded("cost", 0, back);
    if (share_.counts && of_steps) steps += program.recorded("count", 0, back);
    add_metrics(program, sums, taken, back);
  };
  const int most = depth();
  int waiting = 0;  // runs of one program
  for (int64_t first = 0; first < size; first += batch_) {
    const size_t bucket = buckets_->of(batches_);
    Program& program = *programs_[bucket];
    if (ranks_ && waiting == 0) agree_on_signals(*ranks_, 1);
    if (stop_signal() || !feed_->next(program, batches_)) {
      batches_ = 0;
      return {};
    }
    ++batches_;
    program.set_scalar(kStreamStart, begins_streams(first / batch_, reset_period_));
    program.run(0);
    const bool goes_on = first + batch_ < size && buckets_->of(batches_) == bucket;
    if (++waiting < most && goes_on) continue;
    while (waiting > 0) take(program, --waiting), ++taken;
  }
  if (ranks_) share_left_out(*ranks_, set_.split);
  double counted = of_steps ? steps : double(samples_counted());
  if (ranks_ && !of_steps && !ranks_->leads()) counted = 0;  // the set is counted once
  if (ranks_) add_all_ranks(cost, counted, sums);
  if (counted == 0) fail(ErrorKind::data, "no step of the ", set_.name, " samples has a target");
  std::map<std::string, double> out;
  out["cost"] = cost / counted;
  for (size_t m = 0; m < metrics.size(); ++m) {
    const auto results = metrics[m]->results();
    const auto numbers = metrics[m]->finish(sums[m], counted);
    for (size_t j = 0; j < results.size(); ++j) out[results[j].name] = numbers[j];
  }
  kept_.assign(sums.begin() + std::ptrdiff_t(metrics.size() - keeps_), sums.begin() + std::ptrdiff_t(metrics.size()));
  for (size_t i = 0; i < of_rule.size(); ++i) out[of_rule[i].name] = sums[metrics.size() + i].at(0).at(0) / counted;
  return out;
}

const char* not_finite_words(double value) { return std::isnan(value) ? "not a number" : "infinite"; }

std::map<std::string, std::string> undefined_results(const std::map<std::string, double>& results,
                                                     const Experiment& experiment, const std::string& samples) {
  std::map<std::string, std::string> out;
  const auto cost = results.find("cost");
  if (cost == results.end() || !std::isfinite(cost->second)) return out;
  for (const Metric* const metric : experiment.metrics()) {
    if (!metric->of_two_kinds() && !metric->of_objects()) continue;
    for (const Metric::Result& result : metric->results())
      for (const std::string& of : {std::string(), kOfTraining}) {
        const auto found = results.find(of + result.name);
        if (found == results.end() || !std::isnan(found->second)) continue;
        const std::string whose = of.empty() ? samples : "the evaluated training samples";
        out[found->first] =
            metric->of_objects()
                ? text(found->first, " counts objects that are found, and ", whose, " have none")
                : text(found->first, " takes two kinds of samples apart, and ", whose, " are all of one");
      }
  }
  return out;
}

std::string results_text(const std::map<std::string, double>& results, const Experiment& experiment,
                         const std::string& set) {
  std::set<std::string> shares;
  for (const Metric::Result& result : experiment.results())
    if (result.share) shares.insert(result.name);
  std::string out;
  const auto add = [&](const std::string& name, const std::string& value) {
    out += text(out.empty() ? "" : "  ", name, " ", value);
  };
  const auto append = [&](const std::string& name, const char* pattern, double value) {
    char buffer[64];  // shares are at most 1
    std::snprintf(buffer, sizeof buffer, pattern, value);
    add(name, std::isfinite(value) ? buffer : not_finite_words(value));
  };
  for (const auto& [name, value] : results) {
    if (name == "cost") continue;
    if (shares.count(name)) append(name, "%.2f %%", 100 * value);
    else append(name, "%.4g", value);
  }
  if (const auto cost = results.find("cost"); cost != results.end())
    add(set + " cost", std::isfinite(cost->second) ? cost_text(cost->second) : not_finite_words(cost->second));
  return out;
}

}  // namespace neon
