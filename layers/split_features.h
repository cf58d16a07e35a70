// Outputs of dense layers that ranks split (layers/split_linear.h), until a layer asks for all features of this rank's
// samples.
#pragma once
#include <map>
#include <vector>

#include "backends/graph/expression.h"
#include "backends/graph/rank_rows.h"
#include "transforms/activation.h"

namespace neon {

// Some samples of all ranks, or steps of sequences, and those of their features that this rank has.
struct SplitPart {
  Expr x;                       // (features of this rank, samples)
  RankRows samples;             // how many are of each rank
  std::vector<int64_t> firsts;  // of each rank's, in the batch; a rank may have samples of another once more
};

struct SplitParts {
  std::vector<SplitPart> parts;  // in which the samples are computed one after the other
  int64_t all = 0;               // samples of the batch, or steps
  Expr sequences;                // (N,T,F) of this rank, whose steps the samples are; or without a value
};

// Split features, and the activation of each of them.
struct Activated {
  Expr x;
  const Activation* activation = nullptr;
};

// Layers pass the first part on, for all.
class SplitFeatures {
 public:
  bool has(Expr x) const { return parts_.contains(x); }
  const SplitParts& of(Expr x) const { return parts_.at(x); }
  Expr add(SplitParts split) {
    const Expr first = split.parts[0].x;
    parts_[first] = std::move(split);
    return first;
  }
  // The split features `logits` whose softmax, of this rank's samples, is y.
  void note_softmax(Expr y, Expr logits) { logits_[y] = logits; }
  Expr logits_of(Expr y) const {
    const auto found = logits_.find(y);
    return found == logits_.end() ? Expr() : found->second;
  }
  // y is what `activation` makes of each of the split features x. A layer that asks for all features gets those of x,
  // activated then: so the net's outputs come from an activation, as costs want them to.
  void note_activation(Expr y, Expr x, const Activation& activation) { activated_[y] = {x, &activation}; }
  const Activated* activated(Expr y) const {
    const auto found = activated_.find(y);
    return found == activated_.end() ? nullptr : &found->second;
  }
  // The place in which own_samples() keeps its result.
  Expr& whole(Expr x) { return whole_[x]; }

 private:
  std::map<Value, SplitParts> parts_;
  std::map<Value, Expr> whole_, logits_;
  std::map<Value, Activated> activated_;
};

}  // namespace neon
