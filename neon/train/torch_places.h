// The arrays of a net, and the modules of PyTorch that they are of.
#pragma once
#include <set>

#include "models/step_graph.h"
#include "neon/train/torch_families.h"

namespace neon {

struct Place {
  std::string name, owner;  // "conv1_bnorm/gamma", "conv1"
  std::string unit;         // what a module of PyTorch would be: "conv1_bnorm"; "conv1" for filters and their bias
  std::vector<std::string> modules;      // names to look for
  std::string part;                      // "weight"; "" where no module has such an array
  const Parameter* parameter = nullptr;  // null: a running statistic
  Shape shape;                           // that PyTorch's array has
  bool is_mean = false, is_variance = false;
  std::string gamma;  // of a statistic: the array of the same batch norm
};

// By the names of layers and of their parts.
std::vector<Place> places_of(const StepGraph& graph);

// Gives each unit of the net the module of the same number in `order`. Dense layers at the end that do not fit get
// none, and one of `last`, layers at the net's end, gets its module although its shape is another. Throws a config
// error that names the first unit that does not fit; `path` is the file's.
void pair_in_order(std::vector<Place>& places, const std::map<std::string, TorchModule>& modules,
                   const TorchOrder& order, const std::set<std::string>& last, const std::string& path);

}  // namespace neon
