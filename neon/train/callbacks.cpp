#include <cmath>
#include <cstring>
#include <set>

#include "neon/core/counted.h"
#include "neon/core/key_error.h"
#include "neon/core/message.h"
#include "neon/train/callback.h"
#include "neon/train/net_outputs.h"

namespace neon {

namespace {

struct EarlyStopParams {
  int64_t patience = 5;
  double min_delta = 0;
  std::string watch = "cost";
  bool restore_best = true;
  static void describe(auto&& p) {
    p("patience", &EarlyStopParams::patience, "Evaluations without improvement after which the run ends.", at_least(1));
    p("min_delta", &EarlyStopParams::min_delta, "Smallest change that counts as an improvement.", at_least(0));
    p("watch", &EarlyStopParams::watch,
      "Result to watch: cost, or a metric by its name in the results, as in watch: Top1Misclass. The metric decides "
      "whether less or more is better.");
    p("restore_best", &EarlyStopParams::restore_best,
      "Ends the run with the weights of its best evaluation; the lower cost decides between equal ones.");
  }
};

// Ends a run that no longer gets better. The best weights are restored at the end of the run however it ends: also
// when the epochs ran out before the patience did.
class EarlyStop : public Parametrized<Callback, EarlyStopParams> {
 public:
  using Parametrized::Parametrized;
  bool needs_evaluation() const override { return true; }

  void plan(RunPlan& plan) override {
    std::set<std::string> names = {"cost"};
    for (const Metric::Result& result : plan.results) {
      names.insert(result.name);
      if (result.name == params.watch) rises_ = result.better == Metric::Better::higher;
    }
    if (names.count(params.watch)) return;
    const std::vector<std::string> evaluated(names.begin(), names.end());
    fail_about("callbacks", "EarlyStop watches '", params.watch, "', which is not evaluated",
               did_you_mean(params.watch, evaluated), " (evaluated: ", list_text(evaluated), ")");
  }

  void epoch_end(EpochEnd& end) override {
    if (end.results.empty()) return;
    const double watched = end.results.at(params.watch), now = rises_ ? -watched : watched;
    const double cost = end.results.at("cost");
    if (std::isnan(best_) || now < best_ - params.min_delta) {
      waited_ = 0;
      note_best(end, now, cost);
      return;
    }
    if (now == best_ && cost < best_cost_) note_best(end, now, cost);  // the run still waits for an improvement
    if (++waited_; ended_run())
      end.message =
          text("stopped early: ", params.watch, " has not improved for ", counted(params.patience, "evaluation"));
  }

  bool ended_run() const override { return waited_ >= double(params.patience); }

  // A run that goes on after its end (resume -e) goes on with the last weights, not the best.
  void train_begin(Variables& variables) override {
    for (const auto& [name, tensor] : kept_) check_kept(name, tensor, variables);
    if (restored_) exchange(variables);
    if (!params.restore_best) kept_.clear();
  }

  void train_end(Variables& variables, std::string& message) override {
    if (kept_.empty() || restored_) return;
    exchange(variables);
    message = text("restored the weights of epoch ", int64_t(best_epoch_), ", the best by ", params.watch);
  }

  std::string subject() const override { return params.watch; }
  std::map<std::string, double> state() const override {
    return {{"best", best_},
            {"best_cost", best_cost_},
            {"epoch", best_epoch_},
            {"waited", waited_},
            {"restored", double(restored_)}};
  }
  void restore(const std::map<std::string, double>& state) override {
    best_ = state.at("best");
    const auto cost = state.find("best_cost");  // older checkpoints have none
    best_cost_ = cost == state.end() ? NAN : cost->second;
    best_epoch_ = state.at("epoch");
    waited_ = state.at("waited");
    restored_ = state.at("restored") != 0;
  }
  std::map<std::string, Tensor> arrays() const override { return kept_; }
  void restore_arrays(const std::map<std::string, Tensor>& arrays) override { kept_ = arrays; }

 private:
  // A checkpoint may have been changed.
  static void check_kept(const std::string& name, const Tensor& tensor, const Variables& variables) {
    if (!variables.has(name))
      fail(ErrorKind::data, "the checkpoint has weights for EarlyStop to restore, and the net has no ", name,
           "; go on from another checkpoint");
    const Tensor& here = variables.at(name);
    if (tensor.shape() != here.shape() || tensor.dtype() != here.dtype())
      fail(ErrorKind::data, "the checkpoint has ", name, " for EarlyStop to restore as ", tensor.dtype(), " ",
           tensor.shape(), ", and the net as ", here.dtype(), " ", here.shape(), "; go on from another checkpoint");
  }
  void note_best(const EpochEnd& end, double now, double cost) {
    best_ = now, best_cost_ = cost;
    best_epoch_ = double(end.epoch);
    if (params.restore_best)
      for (const auto& [name, tensor] : end.variables.all()) keep(name, tensor);
  }
  void keep(const std::string& name, const Tensor& tensor) {
    Tensor& copy = kept_[name];
    if (copy.empty()) copy = tensor.clone();
    else if (tensor.bytes()) std::memcpy(copy.data(), tensor.data(), tensor.bytes());
  }
  // The kept values and the net's change places, so that neither is lost.
  void exchange(Variables& variables) {
    for (auto& [name, tensor] : kept_) {
      Tensor& here = variables.at(name);
      const Tensor former = here.clone();
      if (tensor.bytes()) std::memcpy(here.data(), tensor.data(), tensor.bytes());
      tensor = former;
    }
    restored_ = !restored_;
  }
  bool rises_ = false;  // what it watches, of a net that gets better
  double best_ = NAN, best_cost_ = NAN, best_epoch_ = 0, waited_ = 0;
  bool restored_ = false;  // kept_ holds the last weights, the net the best
  std::map<std::string, Tensor> kept_;
};
NEON_REGISTER(Callback, EarlyStop,
              "Ends the run when the evaluation no longer improves, and restores the best weights.");

struct GANPlotParams {
  std::string filename = "made.png";
  int64_t num_samples = 64, every = 1;
  static void describe(auto&& p) {
    p("filename", &GANPlotParams::filename,
      "PNG file to draw in the folder in which the run is started. An earlier sheet is replaced, another file is not.");
    p("num_samples", &GANPlotParams::num_samples, "Images on the sheet.", closed(1, 10'000));
    p("every", &GANPlotParams::every, "Epochs between drawings.", at_least(1));
  }
};

class GANPlot : public Parametrized<Callback, GANPlotParams> {
 public:
  explicit GANPlot(GANPlotParams given) : Parametrized(std::move(given)) {
    if (params.filename.find('/') != std::string::npos || !params.filename.ends_with(".png"))
      fail(ErrorKind::config, "filename is ", in_quotes(params.filename),
           "; expected a name that ends with .png, without a folder");
  }
  bool needs_generator() const override { return true; }
  void epoch_end(EpochEnd& end) override {
    if (end.epoch % params.every) return;
    end.sheet = params.filename;
    end.sheet_images = params.num_samples;
  }
};
NEON_REGISTER(Callback, GANPlot,
              "Draws images that the generator makes, of the same noise each time, on a sheet after epochs.");

}  // namespace

void check_callbacks(const std::vector<Made<Callback>>& callbacks, const Setting* given, Problems& problems) {
  for (size_t k = 0; k < callbacks.size(); ++k)
    for (size_t i = 0; i < k; ++i) {
      if (!callbacks[k] || !callbacks[i]) continue;
      const std::string name = class_name_of(callbacks[k]);
      if (name != class_name_of(callbacks[i]) || callbacks[k]->subject() != callbacks[i]->subject()) continue;
      problems.add(given->is_list() && k < given->items.size() ? given->items[k] : *given,
                   text(name, " is given twice; leave one out"));
      return;
    }
}

}  // namespace neon
