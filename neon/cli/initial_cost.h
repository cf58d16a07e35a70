// The cost with which a training would begin.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "neon/cli/session.h"

namespace neon {

struct InitialCost {
  std::vector<std::string> lines;
  std::vector<std::string> warnings;  // of what a training step leaves out of the samples
  std::vector<int64_t> class_sizes;   // of the training samples, where the check does not know them
};

// For neon check: the first cost of one batch beside that of the same answer for every sample. A note says where the
// first is far above the cost of any answer that looks at no sample. None where the samples are streamed, many, or not
// there, or where a training step is much work, or takes many bytes. `taken` are weights of a checkpoint in place of
// drawn ones.
InitialCost initial_cost(const OpenedSpec& spec, const RunOptions& options, const DataCheck& check,
                         const Graph& step_graph, double step_bytes, const std::vector<NamedTensor>& taken);

// Its warnings and lines.
void print_initial_cost(const InitialCost& cost);

}  // namespace neon
