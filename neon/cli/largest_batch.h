// The largest batch that fits into the free memory.
#pragma once
#include <string>

#include "backends/cpu/programs.h"
#include "backends/graph/lower.h"
#include "neon/train/experiment.h"

namespace neon {

struct BatchRoom {
  double free = 0, fixed = 0;  // bytes that are free, and those of them that do not depend on the batch
  double step = 0;             // bytes of a step's arena with the batch of its options
};

// A line about a step for which there is no room, with its largest array.
std::string note_of_room(double free, const Lowered& lowered);

// "batch   up to about 3200 samples fit into the 7.5 GiB that are free": at most the training set. The arena grows in
// proportion to the batch, by as much as from this one to one of twice its size.
std::string largest_batch(const Experiment& experiment, const DataLayout& layout, StepOptions step,
                          const BatchRoom& room);

}  // namespace neon
