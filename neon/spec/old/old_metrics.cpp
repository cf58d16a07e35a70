// Metrics of neon 0.9.
#include "neon/spec/old/old_translation.h"

namespace neon {

namespace {

OldKeys metric_keys(OldKeys own) { return own + OldKeys{old_idle("epoch_interval", "0.9 did not read it")}; }

// Top-1 is a metric of its own, top-k comes with two others.
void choose_misclassification(OldTranslation& translation, const OldObject& object, OldResult& out) {
  const auto rank = translation.whole_of(object, "error_rank");
  if (!rank || *rank == 1) return;
  out.name = "TopKMisclassification";
  out.set("k", object.find("error_rank")->scalar());
}

// 0.9 took class 1 of any number of classes.
void choose_positive_class(OldTranslation&, const OldObject& object, OldResult& out) {
  if (!object.find("pos_label")) out.set("pos_label", Setting::scalar("1"));
}

const OldClasses metrics(std::vector<OldClass>{
    {"metrics.MisclassPercentage", "metric", "Misclassification", metric_keys({old_read("error_rank")}),
     choose_misclassification},
    {"metrics.MisclassRate", "metric", "Misclassification", metric_keys({old_read("error_rank")}),
     choose_misclassification},
    {"metrics.MisclassSum", "metric", "MisclassSum", metric_keys({old_value("error_rank", "k")})},
    {"metrics.AUC", "metric", "AUC", metric_keys({old_value("pos_label")}), choose_positive_class},
    {"metrics.LogLossSum", "metric", "LogLossSum", metric_keys({old_value("eps")})},
    {"metrics.LogLossMean", "metric", "LogLossMean", metric_keys({old_value("eps")})},
    {"metrics.SSE", "metric", "SSE", metric_keys({})},
    {"metrics.MSE", "metric", "MSE", metric_keys({})},
});

}  // namespace

}  // namespace neon
