// EarlyStop by what rises and by what falls, of whatever name: the weights that it restores are those of the epoch
// whose evaluation the metrics file has as the best.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "neon/spec/spec.h"
#include "neon/train/checkpoint.h"
#include "neon/train/metrics_file.h"
#include "neon/train/trainer.h"
#include "tests/support/temp_folder.h"

using namespace neon;

namespace {

// The evaluations of a run that ends with its best weights, and in `last` that of those.
std::vector<double> evaluations(const std::string& watch, double& last, const std::string& datatype = "f32",
                                const std::string& rate = "0.05") {
  const Spec spec = spec_from_text(
      "dataset: Iris\n"
      "layers:\n"
      "  - Affine: {nout: 6, init: Kaiming, activation: Tanh}\n"
      "  - Affine: {nout: 3, init: Kaiming, bias: {Constant: 0}, activation: Softmax}\n"
      "cost: CrossEntropyMulti\n"
      "metrics: [Accuracy, Misclassification, MultiMetric: {metric: Accuracy, index: 0},\n"
      "  MultiMetric: {metric: Misclassification, index: 0}, MultiMetric: {metric: PrecisionRecall, index: 0}]\n"
      "optimizer: {GradientDescentMomentum: {learning_rate: " +
          rate +
          ", momentum_coef: 0.9}}\n"
          "callbacks: [EarlyStop: {patience: 99, watch: " +
          watch + "}]\nbatch_size: 32\nepochs: 8\nrng_seed: 11\n",
      "test.yaml");
  const TempFolder folder;
  Experiment experiment(spec.root);
  RunOptions options;
  options.output_file = folder / "run.h5";
  options.progress_bar = false;
  options.datatype = datatype;
  Trainer trainer(experiment, experiment.params.dataset->load({}), options);
  last = trainer.run().results.at(watch);
  const MetricsContents metrics = read_metrics(options.output_file);
  return metrics.find(watch == "cost" ? "cost/loss" : "metrics/" + watch)->values;
}

struct Looker : Parametrized<Callback, NoParams> {
  using Parametrized::Parametrized;
  bool needs_evaluation() const override { return true; }
};
NEON_REGISTER(Callback, Looker, "Needs an evaluation, and does nothing with it.");

}  // namespace

TEST_CASE("a callback that needs an evaluation which there is not is named") {
  const Spec spec = spec_from_text(
      "dataset: Iris\nlayers: [Affine: {nout: 3, init: Kaiming, activation: Softmax}]\ncost: CrossEntropyMulti\n"
      "optimizer: Adam\ncallbacks: [Looker]\n",
      "test.yaml");
  const Experiment experiment(spec.root);
  const StepGraph graph;
  RunPlan plan{.graph = graph};
  CHECK_THROWS_WITH(plan_callbacks(experiment, false, plan),
                    "callbacks: Looker needs an evaluation, but the data set has no test samples; validation: N keeps "
                    "training samples apart for it");
}

TEST_CASE("the best epoch is that of the highest accuracy and of the lowest error") {
  const std::pair<const char*, bool> cases[] = {{"cost", false},           {"Accuracy", true},
                                                {"Top1Misclass", false},   {"Accuracy_0", true},
                                                {"Top1Misclass_0", false}, {"Precision_0", true}};
  for (const auto& [watch, rises] : cases) {
    INFO(watch);
    double last = NAN;
    const std::vector<double> values = evaluations(watch, last);
    const auto [least, most] = std::ranges::minmax(values);
    REQUIRE(values.size() == 8);
    REQUIRE(most > least + 0.01);
    CHECK(std::abs(last - (rises ? most : least)) < 1e-6);
  }
}

TEST_CASE("in 16 bits it is the net of the best epoch that is evaluated at the end") {
  for (const std::string datatype : {"bf16", "f16"}) {
    INFO(datatype);
    double last = NAN;
    const std::vector<double> values = evaluations("cost", last, datatype, "1.5");
    const double best = *std::ranges::min_element(values);
    REQUIRE(values.back() > best + 0.01);
    CHECK(std::abs(last - best) < 1e-6);
  }
}

TEST_CASE("what is not evaluated is an error that names what is") {
  double last = NAN;
  CHECK_THROWS_WITH(evaluations("Acuracy_0", last),
                    Catch::Contains("EarlyStop watches 'Acuracy_0', which is not evaluated; did you mean Accuracy_0"));
}

namespace {

// A run that ends after so many epochs, or goes on from another; as it is saved.
StoredRun saved_run(const std::string& callbacks, int64_t epochs, const StoredRun* from = nullptr) {
  const Spec spec = spec_from_text(
      "dataset: Iris\n"
      "layers: [Affine: {nout: 3, init: Kaiming, activation: Softmax}]\n"
      "cost: CrossEntropyMulti\n"
      "metrics: [Accuracy]\n"
      "optimizer: {GradientDescentMomentum: {learning_rate: 0.02, momentum_coef: 0.9}}\n"
      "callbacks: " +
          callbacks + "\nbatch_size: 32\nrng_seed: 11\n",
      "test.yaml");
  const TempFolder folder;
  Experiment experiment(spec.root);
  RunOptions options;
  options.save_path = folder / "run.safetensors";
  options.progress_bar = false;
  options.epochs = epochs;
  Trainer(experiment, experiment.params.dataset->load({}), options, from).run();
  std::vector<std::string> warnings;
  return unpack_run(load_checkpoint(options.save_path, warnings), options.save_path);
}

bool same_weights(const StoredRun& a, const StoredRun& b) {
  const Tensor &x = *a.file.find("Affine_0/W"), &y = *b.file.find("Affine_0/W");
  return std::memcmp(x.data(), y.data(), x.bytes()) == 0;
}

std::string states(const StoredRun& run) { return run.file.metadata.at("neon.callbacks"); }

}  // namespace

TEST_CASE("without the callback that stopped it, a run goes on as if it had not been there") {
  const StoredRun stopped = saved_run("[EarlyStop: {patience: 1, min_delta: 9}]", 6);
  REQUIRE(stopped.position.epoch == 2);
  REQUIRE(!same_weights(stopped, saved_run("[]", 2)));  // the best are those of epoch 1
  CHECK(same_weights(saved_run("[]", 6, &stopped), saved_run("[]", 6)));
  CHECK(same_weights(saved_run("[EarlyStop: {patience: 9, min_delta: 9, restore_best: false}]", 6, &stopped),
                     saved_run("[]", 6)));
}

TEST_CASE("what several callbacks did to the weights at the end of a run is undone, whichever go on") {
  // The best by cost is of another epoch than the best by accuracy, and both of others than the last.
  const std::string cost = "EarlyStop: {patience: 99, watch: cost}",
                    some = "EarlyStop: {patience: 99, watch: Accuracy}";
  const StoredRun ended = saved_run(text("[", cost, ", ", some, "]"), 6), straight = saved_run("[]", 9);
  REQUIRE(ended.file.find("callback/0/Affine_0/W"));
  const auto differ = [&](const char* a, const char* b) {
    const Tensor &x = *ended.file.find(a), &y = *ended.file.find(b);
    return std::memcmp(x.data(), y.data(), x.bytes()) != 0;
  };
  REQUIRE(differ("Affine_0/W", "callback/0/Affine_0/W"));
  REQUIRE(differ("Affine_0/W", "callback/1/Affine_0/W"));
  REQUIRE(differ("callback/0/Affine_0/W", "callback/1/Affine_0/W"));
  const std::string kept = "EarlyStop: {patience: 99, restore_best: false, watch: ";
  for (const std::string& after : {std::string("[]"), text("[", kept, "cost}]"), text("[", kept, "Accuracy}]"),
                                   text("[", kept, "Accuracy}, ", kept, "cost}]")}) {
    INFO(after);
    CHECK(same_weights(saved_run(after, 9, &ended), straight));
  }
}

TEST_CASE("a callback goes on where the one of its name left off, whatever stands before it") {
  const char* const patient = "EarlyStop: {patience: 9, min_delta: 9}";
  const StoredRun first = saved_run(text("[", patient, "]"), 3);
  const std::string after = states(saved_run(text("[Hist, ", patient, "]"), 4, &first));
  const std::string straight = states(saved_run(text("[", patient, "]"), 4));
  CHECK(after == text("[{},", straight.substr(1)));
}

TEST_CASE("a callback that watches something else begins anew") {
  const StoredRun first = saved_run("[EarlyStop: {patience: 9, watch: Accuracy}]", 3);
  const StoredRun more = saved_run("[EarlyStop: {patience: 9, watch: cost}]", 4, &first);
  INFO(states(first) << " then " << states(more));
  CHECK(states(first).find("\"best\":\"-") != std::string::npos);  // of what rises, its negative
  CHECK(states(more).find("\"best\":\"-") == std::string::npos);
  CHECK(states(more).find("\"epoch\":\"4\"") != std::string::npos);
}
