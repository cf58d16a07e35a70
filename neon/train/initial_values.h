// The values of a run's variables before its first step.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/variables.h"
#include "models/step_graph.h"
#include "neon/train/options.h"

namespace neon {

// Parameters by their initializers, drawn from (seed, name); states of layers by their fill; running means of the
// weights (NAME/ema) as the weights. `take_vectors` changes all of a parameter that has a file of vectors, if it is
// given.
using TakeVectors = std::function<void(const Parameter& parameter, Tensor& values)>;
void set_initial_values(const StepGraph& graph, uint64_t seed, Variables& variables,
                        const TakeVectors& take_vectors = {});

// The file of word vectors that a parameter begins with. A data error where it is missing.
std::string find_vectors(const Parameter& parameter, const RunOptions& options);

// Starts the means of weights and of batch norm's statistics, NAME/ema, from what NAME is.
void start_running_means(Variables& variables);

}  // namespace neon
