// The graph that goes on with texts: the net over the tokens given so far, for the token to come.
#pragma once
#include "models/step_graph.h"

namespace neon {

// Names of variables that carry states from token to token begin so.
constexpr const char* kGenerationPrefix = "/generation/";

// Input tokens (N,T) i32; output y (N T,V) in f32 or f64, what the net gives after each of them. N is options.batch.
// Layers carry their states from run to run, each of the N sequences its own; the scalar stream_start is 1 where they
// begin. A config error where the net gives no V outputs for each step, V being the number of tokens.
StepGraph generation_graph(const Network& network, const DataLayout& data, int64_t steps, const StepOptions& options);

}  // namespace neon
