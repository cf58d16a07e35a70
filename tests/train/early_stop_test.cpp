// EarlyStop by what rises and by what falls, of whatever name: the weights that it restores are those of the epoch
// whose evaluation the metrics file has as the best.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "neon/spec/spec.h"
#include "neon/train/metrics_file.h"
#include "neon/train/trainer.h"
#include "tests/train/temp_folder.h"

using namespace neon;

namespace {

// The evaluations of a run that ends with its best weights, and in `last` that of those.
std::vector<double> evaluations(const std::string& watch, double& last) {
  const Spec spec = spec_from_text(
      "dataset: Iris\n"
      "layers:\n"
      "  - Affine: {nout: 6, init: Kaiming, activation: Tanh}\n"
      "  - Affine: {nout: 3, init: Kaiming, bias: {Constant: 0}, activation: Softmax}\n"
      "cost: CrossEntropyMulti\n"
      "metrics: [Accuracy, Misclassification, MultiMetric: {metric: Accuracy, index: 0},\n"
      "  MultiMetric: {metric: Misclassification, index: 0}, MultiMetric: {metric: PrecisionRecall, index: 0}]\n"
      "optimizer: {GradientDescentMomentum: {learning_rate: 0.05, momentum_coef: 0.9}}\n"
      "callbacks: [EarlyStop: {patience: 99, watch: " +
          watch + "}]\nbatch_size: 32\nepochs: 8\nrng_seed: 11\n",
      "test.yaml");
  const TempFolder folder;
  Experiment experiment(spec.root);
  RunOptions options;
  options.output_file = folder / "run.h5";
  options.progress_bar = false;
  Trainer trainer(experiment, experiment.params.dataset->load({}), options);
  last = trainer.run().results.at(watch);
  const MetricsContents metrics = read_metrics(options.output_file);
  return metrics.find(watch == "cost" ? "cost/loss" : "metrics/" + watch)->values;
}

}  // namespace

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

TEST_CASE("what is not evaluated is an error that names what is") {
  double last = NAN;
  CHECK_THROWS_WITH(evaluations("Acuracy_0", last),
                    Catch::Contains("EarlyStop watches 'Acuracy_0', which is not evaluated; did you mean Accuracy_0"));
}
