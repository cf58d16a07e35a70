// The layers of a net as boxes of its graph.
#pragma once
#include <vector>

#include "models/network.h"
#include "models/step_graph.h"
#include "neon/report/net_drawing.h"
#include "neon/train/phase_spec.h"

namespace neon {

// The layers of a phase, as they describe themselves for a training step, and their parameters.
struct DescribedNet {
  std::vector<LayerRow> rows;
  std::vector<Parameter> parameters;
  Shape sample;  // that the first layer gets, images (C,H,W)
};
DescribedNet describe_net(const TrainedPhase& phase, const DataLayout& data, const StepOptions& step);

// The samples, and a box for each layer and for each container that joins branches.
std::vector<NetNode> net_nodes(const DescribedNet& net);
// "12 layers, 1 234 parameters, 5.6e+05 flops a sample forward; input (3, 32, 32)"
std::string net_summary(const DescribedNet& net);

}  // namespace neon
