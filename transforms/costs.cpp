// neon's costs, as formulas of the net's outputs. Logarithms of Softmax and Logistic become forms that lose nothing
// where an output saturates; on_logits() of backends/graph/passes.h does this for all costs.
#include "transforms/cost.h"

namespace neon {

namespace {

// A cost that compares two or more classes, of a net with one output.
std::string objection_to_one(const char* cost, int64_t classes, const char* binary) {
  if (classes > 0)
    return text(cost, " compares ", classes, " classes, the last layer has 1 output; give it nout: ", classes);
  return text(cost, " compares classes, and the targets are values: MeanSquared suits values, ", binary,
              " targets of 0 and 1");
}

// A cost of a distribution over classes, behind something else.
std::string objection_to_last(const char* cost, const std::string& last, const char* otherwise) {
  if (last == kPartOfSoftmax)
    return text(cost, " takes the outputs of Softmax, and the last layer takes only some of them, which do not add up ",
                "to 1; put Slice before Activation: Softmax");
  return text(cost, " takes the outputs of Softmax; give the last layer activation: Softmax", otherwise);
}

std::vector<int64_t> feature_axes(const Shape& shape) {
  std::vector<int64_t> axes;
  for (int axis = 1; axis < shape.rank(); ++axis) axes.push_back(axis);
  return axes;
}

Expr sum_features(Expr x) { return reshape(sum(x, feature_axes(x.shape())), {x.shape()[0], 1}); }

struct CrossEntropyMultiParams {
  double scale = 1;
  bool usebits = false;
  double smoothing = 0;
  static void describe(auto&& p) {
    p("scale", &CrossEntropyMultiParams::scale, "Factor of the gradient, not of the reported cost.", above(0));
    p("usebits", &CrossEntropyMultiParams::usebits, "Report and follow the cost in bits rather than nats.");
    p("smoothing", &CrossEntropyMultiParams::smoothing,
      "Share of the target spread evenly over all classes (Szegedy et al. 2016, section 7). The reported costs, of the "
      "evaluation too, are those of the smoothed targets.",
      half_open(0, 1));
  }
};
struct CrossEntropyMulti : Parametrized<Cost, CrossEntropyMultiParams> {
  using Parametrized::Parametrized;
  bool suits(TargetKind kind) const override { return kind == TargetKind::classes; }
  double gradient_scale() const override { return params.scale; }
  std::string objection(int64_t outputs, int64_t classes, const std::string& last) const override {
    if (outputs < 2) return objection_to_one("CrossEntropyMulti", classes, "CrossEntropyBinary");
    if (last != "softmax") return objection_to_last("CrossEntropyMulti", last, "");
    return Cost::objection(outputs, classes, last);
  }
  std::string advice(const std::vector<OutputForm>&, int64_t) const override { return ""; }
  Expr each(Expr y, Expr t) const override {
    if (params.smoothing > 0) t = t * (1 - params.smoothing) + params.smoothing / double(y.shape().back());
    return in_unit(-sum_features(t * neon::apply("safelog", y)));
  }
  Expr of_logarithms(Expr at_label, Expr mean) const override {
    const double share = params.smoothing;
    return in_unit(share > 0 ? at_label * (share - 1) - mean * share : -at_label);
  }

 private:
  Expr in_unit(Expr cost) const { return params.usebits ? cost * (1 / 0.69314718055994530942) : cost; }
};
NEON_REGISTER(
    Cost, CrossEntropyMulti,
    "-sum t log y, for classes that exclude each other; where each pixel has a class, the mean over the pixels.");

struct CrossEntropyBinaryParams {
  double scale = 1;
  static void describe(auto&& p) {
    p("scale", &CrossEntropyBinaryParams::scale, "Factor of the gradient, not of the reported cost.", above(0));
  }
};
struct CrossEntropyBinary : Parametrized<Cost, CrossEntropyBinaryParams> {
  using Parametrized::Parametrized;
  bool suits(TargetKind kind) const override { return kind != TargetKind::number; }
  double gradient_scale() const override { return params.scale; }
  std::string objection(int64_t outputs, int64_t classes, const std::string& last) const override {
    if (last != "logistic" && last != "softmax" && last != kPartOfSoftmax)
      return "CrossEntropyBinary takes outputs between 0 and 1; give the last layer activation: Logistic";
    return Cost::objection(outputs, classes, last);
  }
  Expr each(Expr y, Expr t) const override {
    return sum_features(-t * neon::apply("safelog", y) - (1.0 - t) * neon::apply("safelog", 1.0 - y));
  }
};
NEON_REGISTER(Cost, CrossEntropyBinary, "-sum [t log y + (1 - t) log(1 - y)], for outputs that each are yes or no.");

// u^gamma; where gamma is below 1, its slope at 0 would be infinite.
Expr power(Expr u, double gamma) { return neon::apply("pow", maximum(u, 1e-12), u.constant(gamma)); }

struct FocalParams {
  double gamma = 2;
  static void describe(auto&& p) {
    p("gamma", &FocalParams::gamma, "Exponent by which easy samples count less; 0: the cross-entropy itself.",
      closed(0, 20));
  }
};
struct Focal : Parametrized<Cost, FocalParams> {
  using Parametrized::Parametrized;
  bool suits(TargetKind kind) const override { return kind == TargetKind::classes; }
  std::string objection(int64_t outputs, int64_t classes, const std::string& last) const override {
    if (outputs < 2) return objection_to_one("Focal", classes, "FocalBinary");
    if (last != "softmax") return objection_to_last("Focal", last, ", or take FocalBinary");
    return Cost::objection(outputs, classes, last);
  }
  std::string advice(const std::vector<OutputForm>&, int64_t) const override { return ""; }
  Expr each(Expr y, Expr t) const override {
    return -sum_features(power(1.0 - y, params.gamma) * (t * neon::apply("safelog", y)));
  }
};
NEON_REGISTER(Cost, Focal,
              "-sum t (1 - y)^gamma log y, for classes that exclude each other: samples that the net has right count "
              "little (Lin et al. 2017). class_weights are the alpha of the paper.",
              {"FocalLoss"});

struct FocalBinaryParams : FocalParams {
  double alpha = 0.25;
  static void describe(auto&& p) {
    FocalParams::describe(p);
    p("alpha", &FocalBinaryParams::alpha, "Weight of a yes; that of a no is 1 - alpha.", open(0, 1));
  }
};
struct FocalBinary : Parametrized<Cost, FocalBinaryParams> {
  using Parametrized::Parametrized;
  bool suits(TargetKind kind) const override { return kind != TargetKind::number; }
  std::string objection(int64_t outputs, int64_t classes, const std::string& last) const override {
    if (last != "logistic")
      return "FocalBinary takes outputs that each are yes or no; give the last layer activation: Logistic";
    return Cost::objection(outputs, classes, last);
  }
  // The cross-entropy stands in a form that on_logits() knows.
  Expr each(Expr y, Expr t) const override {
    const Expr entropy = -t * neon::apply("safelog", y) - (1.0 - t) * neon::apply("safelog", 1.0 - y);
    const Expr wrong = t * (1.0 - y) + (1.0 - t) * y, weight = (2 * params.alpha - 1) * t + (1 - params.alpha);
    return sum_features(weight * power(wrong, params.gamma) * entropy);
  }
};
NEON_REGISTER(
    Cost, FocalBinary,
    "-sum a (1 - p)^gamma [t log y + (1 - t) log(1 - y)], with p = t y + (1 - t)(1 - y) and a = alpha t + (1 - "
    "alpha)(1 - t), for outputs that each are yes or no (Lin et al. 2017).",
    {"SigmoidFocalLoss"});

struct SumSquaredParams {
  double scale = 1;
  static void describe(auto&& p) {
    p("scale", &SumSquaredParams::scale, "Factor of the gradient, not of the reported cost.", above(0));
  }
};
struct SumSquared : Parametrized<Cost, SumSquaredParams> {
  using Parametrized::Parametrized;
  bool suits(TargetKind kind) const override { return kind == TargetKind::number; }
  double gradient_scale() const override { return params.scale; }
  Expr each(Expr y, Expr t) const override { return 0.5 * sum_features(square(y - t)); }
};
NEON_REGISTER(Cost, SumSquared, "Half the sum of squared differences.", {"SumSquaredDiffs"});

struct MeanSquared : Parametrized<Cost, NoParams> {
  using Parametrized::Parametrized;
  bool suits(TargetKind kind) const override { return kind == TargetKind::number; }
  Expr each(Expr y, Expr t) const override {
    const double features = double(y.shape().elements()) / double(y.shape()[0]);
    return (0.5 / features) * sum_features(square(y - t));
  }
};
NEON_REGISTER(Cost, MeanSquared, "Half the mean of squared differences.");

struct SmoothL1LossParams {
  double sigma = 1;
  static void describe(auto&& p) { p("sigma", &SmoothL1LossParams::sigma, "Squared below 1 / sigma^2.", above(0)); }
};
struct SmoothL1Loss : Parametrized<Cost, SmoothL1LossParams> {
  using Parametrized::Parametrized;
  bool suits(TargetKind kind) const override { return kind == TargetKind::number; }
  Expr each(Expr y, Expr t) const override {
    return sum_features(neon::apply("smooth_l1", y - t, y.constant(params.sigma)));
  }
};
NEON_REGISTER(Cost, SmoothL1Loss,
              "Sum of sigma^2 d^2 / 2 where |d| < 1 / sigma^2, |d| - 1 / (2 sigma^2) elsewhere (Girshick 2015).");

struct SquareHingeLossParams {
  double margin = 1;
  static void describe(auto&& p) { p("margin", &SquareHingeLossParams::margin, "Distance asked for.", above(0)); }
};
struct SquareHingeLoss : Parametrized<Cost, SquareHingeLossParams> {
  using Parametrized::Parametrized;
  bool suits(TargetKind kind) const override { return kind != TargetKind::number; }
  Expr each(Expr y, Expr t) const override {
    Expr lacking = neon::apply("relu", params.margin - (2.0 * t - 1.0) * y);
    const double features = double(y.shape().elements()) / double(y.shape()[0]);
    return (1.0 / features) * sum_features(square(lacking));
  }
};
NEON_REGISTER(Cost, SquareHingeLoss, "Mean of max(0, margin - t' y)^2 with t' = 2 t - 1.");

}  // namespace

}  // namespace neon
