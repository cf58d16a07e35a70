// The values of a run's variables before its first step.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "models/step_graph.h"
#include "neon/train/run_state.h"

namespace neon {

// Parameters by their initializers, drawn from (seed, name); states of layers by their fill; running means of the
// weights (NAME/ema) as the weights. `take_vectors` changes a parameter that has a file of vectors, if it is given.
using TakeVectors = std::function<void(const Parameter& parameter, Tensor& values)>;
void set_initial_values(const StepGraph& graph, uint64_t seed, Variables& variables,
                        const TakeVectors& take_vectors = {});

// Starts the means of weights and of batch norm's statistics, NAME/ema, from what NAME is.
void start_running_means(Variables& variables);

// The weights of the checkpoint `file`, read from `path`, in place of the drawn ones. Returns notes: weights that are
// rounded, and a net trained with another setting of --caffe than `caffe`.
std::vector<std::string> take_weights(const TensorFile& file, const std::string& path, const StepGraph& graph,
                                      bool caffe, Variables& variables);

}  // namespace neon
