// Branches of one input, or of an input each, merged: MergeSum adds them, MergeMean takes their mean, MergeProduct
// multiplies them, MergeConcat, MergeBroadcast and MergeMultistream put them side by side. Images have their feature
// maps put side by side; with merge: stack, and for anything else, all numbers of a sample. MergeConcatSequence and
// merge: recurrent put steps one after the other.
#include <algorithm>

#include "layers/step_windows.h"
#include "models/container.h"
#include "transforms/parts.h"

namespace neon {

namespace {

struct BranchesParams {
  std::vector<Chain> layers;
  std::vector<double> alphas;
  static void describe(auto&& p) {
    p("layers", &BranchesParams::layers,
      "Branches, a list of layers each. All take the layer's input, or each takes one of `inputs`. Without branches "
      "the layer merges its `inputs`.",
      Alias{"layer_container"}, Alias{"sublayers"});
    p("alphas", &BranchesParams::alphas,
      "Factors of the gradients that the branches pass to their inputs. Default: 1 each.");
  }
};

// "1 (16, 8, 8), 2 (8, 8, 8)"
std::string numbered(const LayerContext& context, const std::vector<Expr>& outputs) {
  std::string out;
  for (size_t i = 0; i < outputs.size(); ++i) out += text(i ? ", " : "", i + 1, " ", context.sample_shape(outputs[i]));
  return out;
}

template <typename P>
struct Branches : Parametrized<Container, P> {
  explicit Branches(P given) : Parametrized<Container, P>(std::move(given)) {
    check_alphas(this->params.alphas, this->params.layers.size());
  }
  Expr enter(size_t branch, Expr x) const override {
    return this->params.alphas.empty() ? x : with_scaled_gradient(x, this->params.alphas[branch]);
  }
  std::span<Chain> branches() override { return this->params.layers; }
};

// The sum of branches, for a layer that `does` this to them: "MergeSum adds".
Expr total_of(LayerContext& context, const std::vector<Expr>& outputs, const char* does) {
  for (Expr y : outputs)
    if (context.sample_shape(y) != context.sample_shape(outputs[0]))
      fail(ErrorKind::config, does, " branches of equal shape, but these have ", numbered(context, outputs),
           "; a convolution with fshape: 1 and strides brings an image to other feature maps and sizes");
  Expr total = context.channels_last(outputs[0]);
  for (size_t i = 1; i < outputs.size(); ++i) total = total + context.channels_last(outputs[i]);
  return total;
}

struct MergeSum : Branches<BranchesParams> {
  using Branches::Branches;
  WayOfZeros way_of_zeros() const override { return WayOfZeros::added; }
  Expr merge(LayerContext& context, const std::vector<Expr>& outputs) const override {
    return total_of(context, outputs, "MergeSum adds");
  }
};
NEON_REGISTER(Layer, MergeSum, "Adds the outputs of branches.");

struct MergeMean : Branches<BranchesParams> {
  using Branches::Branches;
  WayOfZeros way_of_zeros() const override { return WayOfZeros::added; }
  Expr merge(LayerContext& context, const std::vector<Expr>& outputs) const override {
    return total_of(context, outputs, "MergeMean takes the mean of") * (1.0 / double(outputs.size()));
  }
};
NEON_REGISTER(Layer, MergeMean, "Takes the mean of the outputs of branches.");

struct MergeProduct : Branches<BranchesParams> {
  using Branches::Branches;
  Expr merge(LayerContext& context, const std::vector<Expr>& outputs) const override {
    int rank = 0;
    for (Expr y : outputs) rank = std::max(rank, y.shape().rank());
    Expr product;
    for (Expr y : outputs) {
      const Expr factor = in_rank(context.channels_last(y), rank);
      if (product.value() && !go_together(product.shape(), factor.shape()))
        fail(ErrorKind::config, "MergeProduct multiplies branches of equal shape, or by a number for each feature map ",
             "or for each pixel, but these have ", numbered(context, outputs));
      product = product.value() ? product * factor : factor;
    }
    return product;
  }

 private:
  // x (N,C), a number for each feature map, as an image of one pixel, (N,1,1,C).
  static Expr in_rank(Expr x, int rank) {
    Shape shape = x.shape().slice(0, 1);
    if (x.shape().rank() != 2 || rank == 2) return x;
    for (int axis = 1; axis < rank - 1; ++axis) shape = shape.concat({1});
    return reshape(x, shape.concat({x.shape()[1]}));
  }
  static bool go_together(const Shape& a, const Shape& b) {
    if (a.rank() != b.rank()) return false;
    for (int axis = 1; axis < a.rank(); ++axis)
      if (a[axis] != b[axis] && a[axis] != 1 && b[axis] != 1) return false;
    return true;
  }
};
NEON_REGISTER(Layer, MergeProduct,
              "Multiplies the outputs of branches. A branch may give one number for each feature map, or one for each "
              "pixel: it multiplies all pixels, or all maps, as in squeeze and excitation (Hu et al. 2018).");

// Arrays that agree in all axes but the last, in a row along it.
Expr along_last_axis(LayerContext& context, const std::vector<Expr>& outputs) {
  const int axis = outputs[0].shape().rank() - 1;
  for (Expr y : outputs) {
    const Shape& shape = y.shape();
    if (shape.rank() != axis + 1 || shape.with(axis, 1) != outputs[0].shape().with(axis, 1))
      fail(ErrorKind::config, "the branches to join may differ only in their ",
           axis >= 3 ? "feature maps" : "last axis", ", but these have ", numbered(context, outputs),
           axis >= 3
               ? "; padding and strides change the sizes of an image, and MergeBroadcast: {merge: stack} asks for none"
               : "");
  }
  return beside(outputs, axis);
}

Expr side_by_side(LayerContext& context, std::vector<Expr> outputs, bool stack) {
  for (Expr& y : outputs) y = stack ? as_rows(without_padding(context, y)) : context.channels_last(y);
  return along_last_axis(context, outputs);
}

// The outputs of branches as sequences that follow one another, (N,T,F) or one step (N,F) each -> (N, all steps, F).
Expr one_after_the_other(LayerContext& context, const std::vector<Expr>& outputs) {
  std::vector<Expr> parts;
  Value lengths;
  int64_t steps = 0, features = 0;
  for (const Expr& given : outputs) {
    const bool is_row = given.shape().rank() == 2 && !context.are_tokens(given);
    const Shape& shape = given.shape();
    if (!is_row && !context.is_sequence(given))
      fail(ErrorKind::config,
           "merge: recurrent joins the steps of sequences, or rows of features as one step each, but ",
           "these branches have ", numbered(context, outputs));
    const Expr y = is_row ? reshape(given, {shape[0], 1, shape[1]}) : given;
    if (parts.empty()) features = y.shape()[2];
    if (y.shape()[2] != features)
      fail(ErrorKind::config, "the steps to join must have as many features each, but these branches have ",
           numbered(context, outputs));
    if (lengths)
      fail(ErrorKind::config, "sequences of different lengths can only be the last branch, but these branches have ",
           numbered(context, outputs));
    if (!is_row && !context.filled_lengths)
      lengths = context.lengths(given);  // of a text only the last piece is padded
    if (lengths) lengths = cast(cast(context.expr(lengths), DType::f32) + double(steps), DType::i32);
    parts.push_back(y);
    steps += y.shape()[1];
  }
  const Expr out = beside(parts, 1);
  context.mark_sequence(out);
  if (lengths) context.set_lengths(out, lengths);
  return out;
}

struct MergeConcatSequence : Branches<BranchesParams> {
  using Branches::Branches;
  WayOfZeros way_of_zeros() const override { return WayOfZeros::moved; }
  Sight sight() const override { return Sight::any; }
  Expr merge(LayerContext& context, const std::vector<Expr>& outputs) const override {
    return one_after_the_other(context, outputs);
  }
};
NEON_REGISTER(Layer, MergeConcatSequence,
              "Joins the steps of branches: those of the second follow those of the first. A row of features is one "
              "step.");

struct MergeConcat : Branches<BranchesParams> {
  using Branches::Branches;
  WayOfZeros way_of_zeros() const override { return WayOfZeros::moved; }
  Expr merge(LayerContext& context, const std::vector<Expr>& outputs) const override {
    return side_by_side(context, outputs, false);
  }
};
NEON_REGISTER(Layer, MergeConcat, "Joins the outputs of branches; for images, their feature maps.");

struct MergeBroadcastParams : BranchesParams {
  std::string merge = "stack";
  static void describe(auto&& p) {
    BranchesParams::describe(p);
    p("merge", &MergeBroadcastParams::merge,
      "Axis to join along: depth joins feature maps, stack joins all features, recurrent joins the steps of sequences, "
      "where a row of features is one step.",
      one_of({"depth", "stack", "recurrent"}));
  }
};
struct JoinedBranches : Branches<MergeBroadcastParams> {
  using Branches::Branches;
  WayOfZeros way_of_zeros() const override { return WayOfZeros::moved; }
  Sight sight() const override { return params.merge == "depth" ? Sight::step : Sight::any; }
  Expr merge(LayerContext& context, const std::vector<Expr>& outputs) const override {
    if (params.merge == "recurrent") return one_after_the_other(context, outputs);
    return side_by_side(context, outputs, params.merge == "stack");
  }
};
struct MergeBroadcast : JoinedBranches {
  using JoinedBranches::JoinedBranches;
};
NEON_REGISTER(Layer, MergeBroadcast, "MergeConcat under the name of neon 1.1 and later, with a choice of the axis.",
              {"BranchLayer"});

struct MergeMultistream : JoinedBranches {
  using JoinedBranches::JoinedBranches;
  int most_inputs() const override { return std::max(1, int(params.layers.size())); }
};
NEON_REGISTER(
    Layer, MergeMultistream,
    "MergeBroadcast whose branches have an input each: `inputs` names one for each branch, such as parts of a "
    "sample that Slice passes on.");

struct SequentialParams {
  Chain layers;
  static void describe(auto&& p) {
    p("layers", &SequentialParams::layers, "List of layers.", Alias{"layer_container"}, Alias{"sublayers"}, Required{});
  }
};
struct Sequential : Parametrized<Container, SequentialParams> {
  using Parametrized::Parametrized;
  std::span<Chain> branches() override { return {&params.layers, 1}; }
  Expr merge(LayerContext&, const std::vector<Expr>& outputs) const override { return outputs[0]; }
};
NEON_REGISTER(Layer, Sequential, "A list of layers where one layer is expected.", {"ListLayer"});

}  // namespace

}  // namespace neon
