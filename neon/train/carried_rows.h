// States that layers carry from batch to batch have a row for each stream, and each rank has the rows of its streams. A
// checkpoint has all rows, and so does not depend on the number of ranks.
#pragma once
#include "neon/train/run_setup.h"
#include "neon/train/safetensors.h"

namespace neon {

// The carried states among the variables, each with the rows of all ranks. All ranks call this together.
std::map<std::string, Tensor> all_carried_rows(const Variables& variables, const RunSetup& setup);
// The tensors of a checkpoint, of carried states only the rows of this rank.
TensorFile with_own_rows(const TensorFile& file, const RunSetup& setup);

}  // namespace neon
