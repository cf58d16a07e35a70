// Checks that the outputs of a net suit the targets of its data.
#pragma once
#include "models/batch.h"

namespace neon {

struct Compared {
  const DataLayout& data;
  const Batch& batch;
  const StepOptions& options;
};

// Throws a config error that shows the shapes from the samples to the outputs y (N, ...), where y, or the output of one
// of a Tree's branches, has not the size of the targets t (N, K), or with a class for each pixel is no map for each
// class; where a Softmax makes one distribution of several maps; or where the branches of a Tree need targets of their
// own.
void check_outputs(const Network& network, const LayerContext& context, const Compared& with, Expr t, Expr y);

// The op of the activation that made y, whatever moved its numbers since.
std::string activation_of(Expr y);

}  // namespace neon
