// Augmentations such as Whiten learn from the training images before a run's first step.
#pragma once
#include "backends/variables.h"
#include "datasets/dataset.h"
#include "models/step_graph.h"

namespace neon {

bool learns_from_images(const StepOptions& options);

// Fills the variables of such augmentations, which a graph of `options` has declared. Reads the training images twice.
void learn_from_images(const StepOptions& options, const Data& data, Variables& variables);

}  // namespace neon
