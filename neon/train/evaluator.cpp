#include "neon/train/evaluator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "backends/ranks.h"
#include "neon/train/progress.h"
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

Evaluator::Evaluator(const Experiment& experiment, const TrainedPhase& phase, const DataLayout& layout,
                     const EvaluatedSet& set, StepOptions options, Variables& variables, bool running_means,
                     const DeviceOptions& device, const Metric* kept)
    : phase_(phase),
      metrics_(phase.of_spec ? experiment.metrics() : std::vector<const Metric*>{}),
      reset_period_(options.reset_period),
      keeps_(kept && phase.of_spec && !phase.source.rule),
      set_(set),
      source_(variables),
      running_means_(running_means),
      ranks_(device.program.ranks) {
  if (keeps_) metrics_.push_back(kept);
  const RankOf of = ranks_ ? ranks_->of() : RankOf();
  batch_ = std::max<int64_t>(std::min(options.batch, set.split.size()), of.ranks);
  options.share = share_ = share_of(batch_, batch_, of);
  options.batch = share_.count;
  FeedOptions feed;
  feed.of = of;
  feed.batch = batch_;
  feed.order = layout.streams ? SampleOrder::streams : SampleOrder::as_given;
  options.carried_prefix = evaluation_prefix(set.name);
  feed.weight = options.dtype == DType::f64 ? DType::f64 : DType::f32;
  feed.device = device;
  feed_ = make_feed(set.split, feed);
  DataLayout own = layout;
  own.dtype = set.split.dtype();  // bytes, say, beside a training set of f32
  const StepGraph step = evaluation_graph(phase, metrics_, own, feed_->rows(), options);
  views_ = step.views;
  DeviceOptions of_program = with_sequences(device);
  of_program.name = "the evaluation";
  of_program.timed = false;  // it takes less time than choosing algorithms by the clock would
  program_ = compile_program(step.graph, running_means ? copies_ : variables, of_program);
  if (!running_means) declare_variables(step.graph, variables);  // a checkpoint has them all
  feed_->bind(*program_);
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

void Evaluator::add_metrics(std::vector<std::vector<std::vector<double>>>& sums, int64_t batch, int back) const {
  const Graph& graph = program_->lowered().graph;
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
      const size_t first = keeps ? size_t((batch * batch_ + share_.first) * row) : 0;
      into.resize(keeps ? size_t((batch + 1) * batch_ * row) : size_t(elements));
      for (int64_t k = 0; k < elements; ++k) into[first + size_t(k)] += program_->recorded(name, k, back);
    }
}

std::map<std::string, double> Evaluator::run() {
  take_variables();
  const std::vector<Metric::Result> of_rule =
      phase_.source.rule ? phase_.source.rule->results() : std::vector<Metric::Result>{};
  const auto& metrics = metrics_;
  double cost = 0, steps = 0;
  std::vector<std::vector<std::vector<double>>> sums(metrics.size() + of_rule.size());
  const Graph& graph = program_->lowered().graph;
  const int64_t size = set_.split.size();
  const bool of_steps = graph.outputs().contains("count");
  int64_t taken = 0;  // batches
  auto take = [&](int back) {
    cost += program_->recorded("cost", 0, back);
    if (of_steps) steps += program_->recorded("count", 0, back);
    add_metrics(sums, taken, back);
  };
  int depth = program_->depth("cost");
  for (const auto& [name, value] : graph.outputs())
    if (name.starts_with("metric/")) depth = std::min(depth, program_->depth(name));
  int waiting = 0;
  for (int64_t first = 0; first < size; first += batch_) {
    if (ranks_ && waiting == 0) agree_on_signals(*ranks_, 1);
    if (stop_signal() || !feed_->next(*program_, batches_)) {
      batches_ = 0;
      return {};
    }
    ++batches_;
    program_->set_scalar(kStreamStart, begins_streams(first / batch_, reset_period_));
    program_->run(0);
    if (++waiting < depth && first + batch_ < size) continue;
    while (waiting > 0) take(--waiting), ++taken;
  }
  double counted = of_steps ? steps : double(samples_counted());
  if (ranks_ && !of_steps && !ranks_->leads()) counted -= double(size);  // the set is counted once
  if (ranks_) add_all_ranks(cost, counted, sums);
  if (counted == 0) fail(ErrorKind::data, "no step of the ", set_.name, " samples has a target");
  std::map<std::string, double> out;
  out["cost"] = cost / counted;
  for (size_t m = 0; m < metrics.size(); ++m) {
    const auto results = metrics[m]->results();
    const auto numbers = metrics[m]->finish(sums[m], counted);
    for (size_t j = 0; j < results.size(); ++j) out[results[j].name] = numbers[j];
  }
  if (keeps_) kept_ = std::move(sums[metrics.size() - 1]);
  for (size_t i = 0; i < of_rule.size(); ++i) out[of_rule[i].name] = sums[metrics.size() + i].at(0).at(0) / counted;
  return out;
}

const char* not_finite_words(double value) { return std::isnan(value) ? "not a number" : "infinite"; }

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
