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
  // A BranchNode of a name met before: a branch begins here with what that one passed on.
  bool met_before = false;
};

// The class by whose layers branches of a Tree begin; see tree.cpp.
constexpr const char* kBranchNode = "BranchNode";

// Layers one after the other, as a list of a spec has them.
struct Chain {
  std::vector<Link> links;
};

class Seq2Seq;                // seq2seq.h
class GenerativeAdversarial;  // adversarial.h

class Container : public Layer {
 public:
  Container* container() final { return this; }
  // One branch's layers each; a container without any merges its inputs as they are.
  virtual std::span<Chain> branches() = 0;
  // Whether the branches after the first begin with a BranchNode that was met before.
  virtual bool begins_at_nodes() const { return false; }
  // This as an encoder and a decoder, which the network runs one after the other; null for other containers.
  virtual const Seq2Seq* seq2seq() const { return nullptr; }
  // This as a generator and a discriminator; null for other containers.
  virtual const GenerativeAdversarial* adversarial() const { return nullptr; }
  // The input of a branch's first layer; a container may scale its gradient.
  virtual Expr enter(size_t branch, Expr x) const {
    (void)branch;
    return x;
  }
  // The outputs of the branches in one.
  virtual Expr merge(LayerContext& context, const std::vector<Expr>& outputs) const = 0;
  // Whoever runs the branches calls merge(); of a single array nothing is left but to pass it on.
  Expr forward(LayerContext& context, Expr x) const final { return merge(context, {x}); }
  Expr forward_all(LayerContext& context, const std::vector<Expr>& inputs) const final {
    return merge(context, inputs);
  }
};

// x whose gradient is that of x times `factor`.
Expr with_scaled_gradient(Expr x, double factor);
// Throws a config error unless there are no factors, or one for each of the branches.
void check_alphas(const std::vector<double>& alphas, size_t branches);

// A list of layers; a layer alone is a list of one.
template <>
struct Value_of<Chain> {
  static std::string type() { return "list of layers"; }
  static void read(const Setting& from, Chain& out, const Constraint&, Problems& problems);
  static Setting write(const Chain& value);
};

}  // namespace neon
