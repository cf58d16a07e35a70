#include "neon/train/initial_values.h"

#include "datasets/data_context.h"
#include "neon/train/array_part.h"

namespace neon {

std::string find_vectors(const Parameter& parameter, const RunOptions& options) {
  DataContext context;
  context.data_dir = options.data_dir;
  context.run_dir = options.run_dir;
  context.spec_dir = options.spec_dir;
  return find_data_file(parameter.vectors, context);
}

void start_running_means(Variables& variables) {
  for (const auto& [name, tensor] : variables.all())
    if (variables.has(name + "/ema")) variables.at(name + "/ema").copy_from(tensor);
}

namespace {

// The first block, or the only one, is drawn from a stream of the parameter's name. Where ranks split a parameter, this
// is all of it.
Tensor initial_value(const Parameter& p, DType dtype, uint64_t seed) {
  const Shape shape = p.whole_shape(), of_block = p.block();
  Tensor out(dtype, shape);
  const int64_t elements = of_block.elements();
  for (int64_t b = 0; b < p.block_count(); ++b) {
    Tensor block(dtype, of_block);
    Stream stream(seed, b == 0 ? "init/" + p.name : text("init/", p.name, "/", b));
    if (p.initializer) p.initializer->fill(block, p.fan, stream);
    for (int64_t i = 0; i < elements; ++i) out.set(b * elements + i, p.initializer ? block.at(i) : p.fill);
  }
  return out;
}

}  // namespace

void set_initial_values(const StepGraph& graph, uint64_t seed, Variables& variables, const TakeVectors& take_vectors) {
  for (const Parameter& p : graph.parameters) {
    Tensor& stored = variables.at(p.name);
    Tensor values = initial_value(p, compute_type(stored.dtype()), seed);
    if (!p.vectors.empty() && take_vectors) take_vectors(p, values);
    stored.copy_from(p.is_split() ? part_of(values, p.part.axis, p.part.first, p.shape[p.part.axis]) : values);
  }
  for (const LayerState& s : graph.states)
    for (int64_t i = 0; i < s.shape.elements(); ++i) variables.at(s.name).set(i, s.fill);
  start_running_means(variables);
}

}  // namespace neon
