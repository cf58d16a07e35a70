// Whether the samples of a run are there, and are what its spec says.
#pragma once
#include "datasets/data_context.h"
#include "datasets/dataset.h"
#include "neon/train/experiment.h"

namespace neon {

// Throws a data error for a target that has the class by which a cost of sequences means no label.
void check_blanks(const Experiment& experiment, const Data& data);

// Warnings of a metric that is about characters, where the tokens of a text are something else.
std::vector<std::string> notes_on_metrics(const Experiment& experiment, const SampleMeaning& data);

// Whether the data set names one file or folder, which is at none of its places.
bool lacks_path(const Experiment& experiment, const DataContext& context);

}  // namespace neon
