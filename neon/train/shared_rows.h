// Arrays whose rows ranks share: states that layers carry from batch to batch, a row for each stream, and the weights
// of split layers with all that optimizers keep of them. A checkpoint has all rows, and so does not depend on the
// number of ranks.
#pragma once
#include "neon/train/run_setup.h"
#include "neon/train/safetensors.h"

namespace neon {

// The shared arrays among the variables, and among those that callbacks keep, each with the rows of all ranks and by
// its name in a checkpoint. All ranks call this together.
std::map<std::string, Tensor> with_all_rows(const Variables& variables, const RunSetup& setup);
// The bytes of all variables in a checkpoint.
double bytes_with_all_rows(const Variables& variables, const RunSetup& setup);
// Whether each rank has the whole of the variable, and the same numbers.
bool is_whole(const std::string& name, const RunSetup& setup);
// Where ranks sum accumulated gradients apart: gives rank 0 the sums over all ranks, and the others zeros. A checkpoint
// takes these sums from rank 0. All ranks call this together.
void gather_sums(Variables& variables, const RunSetup& setup);
// Whether a tensor is of a shared array, but has not as many rows (or columns) as all ranks together.
bool is_of_another_size(const NamedTensor& tensor, const RunSetup& setup);
// The tensors of a checkpoint, of shared arrays only the rows of this rank.
TensorFile with_own_rows(const TensorFile& file, const RunSetup& setup);

// Which weights of the step so many ranks split: "weights split over 2 devices: fc6, fc7; 20 of 21 million numbers". ""
// where the spec asks for none. A config error where it asks, and nothing can be split.
std::string split_text(const StepOptions& step, int ranks, const StepGraph& graph);

// How many numbers ranks keep a share of: "weights and optimizer state sharded over 2 devices: 20 of 21 numbers". ""
// where the spec asks for none. A config error where it asks, and nothing can be sharded.
std::string sharded_text(const StepOptions& step, int ranks, const StepGraph& graph);

// The arrays of these parameters whose rows ranks share.
std::vector<SplitArray> split_arrays(const std::vector<Parameter>& parameters);

}  // namespace neon
