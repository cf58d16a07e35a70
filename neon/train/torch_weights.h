// Weights of PyTorch's modules as those of a net: under the net's names, and as its arrays lie.
#pragma once
#include "neon/train/taken_weights.h"

namespace neon {

// Reads the weights that a run begins with: a checkpoint, or a .safetensors file of PyTorch's tensors. The latter
// comes with the names and layouts of `net`; the tensors that no layer of the net asks for keep PyTorch's names.
//
// A layer takes the module of its name, and a part of a layer the module that bias_name or bn_name says. Where no layer
// has the name of a module, layers take the modules in the order of a family of torchvision's (torch_families.h). An
// evaluation gives PyTorch's outputs: eps, biases before batch norm and the scale of dropout are evened out.
//
// Adds lines with "warning: " or "note: " before them to `messages`. Throws a data error for a file that is neither,
// and a config error where no layer has a module, or where a layer has another shape than its module. Only the last
// layer may: it then begins anew.
TensorFile load_weights(const std::string& path, const TakingNet& net, std::vector<std::string>& messages);

}  // namespace neon
