// Gradients as nodes of an expression: the rules of the ops are asked when its graph is built.
#include <algorithm>

#include "neon/array/node.h"

namespace neon {

namespace {

bool has_gradient(const Lazy::Node& node, std::unordered_map<const Lazy::Node*, bool>& seen) {
  if (!seen.emplace(&node, true).second) return false;
  return node.kind == Lazy::Node::Kind::gradient ||
         std::ranges::any_of(node.inputs, [&](const NodePtr& input) { return has_gradient(*input, seen); });
}

// By an array that is no part of another one.
NodePtr gradient_node(const NodePtr& output, const NodePtr& wanted, const NodePtr& seed) {
  auto node = std::make_shared<Lazy::Node>();
  node->kind = Lazy::Node::Kind::gradient;
  node->inputs = {output, wanted};
  if (seed) node->inputs.push_back(seed);
  for (const NodePtr& input : node->inputs) node->depth = std::max(node->depth, input->depth + 1);
  node->type = wanted->type;
  node->state = common_state(node->inputs);
  return node;
}

}  // namespace

Autodiff::Autodiff(const Lazy& output) : output_(output) {
  std::unordered_map<const Lazy::Node*, bool> seen;
  if (has_gradient(*output.node(), seen))
    fail(ErrorKind::config, "gradients have no gradients here: make an Array of one, which then counts as fixed");
}

Autodiff::Autodiff(const Lazy& output, const Lazy& seed) : Autodiff(output) {
  if (!broadcasts_to(seed.shape(), output.shape()))
    fail(ErrorKind::config, "the seed of a gradient, ", seed.shape(), ", does not broadcast to the output, ",
         output.shape());
  common_state({output.node(), seed.node()});
  NodePtr whole = seed.broadcast(output.shape()).node();
  if (whole->type.dtype != output.dtype()) whole = make_node(ops::cast, {whole}, {{"dtype", int64_t(output.dtype())}});
  seed_ = std::move(whole);
}

Lazy Autodiff::gradient(const Array& array) const {
  if (!is_floating(array.dtype()))
    fail(ErrorKind::config, "there is no gradient of ", array.dtype(), "; only floating arrays have one");
  // The gradient of a part is that part of the whole's gradient.
  std::vector<NodePtr> views;
  NodePtr whole = array.node();
  while (!whole->is_array() || whole->view) {
    views.push_back(whole->view ? whole->view : whole);
    whole = views.back()->inputs[0];
  }
  NodePtr out = gradient_node(output_.node(), whole, seed_);
  for (size_t i = views.size(); i-- > 0;) out = make_node(*views[i]->op, {out}, views[i]->attributes);
  return Lazy(out);
}

std::vector<Lazy> Autodiff::gradients(const std::vector<Array>& arrays) const {
  std::vector<Lazy> out;
  for (const Array& array : arrays) out.push_back(gradient(array));
  return out;
}

void Autodiff::back_prop(const std::vector<Array>& arrays, const std::vector<Array>& gradients) const {
  if (arrays.size() != gradients.size())
    fail(ErrorKind::config, gradients.size(), " arrays for the gradients of ", arrays.size());
  if (arrays.empty()) return;
  std::vector<Target> targets;
  for (size_t i = 0; i < arrays.size(); ++i)
    targets.push_back(target_of(gradients[i].node(), gradient(arrays[i]).node(), gradients[i].rounding()));
  evaluate(*arrays[0].node()->state, targets);
}

}  // namespace neon
