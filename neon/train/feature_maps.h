// Sheets of what feature maps respond to, where GuidedBackprop asks for them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "neon/train/callback.h"
#include "neon/train/evaluator.h"
#include "neon/train/run_setup.h"

namespace neon {

// A net, and the samples among which its maps find theirs.
struct MapsOfNet {
  const Network& network;
  StepOptions step;
  DataLayout layout;
  EvaluatedSet set;
  std::map<std::string, Tensor> shared = {};  // whole weights, of those whose rows ranks share
};

// A sheet guided_LAYER.png in the folder for each of the layers; `variables` are on the host. Returns lines for the
// user: the files, or the reason that a sheet is missing.
std::vector<std::string> write_feature_maps(const MapsOfNet& of, const std::vector<std::string>& layers,
                                            const MapsToDraw& asked, const Variables& variables,
                                            const std::string& folder);

// Does the same for each convolution, with the net's weights as they are, if a callback asks for sheets.
std::vector<std::string> draw_feature_maps(const RunSetup& setup, const StepGraph& step, Variables& variables);

}  // namespace neon
