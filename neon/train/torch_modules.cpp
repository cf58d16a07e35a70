#include "neon/train/torch_modules.h"

#include <algorithm>

namespace neon {

namespace {

constexpr const char* kCounter = "num_batches_tracked";

// "layer1.0.conv1.weight" is "layer1.0.conv1" and "weight".
std::pair<std::string, std::string> module_and_part(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == name.npos ? std::pair(std::string(), name) : std::pair(name.substr(0, dot), name.substr(dot + 1));
}

}  // namespace

const Tensor* TorchModule::find(const std::string& part) const {
  const auto found = parts.find(part);
  return found == parts.end() ? nullptr : found->second;
}

bool are_torch_names(const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [](const std::string& name) {
    const auto [module, part] = module_and_part(name);
    return !module.empty() && (part == "weight" || part == "bias" || part == "running_mean");
  });
}

std::map<std::string, TorchModule> torch_modules(const TensorFile& file) {
  std::map<std::string, TorchModule> out;
  for (const NamedTensor& named : file.tensors) {
    const auto [name, part] = module_and_part(named.name);
    if (part == kCounter) continue;
    TorchModule& module = out[name];
    module.name = name;
    module.parts[part] = &named.tensor;
  }
  return out;
}

}  // namespace neon
