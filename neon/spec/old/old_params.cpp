// Initializers, activations and costs of neon 0.9.
#include <algorithm>

#include "neon/spec/old/old_translation.h"

namespace neon {

namespace {

// A layer reads bias_init; islocal was 0.8's.
OldKeys initializer_keys(OldKeys own) {
  return own + OldKeys{old_read("bias_init"), old_idle("islocal", "the layer knows whether it is local")};
}

void widen_orthonormal(OldTranslation& translation, const OldObject& object, OldResult& out) {
  const bool relu = translation.truth_of(object, "relu", false);
  out.set("scale", Setting::scalar(relu ? "1.4142135623730951" : "1", object.where_of("relu")));
}

void train_identity(OldTranslation&, const OldObject& object, OldResult& out) {
  out.set("frozen", Setting::scalar("false", object.node.where()));
  out.set("matrix", Setting::scalar("true", object.node.where()));
}

const OldClasses initializers(std::vector<OldClass>{
    {"params.UniformValGen", "initializer", "Uniform", initializer_keys({old_value("low"), old_value("high")})},
    {"params.AutoUniformValGen", "initializer", "AutoUniform",
     initializer_keys({old_value("relu"), old_idle("scale", "0.9 did not read it here")}), nullptr,
     "AutoUniform: evenly within 1/sqrt(fan_in), times sqrt(2) with relu; fan_in is C R S of filters, nin of a linear "
     "layer"},
    {"params.GaussianValGen", "initializer", "Gaussian", initializer_keys({old_value("loc"), old_value("scale")})},
    {"params.NormalValGen", "initializer", "Gaussian", initializer_keys({old_value("loc"), old_value("scale")})},
    {"params.NodeNormalizedValGen", "initializer", "NodeNormalized", initializer_keys({old_value("scale")}), nullptr,
     "NodeNormalized: evenly within scale sqrt(6 / (rows + columns)) of 0.9's weight matrix"},
    {"params.SparseEigenValGen", "initializer", "SparseEigen",
     initializer_keys({old_value("sparseness"), old_value("eigenvalue")})},
    {"params.OrthoNormalizedValGen", "initializer", "Orthonormal", initializer_keys({old_read("relu")}),
     widen_orthonormal},
    {"params.IdentityValGen", "initializer", "IdentityInit", initializer_keys({old_value("scale")}), train_identity},
});

const OldClasses activations(std::vector<OldClass>{
    {"transforms.Linear", "activation", "Identity", {}},
    {"transforms.RectLin", "activation", "Rectlin", {}},
    {"transforms.RectLeaky", "activation", "RectLeaky", {old_value("slope")}},
    {"transforms.Logistic", "activation", "Logistic", {}},
    {"transforms.Tanh", "activation", "Tanh", {}},
    {"transforms.Softmax", "activation", "Softmax", {}},
});

// 0.9 chose the formula by the activation before the cost.
void choose_cross_entropy(OldTranslation& translation, const OldObject& object, OldResult& out) {
  const bool multi = translation.activation == "Softmax";
  constexpr std::string_view kUnbounded[] = {"Identity", "Tanh", "Rectlin", "RectLeaky"};
  if (std::ranges::count(kUnbounded, translation.activation))
    return translation.problem(
        object.node.where(),
        text("CrossEntropy after ", translation.activation == "Identity" ? "no activation" : translation.activation,
             ": it takes outputs between 0 and 1, where 0.9 clipped others; give the layer before it "
             "transforms.Logistic or transforms.Softmax"));
  out.name = multi ? "CrossEntropyMulti" : "CrossEntropyBinary";
  translation.remark(
      object.node.where(),
      multi ? "CrossEntropy after Softmax: the sum of -t log y"
            : text("CrossEntropy after ", translation.activation.empty() ? "no activation" : translation.activation,
                   ": the sum over all outputs of -t log y - (1 - t) log(1 - y), so a cost near nout ln 2 is usual at "
                   "first"));
  if (!translation.truth_of(object, "shortcut_deriv", true))
    translation.remark(object.where_of("shortcut_deriv"),
                       "shortcut_deriv is left out: cost and activation are always derived together, which is exact");
}

void remark_scale(OldTranslation& translation, const OldObject& object, OldResult&) {
  if (object.find("scale"))
    translation.remark(object.where_of("scale"),
                       translation.reconstruct
                           ? "weight: the factor of one of several costs, in the gradient and in the printed sum"
                           : "scale multiplies the gradient; 0.9 multiplied the printed cost, too");
}

void finish_cross_entropy(OldTranslation& translation, const OldObject& object, OldResult& out) {
  choose_cross_entropy(translation, object, out);
  remark_scale(translation, object, out);
}

void finish_squares(OldTranslation& translation, const OldObject& object, OldResult& out) {
  remark_scale(translation, object, out);
  if (translation.activation == "Softmax")
    translation.remark(object.node.where(),
                       "SumSquaredDiffs after Softmax: the gradient is complete; 0.9 left Softmax's derivative out");
}

const OldKey kCostType = old_idle("backend_type", "a cost has the type of the net");

const OldClasses costs(std::vector<OldClass>{
    {"transforms.CrossEntropy",
     "cost",
     "CrossEntropyBinary",
     {old_value("scale"), old_read("shortcut_deriv"), kCostType,
      old_idle("epsilon", "the logarithm is computed from the input of Softmax or Logistic, where nothing overflows"),
      old_idle("olayer_data", "the cost compares the net's output")},
     finish_cross_entropy},
    {"transforms.SumSquaredDiffs", "cost", "SumSquared", {old_value("scale"), kCostType}, finish_squares},
});

}  // namespace

}  // namespace neon
