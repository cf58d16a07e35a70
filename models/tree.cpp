// Tree: a trunk of layers and branches that begin at nodes of it. Each branch ends in an output of the net, for a cost
// of Multicost; the layers after the tree take the trunk's.
//
//   Tree:
//     - [Affine: ..., BranchNode: {name: b}, Affine: ...]   # the trunk
//     - [BranchNode: {name: b}, Affine: ...]
#include "models/container.h"

namespace neon {

namespace {

struct BranchNode : Parametrized<Layer, NoParams> {
  using Parametrized::Parametrized;
  void check() const {
    if (common.name.empty()) fail(ErrorKind::config, "'name' is missing: branches refer to this node by its name");
  }
  Expr forward(LayerContext&, Expr x) const override { return x; }
  bool takes_channels_first() const override { return true; }
};
NEON_REGISTER(Layer, BranchNode, "Passes its input on. A branch of a Tree starts from it by its name.");

struct TreeParams {
  std::vector<Chain> layers;
  std::vector<double> alphas;
  static void describe(auto&& p) {
    p("layers", &TreeParams::layers,
      "Lists of layers: the trunk's, then each branch's, which begins with a BranchNode.", Required{});
    p("alphas", &TreeParams::alphas, "Factors of the gradients of the trunk and the branches. Default: 1 each.");
  }
};

struct Tree : Parametrized<Container, TreeParams> {
  explicit Tree(TreeParams given) : Parametrized(std::move(given)) {
    check_alphas(params.alphas, params.layers.size());
    if (params.layers.empty()) fail(ErrorKind::config, "'layers' has no trunk");
    for (size_t i = 1; i < params.layers.size(); ++i)
      if (const Link& first = params.layers[i].links.at(0); first.kind != kBranchNode)
        fail(ErrorKind::config, "branch ", i, " begins with ", first.kind,
             ", expected the BranchNode that it starts from");
  }
  std::span<Chain> branches() override { return params.layers; }
  bool begins_at_nodes() const override { return true; }
  Expr enter(size_t branch, Expr x) const override {
    return params.alphas.empty() ? x : with_scaled_gradient(x, params.alphas[branch]);
  }
  Expr merge(LayerContext& context, const std::vector<Expr>& outputs) const override {
    context.tree_outputs = true;
    return add_branches(context, outputs);
  }

 protected:
  static Expr add_branches(LayerContext& context, const std::vector<Expr>& outputs) {
    context.more_outputs.insert(context.more_outputs.end(), outputs.begin() + 1, outputs.end());
    return outputs[0];
  }
};
NEON_REGISTER(Layer, Tree, "A trunk of layers with branches, each with its own output.");

struct SingleOutputTree : Tree {
  using Tree::Tree;
  Expr merge(LayerContext& context, const std::vector<Expr>& outputs) const override {
    return context.training ? add_branches(context, outputs) : outputs[0];
  }
};
NEON_REGISTER(Layer, SingleOutputTree, "A Tree whose branches are used only in training.");

}  // namespace

}  // namespace neon
