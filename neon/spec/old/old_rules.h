// Learning rules of neon 0.9. Every layer had its own; ours are of an optimizer for all of them.
#pragma once
#include <string>
#include <vector>

#include "neon/spec/old/old_node.h"

namespace neon {

class OldTranslation;

// A rule, {type: ..., lr_params: {...}}, as an optimizer.
Setting translate_old_rule(OldTranslation& translation, const OldNode& node);
// The rule of layers without lrule_init.
Setting usual_old_rule(const Location& where);

// A layer's rules.
struct OldLayerRules {
  std::string layer;
  Setting weights;
  Setting bias;  // null: as the weights
  bool has_bias = false, has_batch_norm = false;
};

class OldRules {
 public:
  void add(OldLayerRules rules) { layers_.push_back(std::move(rules)); }
  // One rule, or a MultiOptimizer: the most frequent is the default. Null without layers that learn.
  Setting optimizer(const Location& where) const { return optimizer(where, layers_); }
  // The same for the layer of that name alone.
  Setting optimizer_of(const std::string& layer, const Location& where) const;

 private:
  static Setting optimizer(const Location& where, const std::vector<OldLayerRules>& layers);
  std::vector<OldLayerRules> layers_;
};

}  // namespace neon
