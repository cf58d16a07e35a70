#include "models/layer_depth.h"

#include <algorithm>
#include <map>
#include <set>

#include "backends/graph/ops.h"

namespace neon {

namespace {

// Goes over a graph from its inputs on. A layer gets its depth where its parameters first meet a value of the samples.
class Depths {
 public:
  Depths(const Graph& graph, const std::vector<Parameter>& parameters, const std::vector<Value>& stored)
      : reached_(size_t(graph.value_count())) {
    for (size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].trained) reached_[size_t(stored[i].id)].owners.insert(parameters[i].owner);
    for (int i = 0; i < graph.node_count(); ++i) see(graph.node(i));
  }

  // 1 for a layer that takes the samples, and for one that meets none.
  int64_t of(const std::string& owner) const {
    const auto found = depth_.find(owner);
    return found == depth_.end() ? 1 : found->second;
  }

 private:
  struct Reached {
    bool by_samples = false;
    int64_t depth = 0;             // of the deepest layer that the samples came through
    std::set<std::string> owners;  // the layers of the parameters that it is made of, where no sample has a part in it
  };

  void see(const Node& node) {
    Reached out;
    out.by_samples = node.op->is(ops::input) || node.op->is(ops::uniform) || node.op->is(ops::keyed_uniform);
    for (const Value input : node.inputs) {
      const Reached& from = reached_[size_t(input.id)];
      out.by_samples |= from.by_samples;
      out.depth = std::max(out.depth, from.depth);
      out.owners.insert(from.owners.begin(), from.owners.end());
    }
    if (out.by_samples) {
      const int64_t next = out.depth + 1;
      for (const std::string& owner : out.owners)
        out.depth = std::max(out.depth, depth_.emplace(owner, next).first->second);
      out.owners.clear();
    }
    for (const Value made : node.outputs)
      if (!node.inputs.empty() || out.by_samples) reached_[size_t(made.id)] = out;
  }

  std::vector<Reached> reached_;  // by value
  std::map<std::string, int64_t> depth_;
};

}  // namespace

std::vector<int64_t> layers_behind(const Graph& graph, const std::vector<Parameter>& parameters,
                                   const std::vector<Value>& stored) {
  const Depths depths(graph, parameters, stored);
  int64_t deepest = 0;
  for (const Parameter& p : parameters)
    if (p.trained) deepest = std::max(deepest, depths.of(p.owner));
  std::vector<int64_t> out;
  for (const Parameter& p : parameters) out.push_back(p.trained ? deepest - depths.of(p.owner) : 0);
  return out;
}

}  // namespace neon
