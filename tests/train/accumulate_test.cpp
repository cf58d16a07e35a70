// Gradients of several steps together are the mean over their samples, also where a step is short.
#include <catch2/catch.hpp>
#include <cmath>

#include "neon/spec/spec.h"
#include "neon/train/trainer.h"

using namespace neon;

namespace {

constexpr int64_t kSamples = 11, kAtOnce = 4, kFeatures = 3;
constexpr double kRate = 0.0625;

// y = W x, and the target is x: the gradient of half the squared difference is (W x - x) x^T for each sample.
Spec spec_with(int64_t accumulate, int64_t epochs) {
  return spec_from_text(text("dataset: {UniformRandom: {ntrain: ", kSamples, ", ntest: 0, nin: ", kFeatures,
                             ", nout: 0}}\nlayers: [Linear: {nout: ", kFeatures,
                             ", init: Kaiming}]\ncost: SumSquared\nshuffle: false\nbatch_size: ", kAtOnce,
                             "\noptimizer: {GradientDescentMomentum: {learning_rate: ", kRate,
                             "}}\naccumulate: ", accumulate, "\nepochs: ", epochs, "\nrng_seed: 3\ndatatype: f64\n"),
                        "test.yaml");
}

// w (K,C) after the samples from `first` on have been one batch of `count`.
void update(Tensor& w, const Tensor& x, int64_t first, int64_t count) {
  Tensor gradient(DType::f64, w.shape());
  for (int64_t i = first; i < first + count; ++i)
    for (int64_t k = 0; k < kFeatures; ++k) {
      const int64_t row = i % kSamples * kFeatures;
      double error = -x.at(row + k);
      for (int64_t c = 0; c < kFeatures; ++c) error += w.at(k * kFeatures + c) * x.at(row + c);
      for (int64_t c = 0; c < kFeatures; ++c) {
        const int64_t at = k * kFeatures + c;
        gradient.set(at, gradient.at(at) + error * x.at(row + c) / double(count));
      }
    }
  for (int64_t at = 0; at < w.elements(); ++at) w.set(at, w.at(at) - kRate * gradient.at(at));
}

}  // namespace

TEST_CASE("steps that are accumulated count by their samples") {
  // Batches of 4, 4 and 3, of which two or three are together, within an epoch or from one into the next.
  const int64_t accumulate = GENERATE(2, 3, 4), epochs = 4;
  INFO(accumulate << " steps");
  const Spec spec = spec_with(accumulate, epochs);
  Experiment experiment(spec.root);
  RunOptions options;
  options.progress_bar = false;
  options.backend = "cpu";
  const Data data = experiment.params.dataset->load({});
  Trainer trainer(experiment, data, options);
  Tensor expected = trainer.variables().at("Linear_0/W").clone();
  const Tensor start = expected.clone();
  trainer.run();
  int64_t first = 0, count = 0;
  for (int64_t step = 0; step < epochs * 3; ++step) {
    count += step % 3 == 2 ? 3 : kAtOnce;
    if ((step + 1) % accumulate) continue;
    update(expected, data.train.inputs, first, count);
    first += count, count = 0;
  }
  double moved = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    CHECK(std::fabs(trainer.variables().at("Linear_0/W").at(i) - expected.at(i)) < 1e-14);
    moved = std::max(moved, std::fabs(expected.at(i) - start.at(i)));
  }
  CHECK(moved > 0.01);
}
