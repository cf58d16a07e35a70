#include "neon/train/experiment.h"

namespace neon {

Experiment::Experiment(const Setting& root) {
  Problems problems;
  params = read_params<ExperimentParams>(root, problems);
  if (!params.layers.is_null()) network_ = std::make_unique<Network>(params.layers, problems);
  problems.throw_if_any();
}

std::vector<const Metric*> Experiment::metrics() const {
  std::vector<const Metric*> out;
  for (const auto& metric : params.metrics) out.push_back(&*metric);
  return out;
}

Setting Experiment::resolved() const {
  Setting out = write_params(params);
  *out.find("layers") = network_->resolved();
  return out;
}

void Experiment::check_fit(const StepGraph& graph, const DataLayout& layout) const {
  Problems problems;
  int64_t classes = layout.classes;
  if (layout.target_is_input || classes == 0) {
    const int64_t wanted = layout.target_is_input ? layout.sample.elements() : layout.target.elements();
    if (graph.outputs != wanted)
      problems.add({}, "layers",
                   text("the last layer has ", graph.outputs, " outputs, the targets have ", wanted, " numbers"));
  }
  if (const std::string line = params.cost->objection(graph.outputs, classes, graph.last_op); !line.empty())
    problems.add({}, "cost", line);
  for (const auto& metric : params.metrics)
    if (const std::string line = metric->objection(graph.outputs, classes); !line.empty())
      problems.add({}, "metrics", line);
  std::vector<std::string> known = network_->layer_names();
  for (const Parameter& p : graph.parameters) {
    known.push_back(p.layer);
    known.push_back(p.layer_class);
  }
  for (const std::string& name : params.optimizer->mentions())
    if (std::ranges::find(known, name) == known.end())
      problems.add(
          {}, "optimizer",
          text("MultiOptimizer names '", name, "', which is no layer and no class of one", did_you_mean(name, known)));
  problems.throw_if_any();
}

namespace {

Shape one_if_scalar(const Shape& shape) { return shape.rank() == 0 ? Shape{1} : shape; }

}  // namespace

Tensor target_rows(const Tensor& targets) {
  return !targets.empty() && targets.shape().rank() == 1 ? targets.reshaped({targets.shape()[0], 1}) : targets;
}

DataLayout layout_of(const Data& data) {
  DataLayout out;
  out.data_dtype = data.train.inputs.dtype();
  out.sample = data.sample;
  out.train_size = data.train.size();
  out.test_size = data.test.size();
  out.classes = data.classes;
  out.scale = data.scale;
  out.shift = data.shift;
  out.target_is_input = data.train.targets.empty();
  if (out.target_is_input) return out;
  out.target_dtype = data.train.targets.dtype();
  const Shape& shape = data.train.targets.shape();
  out.target = one_if_scalar(shape.slice(1, shape.rank()));
  return out;
}

DataLayout layout_of(const DataCheck& check) {
  DataLayout out;
  out.data_dtype = check.dtype;
  out.sample = check.sample;
  out.train_size = std::max<int64_t>(1, check.train_size);
  out.test_size = check.test_size;
  out.classes = check.classes;
  out.scale = check.scale;
  out.shift = check.shift;
  out.target_is_input = check.target.rank() == 0;
  out.target_dtype = out.target_is_input || check.classes == 0 ? DType::f32 : DType::i32;
  out.target = check.target;
  return out;
}

}  // namespace neon
