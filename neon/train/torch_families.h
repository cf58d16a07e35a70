// The order of the modules of torchvision's nets. A .safetensors file has its tensors in the order of their names,
// which is not that of a net's layers.
#pragma once
#include <optional>

#include "neon/train/torch_modules.h"

namespace neon {

// Added to variances by PyTorch, unless a net says otherwise; a file does not say it.
constexpr double kTorchEpsilon = 1e-5;

struct TorchOrder {
  std::string family;                // "ResNet"
  double epsilon = kTorchEpsilon;    // of the family's batch norms
  std::vector<std::string> modules;  // in the order in which the net uses them
};

// Nothing where the modules are those of no family.
std::optional<TorchOrder> torch_order(const std::map<std::string, TorchModule>& modules);

// "AlexNet, VGG, ..."
std::string torch_families();

}  // namespace neon
