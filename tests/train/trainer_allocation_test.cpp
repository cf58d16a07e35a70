// A step of a run allocates nothing, with all that the trainer does around the program's: the batch, the rates, the
// results.
#include <catch2/catch.hpp>

#include "neon/spec/spec.h"
#include "neon/train/trainer.h"
#include "tests/support/allocations.h"
#include "tests/support/temp_folder.h"

using namespace neon;

namespace {

// 60 steps an epoch.
Spec spec_with(const std::string& optimizer, const std::string& more) {
  return spec_from_text(
      "dataset: {UniformRandom: {ntrain: 960, ntest: 16, nin: 20, nout: 4}}\n"
      "layers:\n"
      "  - Affine: {nout: 30, init: Kaiming, batch_norm: true, activation: Rectlin}\n"
      "  - Dropout: {keep: 0.8}\n"
      "  - Affine: {nout: 4, init: Kaiming, bias: {Constant: 0}, activation: Softmax}\n"
      "cost: CrossEntropyMulti\n"
      "batch_size: 16\n"
      "optimizer: " +
          optimizer + "\n" + more,
      "test.yaml");
}

// Of steps within an epoch.
long allocations(const std::string& optimizer, const std::string& dtype, const std::string& more = "",
                 const std::string& metrics_file = "") {
  const Spec spec = spec_with(optimizer, more);
  Experiment experiment(spec.root);
  RunOptions options;
  options.datatype = dtype;
  options.progress_bar = false;
  options.rng_seed = 1;
  options.backend = "cpu";
  options.output_file = metrics_file;
  Trainer trainer(experiment, experiment.params.dataset->load({}), options);
  trainer.steps().repeat(5);
  return neon_test::allocations_of([&] { trainer.steps().repeat(50); }).ours;
}

}  // namespace

TEST_CASE("fifty steps of a run allocate nothing") {
  const std::string momentum = "{GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9, schedule: Cosine}}";
  for (const char* dtype : {"f32", "f64", "bf16", "f16"}) {
    INFO(dtype);
    CHECK(allocations(momentum, dtype) == 0);
  }
  CHECK(allocations("Adam", "f32", "accumulate: 4\nema: 0.9\n") == 0);
  CHECK(allocations("{MultiOptimizer: {default: Adam, Bias: {RMSProp: {gradient_clip_norm: 1}}}}", "f32") == 0);
  CHECK(allocations("Adam", "f32", "shuffle: false\n") == 0);
  const TempFolder folder;
  CHECK(allocations("Adam", "f32", "callbacks: [Hist: {every: 1}]\n", folder / "run.h5") == 0);
  CHECK(allocations("Adam", "f16", "callbacks: [Hist: {every: 1}]\n", folder / "narrow.h5") == 0);
}
