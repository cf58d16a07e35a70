// Classes are matched by their names wherever weights meet other data than those they were trained with.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "neon/train/safetensors.h"

namespace neon {

// Names of the classes that a checkpoint's net tells apart, in the order of its outputs; none if they are numbers.
std::vector<std::string> class_names_in(const TensorFile& checkpoint);
// The samples of the checkpoint's net; none of weights without them.
std::optional<SampleMeaning> samples_in(const TensorFile& checkpoint);

// Numbers the classes of the data as those that the net of the checkpoint at `path` was trained with. Throws a data
// error that lists the classes that only one of both has. Nothing happens if either has no names.
// `some`: the data need not have all of the net's classes.
void match_classes(Data& data, const std::vector<std::string>& trained, const std::string& path, bool some = false);
// The same of several targets, of those of one name that both have.
void match_target_classes(Data& data, const std::vector<NamedTarget>& trained, const std::string& path,
                          bool some = false);
// Both, of a net's samples.
void match_classes(Data& data, const SampleMeaning& trained, const std::string& path, bool some);
// The same where the checkpoint at `path` gives the weights to begin with: classes with other names keep their numbers.
// Nothing happens if the file cannot be read, which whoever loads its weights reports.
void match_classes_of_weights(Data& data, const std::string& path);
// Whether both are the same names, in any order.
bool same_classes(const std::vector<std::string>& names, const std::vector<std::string>& trained);

}  // namespace neon
