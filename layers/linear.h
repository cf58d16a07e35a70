// Parts that other layers are composed of.
#pragma once
#include "layers/layer.h"
#include "transforms/activation.h"

namespace neon {

struct BatchNormParams {
  double rho = 0.9;
  double eps = 1e-3;
  bool binary = false;  // factors are powers of two; what has such a parameter describes it
  static void describe(auto&& p) {
    p("rho", &BatchNormParams::rho,
      "Share of the running statistics that a batch leaves unchanged. The running mean begins at 0, the running "
      "variance at 1; both take the batch's own, whose variance is divided by the count n, not n - 1. The evaluation "
      "uses them.",
      half_open(0, 1));
    p("eps", &BatchNormParams::eps, "Added to the variance, inside the root.", above(0));
  }
};

// Whether a layer normalises what it makes: true, or numbers in place of the usual ones, {rho: 0.99, eps: 1e-6}.
struct BatchNormChoice : BatchNormParams {
  bool given = false;
  explicit operator bool() const { return given; }
};

template <>
struct Value_of<BatchNormChoice> {
  static std::string type() { return "true, false or {rho, eps}"; }
  static void read(const Setting& from, BatchNormChoice& out, const Constraint& constraint, Problems& problems);
  static Setting write(const BatchNormChoice& value);
};

// Names that neon 1.0 had for what follows the weights, in MultiOptimizer.
struct PartNames {
  std::string bias_name, bn_name, act_name;
  static void describe(auto&& p) {
    p("bias_name", &PartNames::bias_name, "Name of the bias for MultiOptimizer. Default: NAME_bias.");
    p("bn_name", &PartNames::bn_name, "Name of the batch norm for MultiOptimizer. Default: NAME_bnorm.");
    p("act_name", &PartNames::act_name,
      "Name of the activation for MultiOptimizer, where it learns numbers, as PReLU does. Default: NAME_act.");
  }
  void apply(LayerContext& context) const {
    context.name_part(context.layer + "_bias", bias_name);
    context.name_part(context.layer + "_bnorm", bn_name);
    context.name_part(context.layer + "_act", act_name);
  }
};

// The number of outputs: as a spec gives it, or "classes", as many as the data set has classes. A net for texts can so
// leave the size of the vocabulary to the text.
struct OutputCount {
  int64_t number = 0;  // 0: "classes"
  // Throws a config error where the data set has no classes.
  int64_t of(const LayerContext& context) const;
};

template <>
struct Value_of<OutputCount> {
  static std::string type() { return "integer, or classes"; }
  static void read(const Setting& from, OutputCount& out, const Constraint& constraint, Problems& problems);
  static Setting write(const OutputCount& value);
};

constexpr const char* kTransposeSentence =
    "Stores W as (nin, nout) and computes x W. With `share` the layer has the weights of an encoder, transposed, as a "
    "decoder with tied weights has them.";

// x (N,C) · W^T (C,K) -> (N,K); W (K,C), or with `transpose` x · W, W (C,K). A sequence (N,T,C) -> (N,T,K).
Expr linear(LayerContext& context, Expr x, int64_t nout, const Initializer& init, const std::string& name,
            bool transpose = false);
// x (N,...,K) + b (K)
Expr bias(LayerContext& context, Expr x, const Initializer& init, const std::string& name);
// x (N,...,K) + b (... K), a number for each output of a sample: the parameter NAME_bias/b of the layer.
Expr bias_of_places(LayerContext& context, Expr x, const Initializer& init);
// x (N,...,K) normalised over the batch (and the pixels of a feature map), then scaled and shifted.
Expr batch_norm(LayerContext& context, Expr x, const BatchNormParams& params, const std::string& name);
// x itself without an activation. Numbers that the activation learns or draws are called NAME/...
Expr activate(LayerContext& context, Expr x, const Made<Activation>& activation, const std::string& name);
// The same, NAME being that of the layer and "_act".
Expr activate(LayerContext& context, Expr x, const Made<Activation>& activation);

}  // namespace neon
