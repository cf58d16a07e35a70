// Layers that are made of others: branches of layers, side by side, and what makes one array of their outputs.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layers/layer.h"

namespace neon {

// A layer in its place in the net.
struct Link {
  std::shared_ptr<Layer> layer;
  std::string name, kind;  // the name is given by the network
  Setting resolved;
  Location where;
  std::string path;
};

// Layers one after the other, as a list of a spec has them.
struct Chain {
  std::vector<Link> links;
};

class Container : public Layer {
 public:
  Container* container() final { return this; }
  // One branch's layers each; a container without any merges its inputs as they are.
  virtual std::span<Chain> branches() = 0;
  // The outputs of the branches in one.
  virtual Expr merge(LayerContext& context, const std::vector<Expr>& outputs) const = 0;
  // Whoever runs the branches calls merge(); of a single array nothing is left but to pass it on.
  Expr forward(LayerContext& context, Expr x) const final { return merge(context, {x}); }
};

// A list of layers; a layer alone is a list of one.
template <>
struct Value_of<Chain> {
  static std::string type() { return "list of layers"; }
  static void read(const Setting& from, Chain& out, const Constraint&, Problems& problems);
  static Setting write(const Chain& value);
};

}  // namespace neon
