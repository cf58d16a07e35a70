// Gradients of several steps together are the mean over their samples, also where a step is short.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "neon/spec/spec.h"
#include "neon/train/trainer.h"

using namespace neon;

namespace {

// Runs of so many steps of sequences, each step with the class 0 or 1; `labels` has a string of these for each
// sequence.
Spec spec_of_sequences(const std::vector<std::string>& labels, int64_t batch, int64_t accumulate, int64_t epochs) {
  const auto path = std::filesystem::temp_directory_path() / text("neon_accumulate_", getpid(), ".csv");
  std::ofstream file(path);
  file << "id,a,t\n";
  for (size_t i = 0; i < labels.size(); ++i)
    for (const char label : labels[i]) file << char('A' + i) << ",1," << (label == '0' ? 'u' : 'v') << "\n";
  return spec_from_text(
      text("dataset: {Sequences: {path: ", path.string(),
           ", id: id, target: t, each_step: true, test: 0, standardize: false}}\n"
           "layers: [Affine: {nout: 2, init: {Constant: 0}, bias: {Constant: 0}, activation: Softmax}]"
           "\ncost: CrossEntropyMulti\nshuffle: false\nbatch_size: ",
           batch, "\noptimizer: {GradientDescentMomentum: {learning_rate: 1}}\naccumulate: ", accumulate,
           "\nepochs: ", epochs, "\ndatatype: f64\n"),
      "test.yaml");
}

// A net that sees the same input in each step: its outputs are p and 1 - p by the difference d of its numbers, which
// are 0 at first. The mean cost over all steps, of which a share is of class 0, and the difference after an update.
struct TwoClasses {
  double d = 0;
  double cost(double share) const { return share * std::log1p(std::exp(-d)) + (1 - share) * std::log1p(std::exp(d)); }
  void update(double share) { d += 4 * (share - 1 / (1 + std::exp(-d))); }  // a weight and a bias for each class
};

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

TEST_CASE("steps that are accumulated count by the targets of their sequences") {
  // One sequence of 1 step, one of 5, one of 2 and one of 3: an update has two or four of them.
  const std::vector<std::string> labels = {"0", "11011", "10", "111"};
  const auto [batch, accumulate] = GENERATE(table<int64_t, int64_t>({{1, 2}, {1, 4}, {2, 1}, {2, 2}, {3, 2}, {4, 1}}));
  INFO(batch << " sequences, " << accumulate << " steps");
  Experiment experiment(spec_of_sequences(labels, batch, accumulate, 4).root);
  RunOptions options;
  options.progress_bar = false;
  options.backend = "cpu";
  const Data data = experiment.params.dataset->load({});
  Trainer trainer(experiment, data, options);
  const RunResult result = trainer.run();
  TwoClasses expected;
  int64_t zeros = 0, together = 0, steps = 0, of_epoch = 0;
  double sum = 0;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    sum = 0, of_epoch = 0;
    for (size_t first = 0; first < labels.size(); first += size_t(batch)) {
      int64_t zeros_now = 0, now = 0;
      for (size_t i = first; i < std::min(labels.size(), first + size_t(batch)); ++i)
        zeros_now += std::ranges::count(labels[i], '0'), now += int64_t(labels[i].size());
      sum += expected.cost(double(zeros_now) / double(now)) * double(now);
      zeros += zeros_now, together += now, of_epoch += now;
      if (++steps % accumulate) continue;
      expected.update(double(zeros) / double(together));
      zeros = together = 0;
    }
  }
  const Tensor& bias = trainer.variables().at("Affine_0_bias/b");
  CHECK(std::fabs(bias.at(0) - bias.at(1) - expected.d / 2) < 1e-12);
  CHECK(std::fabs(expected.d) > 0.1);
  CHECK(std::fabs(result.cost.value() - sum / double(of_epoch)) < 1e-12);
}
