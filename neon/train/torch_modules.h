// A .safetensors file of a PyTorch module: tensors named MODULE.weight, MODULE.bias, MODULE.running_mean and
// MODULE.running_var, as state_dict() names them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "neon/train/safetensors.h"

namespace neon {

struct TorchModule {
  std::string name;                            // "layer1.0.conv1"
  std::map<std::string, const Tensor*> parts;  // "weight", "bias", ...; not num_batches_tracked, which no net needs
  const Tensor* find(const std::string& part) const;  // null when absent
  // A batch norm has running statistics.
  bool is_batch_norm() const { return find("running_var") != nullptr; }
};

// Whether some of these names end as PyTorch's do.
bool are_torch_names(const std::vector<std::string>& names);

// Those whose names begin with a prefix, without it; the others as they are.
std::map<std::string, TorchModule> without_prefix(const std::map<std::string, TorchModule>& modules,
                                                  const std::string& prefix);
// The prefixes of names, each up to a dot, the shorter ones first: "module.", "module.model."
std::vector<std::string> prefixes_of(const std::map<std::string, TorchModule>& modules);

// The modules of a file by name; the tensors stay the file's.
std::map<std::string, TorchModule> torch_modules(const TensorFile& file);

}  // namespace neon
