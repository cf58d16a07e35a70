#include "neon/train/initial_values.h"

namespace neon {

namespace {

// Starts the means of weights and of batch norm's statistics.
void start_running_means(Variables& variables) {
  for (const auto& [name, tensor] : variables.all())
    if (variables.has(name + "/ema")) variables.at(name + "/ema").copy_from(tensor);
}

}  // namespace

void set_initial_values(const StepGraph& graph, uint64_t seed, Variables& variables) {
  for (const Parameter& p : graph.parameters) {
    Tensor& stored = variables.at(p.name);
    Tensor drawn(compute_type(stored.dtype()), stored.shape());
    Stream stream(seed, "init/" + p.name);
    if (p.initializer) p.initializer->fill(drawn, p.fan, stream);
    else
      for (int64_t i = 0; i < drawn.elements(); ++i) drawn.set(i, p.fill);
    stored.copy_from(drawn);
  }
  for (const LayerState& s : graph.states)
    for (int64_t i = 0; i < s.shape.elements(); ++i) variables.at(s.name).set(i, s.fill);
  start_running_means(variables);
}

std::vector<std::string> take_weights(const TensorFile& file, const std::string& path, const StepGraph& graph,
                                      bool caffe, Variables& variables) {
  std::vector<std::string> notes;
  restore_variables(file, path, variables, true);
  for (const Parameter& p : graph.parameters) {
    const DType stored = file.find(p.name)->dtype(), here = variables.at(p.name).dtype();
    if (size_of(stored) <= size_of(here)) continue;
    notes.push_back(text("note: the weights of ", path, " are ", stored, ", here they are rounded to ", here));
    break;
  }
  if (const std::optional<bool> trained = trained_as_caffe(file); trained.value_or(caffe) != caffe)
    notes.push_back(text("note: the net of ", path, " was trained with", *trained ? "" : "out",
                         " --caffe, this run is with", *trained ? "out" : "",
                         " it: pooling may have other sizes, and dropout another scale"));
  start_running_means(variables);
  return notes;
}

}  // namespace neon
