// Facts about weights that the graph of a training step has and their names do not: the layers before and behind them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "layers/layer.h"

namespace neon {

// The images (H,W,C), or volumes (D,H,W,C), whose numbers are the columns of the weights of the dense layer `p`;
// nothing where its inputs are no images with their channels last. `data_channels_last` says how the samples lie.
std::optional<Shape> images_before(const Graph& graph, const Parameter& p, bool data_channels_last);

// Whether the weights `p` of a dense layer are (nin, nout), as `transpose: true` has them.
bool lie_transposed(const Graph& graph, const Parameter& p);

// The share of inputs that a Dropout right before the layer of the weights `p` keeps, where the layer gets them without
// a scale in training, and scaled by this share in the evaluation; 1 otherwise. PyTorch divides by the share in
// training.
double kept_before(const Graph& graph, const Parameter& p);
// How many Dropouts of such a scale stand right before no weights of these layers.
int64_t dropouts_elsewhere(const Graph& graph, const std::vector<Parameter>& parameters);

// The weights whose very products the batch norm with this `gamma` and running `mean` normalises; "": none.
std::string weights_before(const Graph& graph, const std::string& gamma, const std::string& mean);

// The number that the batch norm with this `gamma` adds to the variance; nothing where it has none, as ShiftBatchNorm.
std::optional<double> epsilon_of(const Graph& graph, const std::string& gamma);

}  // namespace neon
