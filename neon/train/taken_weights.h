// The weights that a run begins with, of a checkpoint whose net need not be the same: whatever fits is taken.
#pragma once
#include <string>
#include <vector>

#include "models/step_graph.h"
#include "neon/train/net_outputs.h"
#include "neon/train/run_state.h"

namespace neon {

// Tensors are parameters and running statistics.
struct TakenWeights {
  std::vector<std::string> taken, fresh, unused;  // fresh: of the net, begun anew; unused: of the checkpoint
  std::vector<std::string> by_token;              // of those taken: the numbers of tokens that both nets have
  // Weights that are rounded, another --caffe, drawn weights that stay, other inputs; with "warning: " or "note: ".
  std::vector<std::string> notes;
  // "12 of 14 tensors taken; new: head/W, head/b"
  std::string line() const;
  // A line for each tensor.
  std::string listing() const;
};

// A net that takes weights.
struct TakingNet {
  const Network& network;
  const StepGraph& graph;  // of its training step
  const SampleMeaning& samples;
  bool caffe = false;
  bool data_channels_last = false;  // images come to the net as (N,H,W,C)
  const OutputSpecs& outputs;       // of a net with several targets, each with its layer
};

// Copies the tensors of the checkpoint `file`, read from `path`, that have the name and the shape of one of the net's;
// means of weights where the file has them. The other variables stay as they are, those of the last layers, too, where
// both sides name their classes and the names differ. Rows of tables and classifiers of tokens are taken by the tokens'
// texts, where both sides have them. Throws a config error if nothing fits.
TakenWeights take_weights(const TensorFile& file, const std::string& path, const TakingNet& net, Variables& variables);

}  // namespace neon
