#include <cmath>
#include <cstring>

#include "neon/train/callback.h"

namespace neon {

namespace {

struct EarlyStopParams {
  int64_t patience = 5;
  double min_delta = 0;
  std::string watch = "cost";
  bool restore_best = true;
  static void describe(auto&& p) {
    p("patience", &EarlyStopParams::patience, "Evaluations without improvement after which the run ends.", at_least(1));
    p("min_delta", &EarlyStopParams::min_delta, "Smallest change that counts as one.", at_least(0));
    p("watch", &EarlyStopParams::watch,
      "What should fall: cost, or a metric's name (Accuracy, Precision and Recall should rise).");
    p("restore_best", &EarlyStopParams::restore_best, "Whether the run ends with the weights of its best evaluation.");
  }
};

// Ends a run that no longer gets better. The best weights are restored at the end of the run however it ends: also
// when the epochs ran out before the patience did.
class EarlyStop : public Parametrized<Callback, EarlyStopParams> {
 public:
  using Parametrized::Parametrized;
  bool needs_evaluation() const override { return true; }

  void epoch_end(EpochEnd& end) override {
    if (end.results.empty()) return;
    const auto found = end.results.find(params.watch);
    if (found == end.results.end()) {
      std::vector<std::string> names;
      for (const auto& [name, value] : end.results) names.push_back(name);
      fail(ErrorKind::config, "EarlyStop watches '", params.watch, "', which is not evaluated",
           did_you_mean(params.watch, names), " (evaluated: ", join(names, ", "), ")");
    }
    const bool rises = params.watch == "Accuracy" || params.watch == "Precision" || params.watch == "Recall";
    const double now = rises ? -found->second : found->second;
    if (std::isnan(best_) || now < best_ - params.min_delta) {
      best_ = now;
      best_epoch_ = double(end.epoch);
      waited_ = 0;
      if (params.restore_best)
        for (const auto& [name, tensor] : end.variables.all()) keep(name, tensor);
    } else if (++waited_ >= double(params.patience)) {
      end.stop = true;
      end.message = text("stopped early: ", params.watch, " has not improved for ", params.patience, " evaluations");
    }
  }

  void train_end(Variables& variables, std::string& message) override {
    if (kept_.empty()) return;
    for (const auto& [name, tensor] : kept_)
      if (variables.has(name) && tensor.bytes()) std::memcpy(variables.at(name).data(), tensor.data(), tensor.bytes());
    message = text("restored the weights of epoch ", int64_t(best_epoch_), ", the best by ", params.watch);
  }

  std::map<std::string, double> state() const override {
    return {{"best", best_}, {"epoch", best_epoch_}, {"waited", waited_}};
  }
  void restore(const std::map<std::string, double>& state) override {
    best_ = state.at("best");
    best_epoch_ = state.at("epoch");
    waited_ = state.at("waited");
  }
  std::map<std::string, Tensor> arrays() const override { return kept_; }
  void restore_arrays(const std::map<std::string, Tensor>& arrays) override { kept_ = arrays; }

 private:
  void keep(const std::string& name, const Tensor& tensor) {
    Tensor& copy = kept_[name];
    if (copy.empty()) copy = tensor.clone();
    else if (tensor.bytes()) std::memcpy(copy.data(), tensor.data(), tensor.bytes());
  }
  double best_ = NAN, best_epoch_ = 0, waited_ = 0;
  std::map<std::string, Tensor> kept_;
};
NEON_REGISTER(Callback, EarlyStop,
              "Ends the run when the evaluation no longer improves, and restores the best weights.");

}  // namespace

}  // namespace neon
