#include "neon/train/torch_modules.h"

#include <algorithm>
#include <set>

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

std::map<std::string, TorchModule> without_prefix(const std::map<std::string, TorchModule>& modules,
                                                  const std::string& prefix) {
  std::map<std::string, TorchModule> out;
  for (const auto& [name, module] : modules) {
    TorchModule& renamed = out[name.starts_with(prefix) ? name.substr(prefix.size()) : name] = module;
    if (name.starts_with(prefix)) renamed.name = name.substr(prefix.size());
  }
  return out;
}

std::vector<std::string> prefixes_of(const std::map<std::string, TorchModule>& modules) {
  std::set<std::string> found;
  for (const auto& [name, module] : modules)
    for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
      found.insert(name.substr(0, dot + 1));
  std::vector<std::string> out(found.begin(), found.end());
  std::ranges::stable_sort(out, {}, &std::string::size);
  return out;
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
