// A run that is stopped at any step and goes on ends in the very bits of a run that was not: every optimizer, every
// type, with dropout, batch norm, learned and drawn slopes, running means, callbacks and a metrics file. The signal is
// raised by a schedule of the test, in the middle of the step that it counts.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <set>

#include "tests/train/stopped_runs.h"

using namespace neon;
using namespace neon_test;

namespace {

NEON_REGISTER(Schedule, Stopping, "Falls, and stops the run of a test.");

constexpr int64_t kEpochs = 3, kStepsPerEpoch = 4, kSteps = kEpochs * kStepsPerEpoch;

// 120 samples in batches of 32: the fourth of an epoch is short.
Spec spec_with(const std::string& optimizer, const std::string& more = "", const std::string& activation = "Tanh") {
  return spec_from_text(
      "dataset: Iris\n"
      "layers:\n"
      "  - Affine: {nout: 6, init: Kaiming, batch_norm: true, activation: " +
          activation +
          "}\n"
          "  - Dropout: {keep: 0.8}\n"
          "  - Affine: {nout: 3, init: Kaiming, bias: {Constant: 0}, activation: Softmax}\n"
          "cost: CrossEntropyMulti\n"
          "batch_size: 32\n"
          "epochs: 3\n"
          "rng_seed: 11\n"
          "optimizer: " +
          optimizer + "\n" + more,
      "test.yaml");
}

std::vector<std::string> optimizers() {
  std::vector<std::string> out;
  for (const Category& category : categories())
    if (category.name == "optimizer")
      for (const EntryInfo* entry : category.entries)
        if (entry->name != "MultiOptimizer")
          out.push_back(entry->name + (entry->schema().find("learning_rate") ? ": {learning_rate: 0.01, " : ": {") +
                        "schedule: Stopping}");
  REQUIRE(out.size() >= 7);
  out.push_back("GradientDescentMomentum: {learning_rate: 0.01, momentum_coef: 0.9, schedule: Stopping}");
  out.push_back(
      "GradientDescentMomentum: {learning_rate: 0.01, momentum_coef: 0.9, nesterov: true, gradient_clip_norm: 0.1, "
      "schedule: Stopping}");
  out.push_back(
      "MultiOptimizer: {default: {Adam: {schedule: Stopping}}, Bias: {RMSProp: {}}, "
      "Affine_0: {GradientDescentMomentum: {learning_rate: 0.05, momentum_coef: 0.5}}}");
  return out;
}

// A callback without parameters here fails.
std::string every_callback() {
  const std::map<std::string, std::string> parameters = {{"EarlyStop", "patience: 9"},
                                                         {"Hist", "every: 3, tensors: [W, db]"},
                                                         {"BatchNormTune", ""},
                                                         {"GradientNorm", "every: 2"}};
  // Those that need a net of another kind or write files of their own: gan_test.py of tests/mirror, multicost_test.py,
  // guided_backprop_test.py, tensor_board_test.py and run_folder_test.py of tests/cli have them.
  const std::set<std::string> elsewhere = {"GANPlot", "TrainMulticost", "GuidedBackprop", "TensorBoard",
                                           "SaveBestState"};
  std::vector<std::string> out;
  for (const auto& entry : Registry<Callback>::get().entries()) {
    INFO(entry->name);
    if (elsewhere.count(entry->name)) continue;
    REQUIRE(parameters.count(entry->name));
    out.push_back(entry->name + ": {" + parameters.at(entry->name) + "}");
  }
  return "callbacks: [" + join(out, ", ") + "]\n";
}

}  // namespace

TEST_CASE("every optimizer goes on to the same bits in every type, wherever it is stopped") {
  for (const std::string& optimizer : optimizers())
    for (const std::string dtype : {"f32", "f64", "bf16", "f16"}) {
      INFO(optimizer << " " << dtype);
      const Spec spec = spec_with("{" + optimizer + "}");
      Runs runs(spec, dtype);
      CHECK(runs.run("straight", -1, false).signal == 0);
      const StoredRun straight = runs.load("straight");
      REQUIRE(straight.position.step == kSteps);
      // One run, stopped in each of these steps and gone on with.
      for (const int64_t stop : {0, 1, 3, 6, 10}) {
        INFO("stopped in step " << stop);
        REQUIRE(runs.run("stopped", stop, stop > 0).signal == SIGTERM);
        REQUIRE(runs.load("stopped").position.step == stop + 1);
      }
      REQUIRE(runs.run("stopped", -1, true).signal == 0);
      check_same(straight, runs.load("stopped"));
    }
}

TEST_CASE("slopes that are learned or drawn go on as they were") {
  for (const std::string activation : {"PReLU", "RReLU"})
    for (const std::string dtype : {"f32", "bf16"}) {
      INFO(activation << " " << dtype);
      const Spec spec = spec_with("{Adam: {learning_rate: 0.05, schedule: Stopping}}", "ema: 0.7\n", activation);
      Runs runs(spec, dtype);
      runs.run("straight", -1, false);
      const StoredRun straight = runs.load("straight");
      const Tensor* slopes = straight.file.find("Affine_0_act/slope");
      REQUIRE(bool(slopes) == (activation == "PReLU"));
      for (int64_t i = 0; slopes && i < slopes->elements(); ++i) CHECK(slopes->at(i) != 0.25);
      for (const int64_t stop : {1, 6}) {
        REQUIRE(runs.run("stopped", stop, false).signal == SIGTERM);
        REQUIRE(runs.run("stopped", -1, true).signal == 0);
        check_same(straight, runs.load("stopped"));
      }
    }
}

TEST_CASE("stochastically rounded updates go on with the same draws") {
  const Spec spec = spec_with("{Adam: {learning_rate: 0.01, schedule: Stopping}}", "ema: 0.7\naccumulate: 3\n");
  for (const std::string dtype : {"f32", "f16", "bf16"}) {
    INFO(dtype);
    Runs runs(spec, dtype, 7);
    runs.run("straight", -1, false);
    const StoredRun straight = runs.load("straight");
    CHECK(straight.file.find("Affine_0/W")->dtype() == dtype_from_name(dtype));
    for (const int64_t stop : {2, 4, 9}) {
      REQUIRE(runs.run("stopped", stop, false).signal == SIGTERM);
      REQUIRE(runs.run("stopped", -1, true).signal == 0);
      check_same(straight, runs.load("stopped"));
    }
  }
}

TEST_CASE("a run stopped in each of its steps goes on with its callbacks, running means and curves") {
  const Spec spec = spec_with("{Adam: {learning_rate: 0.05, schedule: Stopping}}",
                              "ema: 0.7\nmetrics: [Misclassification]\n" + every_callback());
  Runs runs(spec, "f32");
  runs.run("straight", -1, false);
  for (int64_t step = 0; step < kSteps - 1; ++step) {
    const RunResult result = runs.run("stopped", step, step > 0);
    REQUIRE(result.signal == SIGTERM);
    REQUIRE(result.position.step == step + 1);
    CHECK(std::get<std::string>(*runs.metrics("stopped").find("", "status")) == "killed");
  }
  REQUIRE(runs.run("stopped", -1, true).signal == 0);
  check_same(runs.load("straight"), runs.load("stopped"));
  check_same_curves(runs.metrics("straight"), runs.metrics("stopped"));
}

TEST_CASE("batches by length go on in the same order, wherever the run is stopped") {
  // 45 samples in batches of 8, the last of 5; each has 3 to 13 steps.
  const Spec spec = spec_from_text(
      "dataset: {CopyTask: {length: 6, symbols: 3, ntrain: 45, ntest: 10, seed: 4}}\n"
      "layers:\n"
      "  - Embedding: {nout: 4, init: Kaiming}\n"
      "  - GRU: {output_size: 5, init: Kaiming}\n"
      "  - Dropout: {keep: 0.8}\n"
      "  - Affine: {nout: classes, init: Kaiming, activation: Softmax}\n"
      "cost: CrossEntropyMulti\n"
      "batch_size: 8\n"
      "buckets: 3\n"
      "epochs: 3\n"
      "optimizer: {Adam: {learning_rate: 0.05, schedule: Stopping}}\n",
      "test.yaml");
  Runs runs(spec, "f32");
  REQUIRE(runs.run("straight", -1, false).signal == 0);
  const StoredRun straight = runs.load("straight");
  REQUIRE(straight.position.step == 18);
  for (int64_t step = 0; step < 17; ++step) {
    REQUIRE(runs.run("stopped", step, step > 0).signal == SIGTERM);
    REQUIRE(runs.load("stopped").position.step == step + 1);
  }
  REQUIRE(runs.run("stopped", -1, true).signal == 0);
  check_same(straight, runs.load("stopped"));
  check_same_curves(runs.metrics("straight"), runs.metrics("stopped"));
  // Another order of the batches ends elsewhere.
  Setting other = spec.root;
  *other.find("buckets") = Setting::scalar("0");
  runs.run_spec(other, "unsorted", -1, false, {});
  const StoredRun unsorted = runs.load("unsorted");
  const Tensor *weights = straight.file.find("Embedding_0/W"), *others = unsorted.file.find("Embedding_0/W");
  REQUIRE((weights && others));
  CHECK(std::memcmp(weights->data(), others->data(), weights->bytes()) != 0);
}

TEST_CASE("a signal in the last step stops the evaluation, which the resumed run makes up for") {
  const Spec spec = spec_with("{Adam: {schedule: Stopping}}");
  Runs runs(spec, "f32");
  runs.run("straight", -1, false);
  const RunResult stopped = runs.run("late", kSteps - 1, false);
  CHECK(stopped.signal == SIGTERM);
  CHECK(stopped.position.step == kSteps);
  CHECK(runs.run("late", -1, true).signal == 0);
  check_same(runs.load("straight"), runs.load("late"));
}

TEST_CASE("a finished run goes on to more epochs as if it had been told at first") {
  // Long enough that the best weights are not the last ones, and EarlyStop puts them back at the end.
  const Spec spec = spec_with("{GradientDescentMomentum: {learning_rate: 1.5, momentum_coef: 0.9, schedule: Stopping}}",
                              "ema: 0.7\ncallbacks: [EarlyStop: {patience: 99}]\n");
  for (const std::string dtype : {"f32", "bf16", "f16"}) {
    INFO(dtype);
    Runs runs(spec, dtype);
    runs.run("straight", -1, false, 12);
    runs.run("longer", -1, false, 7);
    const StoredRun seven = runs.load("longer");
    const Tensor *best = seven.file.find("Affine_0/W"), *last = seven.file.find("callback/0/Affine_0/W");
    REQUIRE((best && last));
    REQUIRE(std::memcmp(best->data(), last->data(), best->bytes()) != 0);
    runs.run("longer", -1, true, 12);
    check_same(runs.load("straight"), runs.load("longer"));
  }
}

namespace {

// Stands in for a GPU's copies: the weights that it was given at first.
struct FirstUpload : VariableMirror {
  void upload(Variables& variables) override {
    if (weights.empty()) weights = variables.at("Affine_0/W").clone();
  }
  void download(Variables&) override {}
  Tensor weights;
};

}  // namespace

TEST_CASE("a device is given the weights that a callback puts back before a finished run goes on") {
  const Spec spec = spec_with("{GradientDescentMomentum: {learning_rate: 1.5, momentum_coef: 0.9, schedule: Stopping}}",
                              "callbacks: [EarlyStop: {patience: 99}]\n");
  Runs runs(spec, "f32");
  runs.run("run", -1, false, 7);
  const StoredRun stored = runs.load("run");
  const Tensor *best = stored.file.find("Affine_0/W"), *last = stored.file.find("callback/0/Affine_0/W");
  REQUIRE(std::memcmp(best->data(), last->data(), best->bytes()) != 0);
  Experiment experiment(spec.root);
  RunOptions options;
  options.epochs = 8;
  options.progress_bar = false;
  Trainer trainer(experiment, experiment.params.dataset->load({}), options, &stored);
  const auto device = std::make_shared<FirstUpload>();
  trainer.variables().set_mirror(device);
  stop_at = -1;
  trainer.run();
  REQUIRE(device->weights.bytes() == last->bytes());
  CHECK(std::memcmp(device->weights.data(), last->data(), last->bytes()) == 0);
}

TEST_CASE("a run that EarlyStop ended stays ended, and its file as it is") {
  const Spec spec = spec_with("{GradientDescentMomentum: {learning_rate: 3, momentum_coef: 0.9, schedule: Stopping}}",
                              "callbacks: [EarlyStop: {patience: 1}]\n");
  Runs runs(spec, "f32");
  const RunResult first = runs.run("run", -1, false, 50);
  REQUIRE(first.position.epoch < 50);
  const StoredRun before = runs.load("run");
  const RunResult again = runs.run("run", -1, true, 50);
  CHECK(again.position.step == first.position.step);
  CHECK(again.results == first.results);
  check_same(before, runs.load("run"));
}

TEST_CASE("the second signal of one request does not kill a run that the first has ended") {
  // In a process of its own; it may be put off so long that the second counts as another request, which exits 143.
  int status = 143 << 8;
  for (int attempt = 0; attempt < 20 && WIFEXITED(status) && WEXITSTATUS(status) == 143; ++attempt) {
    const pid_t child = fork();
    if (child == 0) {
      {
        const SignalGuard guard;
        raise(SIGTERM);
        if (stop_signal() != SIGTERM) _exit(1);
      }
      raise(SIGTERM);
      const SignalGuard next;
      _exit(stop_signal() == 0 ? 0 : 2);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
  }
  CHECK(status == 0);
}
