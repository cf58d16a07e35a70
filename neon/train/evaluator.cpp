#include "neon/train/evaluator.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace neon {

Evaluator::Evaluator(const Experiment& experiment, const DataLayout& layout, const Split& split, StepOptions options,
                     Variables& variables, bool running_means)
    : experiment_(experiment), split_(split), source_(variables), running_means_(running_means) {
  options.batch = batch_ = std::min(options.batch, split.size());
  const StepGraph step = evaluation_graph(experiment.network(), &*experiment.params.cost, experiment.metrics(), layout,
                                          split.size(), options);
  program_ = compile_for_cpu(step.graph, running_means ? copies_ : variables);
  targets_ = target_rows(split.targets);
  indices_ = Tensor(DType::i32, {batch_});
  weight_ = Tensor(options.dtype == DType::f64 ? DType::f64 : DType::f32, {batch_, 1});
  program_->bind("data", split.inputs.data());
  program_->bind("targets", targets_.data());
  program_->bind("indices", indices_.data());
  program_->bind("weight", weight_.data());
}

void Evaluator::take_variables() {
  if (!running_means_) return;
  for (const auto& [name, tensor] : copies_.all()) {
    const Tensor& from = source_.has(name + "/ema") ? source_.at(name + "/ema") : source_.at(name);
    if (tensor.bytes()) std::memcpy(copies_.at(name).data(), from.data(), tensor.bytes());
  }
}

std::map<std::string, double> Evaluator::run() {
  take_variables();
  const auto metrics = experiment_.metrics();
  double cost = 0;
  std::vector<std::vector<std::vector<double>>> sums(metrics.size());
  const int64_t size = split_.size();
  for (int64_t first = 0; first < size; first += batch_) {
    for (int64_t i = 0; i < batch_; ++i) {
      indices_.set(i, double(std::min(first + i, size - 1)));
      weight_.set(i, first + i < size ? 1 : 0);
    }
    program_->run(0);
    cost += program_->output("cost").at(0);
    for (size_t m = 0; m < metrics.size(); ++m)
      for (size_t j = 0; program_->lowered().graph.outputs().count(text("metric/", m, "/", j)); ++j) {
        const Tensor part = program_->output(text("metric/", m, "/", j));
        if (sums[m].size() <= j) sums[m].emplace_back(size_t(part.elements()), 0.0);
        for (int64_t k = 0; k < part.elements(); ++k) sums[m][j][size_t(k)] += part.at(k);
      }
  }
  std::map<std::string, double> out;
  out["cost"] = cost / double(size);
  for (size_t m = 0; m < metrics.size(); ++m) {
    const auto names = metrics[m]->names();
    const auto results = metrics[m]->finish(sums[m], double(size));
    for (size_t j = 0; j < names.size(); ++j) out[names[j]] = results[j];
  }
  return out;
}

std::string results_text(const std::map<std::string, double>& results) {
  std::string out;
  auto append = [&](const std::string& name, const char* pattern, double value) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, pattern, value);
    out += text(out.empty() ? "" : "  ", name, " ", buffer);
  };
  for (const auto& [name, value] : results) {
    if (name == "cost") continue;
    if (name == "LogLoss") append(name, "%.4f", value);
    else append(name, "%.2f %%", 100 * value);
  }
  if (results.count("cost")) append("test cost", "%.4f", results.at("cost"));
  return out;
}

}  // namespace neon
