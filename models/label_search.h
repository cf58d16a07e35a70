// Which labels a decoder predicts, step by step: the likeliest label of each step, or the likeliest sequence of labels
// that a beam finds (Graves 2012; Sutskever et al. 2014).
#pragma once
#include <vector>

#include "layers/layer.h"

namespace neon {

struct BeamOptions {
  int64_t beams = 1;  // sequences that are kept of each sample; 1: the likeliest label of each step
  double length_penalty = 0;
};

// The beams of all samples stand below one another as rows of one batch, those of a sample side by side and the best
// one first. A beam that has predicted the class that ends a target stays as it is, and so does one that has as many
// labels as its sample (LayerContext::label_lengths).
class LabelSearch {
 public:
  LabelSearch(LayerContext& context, int64_t samples, BeamOptions options);
  int64_t rows() const { return samples_ * options_.beams; }
  // x (N,...) -> (rows,...): the row of its sample for each beam; sequences stay sequences.
  Expr for_rows(Expr x) const;
  PassedStates for_rows(const PassedStates& states) const;
  // The outputs y (rows,1,K) of a step -> its labels (rows,1) i32. Throws a config error where beams need probabilities
  // and y has none.
  Expr choose(Expr y);
  // The states that the rows have after choose(): a beam goes on from the one that it was made of.
  PassedStates chosen(const PassedStates& states) const;
  // After the last step: labels (N,L) i32 and outputs (N,L,K) of each sample's best sequence; -1 behind its labels.
  struct Found {
    Value labels;
    Expr outputs;
  };
  Found found() const;

 private:
  struct Step {
    Expr y, label;
    Value from;  // (rows) i32: the row of the step before; invalid: each from itself
  };
  // Ends the beams that have all labels of their samples.
  void end_full();
  // Labels (N,L) with -1 behind those that samples have.
  Value own_labels(Value labels) const;
  // Sums of log-probabilities (N,beams,K) of all sequences that are one label longer.
  Expr longer_scores(Expr y) const;
  // The best of them by `rank` (N,beams,K): beams from the best on.
  Step best_of(Expr y, Expr scores, Expr rank);
  Expr number_along(int axis, int64_t size) const;  // 0, 1, ... along an axis of three

  LayerContext& context_;
  Graph& graph_;
  int64_t samples_;
  BeamOptions options_;
  Value sample_of_;                // (rows) i32
  Expr first_row_;                 // (N,1,1): of each sample
  Expr counts_;                    // (N,1,1): how many labels a sample has; without a value: the net decides
  Expr scores_, lengths_, ended_;  // (N,beams,1)
  std::vector<Step> steps_;
};

}  // namespace neon
