// The graph that goes on with texts: the net over the tokens given so far, for the token to come.
#pragma once
#include "models/step_graph.h"

namespace neon {

// Names of variables that carry states from token to token begin so.
constexpr const char* kGenerationPrefix = "/generation/";

struct GenerationSteps {
  int64_t steps = 1;   // T, of one run
  int64_t places = 0;  // the most steps of a text, each of which is a run by itself; 0: runs know no place
};

// Input tokens (N,T) i32; output y (N T,V) in f32 or f64, what the net gives after each of them. N is options.batch.
// Layers carry their states from run to run, each of the N sequences its own; the scalar stream_start is 1 where they
// begin. With places, input place (N) i32 is that of the tokens in their text, and layers keep the steps before.
// A config error where the net gives no V outputs for each step, V being the number of tokens.
StepGraph generation_graph(const Network& network, const DataLayout& data, const GenerationSteps& steps,
                           const StepOptions& options);

// Samples that the generator of an adversarial net makes of new noise: output x (N,H,W,C), or (N, ...), in f32 or f64.
// With it come all arrays of the net, as parameters and states.
StepGraph made_samples_graph(const Network& network, const DataLayout& data, const StepOptions& options);

// Whether the net has a generator of images of 1 or 3 channels.
bool makes_images(const Network& network, const SampleMeaning& meaning);

}  // namespace neon
