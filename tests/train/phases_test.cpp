// Runs of several phases: what each trains, where each begins, and that a run stopped in the middle of any goes on to
// the very bits of one that was not.
#include "tests/train/stopped_runs.h"

using namespace neon;
using namespace neon_test;

namespace {

// Schedules see a phase's own steps; `first` is the run's step in which the phase begins.
struct StoppingAfterParams {
  int64_t first = 0;
  static void describe(auto&& p) { p("first", &StoppingAfterParams::first, "Steps of the run before the phase."); }
};
struct StoppingAfter : Parametrized<Schedule, StoppingAfterParams> {
  using Parametrized::Parametrized;
  double rate(double base, const Progress& progress) const override {
    REQUIRE(progress.epochs == 2);
    if (params.first + progress.step == stop_at) raise(SIGTERM);
    return base / (1 + 0.1 * double(progress.step));
  }
};
NEON_REGISTER(Schedule, StoppingAfter, "Falls, and stops the run of a test.");

// Three phases of 2 epochs of 4 steps: an autoencoder of the first layer, the head alone, all layers.
const char* const kPhases = R"(
dataset: Iris
layers:
  - Affine: {name: enc, nout: 6, init: Kaiming, batch_norm: true, activation: Tanh}
  - Dropout: {keep: 0.8}
  - Affine: {name: head, nout: 3, init: Kaiming, bias: {Constant: 0}, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.02, schedule: {StoppingAfter: 16}}}
batch_size: 32
rng_seed: 11
phases:
  - name: pretrain
    epochs: 2
    reconstruct: true
    cost: MeanSquared
    layers:
      - Affine: {name: enc, nout: 6, init: Kaiming, batch_norm: true, activation: Tanh}
      - Affine: {nout: 4, init: Kaiming}
    optimizer: {GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9, schedule: StoppingAfter}}
  - name: top
    epochs: 2
    freeze: enc
    optimizer: {Adam: {learning_rate: 0.02, schedule: {StoppingAfter: 8}}}
  - {name: tune, epochs: 2}
)";

Spec phases_with(const std::string& more = "") { return spec_from_text(kPhases + more, "test.yaml"); }

Tensor array(const StoredRun& run, const std::string& name) {
  const Tensor* found = run.file.find(name);
  INFO(name);
  REQUIRE(found);
  return *found;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

}  // namespace

TEST_CASE("a run stopped in each step of its phases goes on to the same bits") {
  for (const std::string more : {"", "ema: 0.7\naccumulate: 3\n"})
    for (const std::string dtype : {"f32", "f16"}) {
      INFO(more << dtype);
      const Spec spec = phases_with(more);
      Runs runs(spec, dtype);
      REQUIRE(runs.run("straight", -1, false).signal == 0);
      const StoredRun straight = runs.load("straight");
      REQUIRE(straight.position.step == 24);
      for (int64_t step = 0; step < 23; ++step) {
        const RunResult result = runs.run("stopped", step, step > 0);
        INFO("stopped in step " << step);
        REQUIRE(result.signal == SIGTERM);
        REQUIRE(result.position.step == step + 1);
        const StoredRun stored = runs.load("stopped");
        // The evaluation at an epoch's end may be still to come, and the next phase with it.
        const int64_t number = stored.position.epoch / 2;
        CHECK((number == step / 8 || number == (step + 1) / 8));
        CHECK(stored.position.phase == (number == 0 ? "pretrain" : number == 1 ? "top" : "tune"));
        CHECK(stored.position.phase_first == 2 * number);
      }
      REQUIRE(runs.run("stopped", -1, true).signal == 0);
      check_same(straight, runs.load("stopped"));
      check_same_curves(runs.metrics("straight"), runs.metrics("stopped"));
    }
}

TEST_CASE("a phase trains its own layers, leaves frozen ones, and begins with states of 0") {
  const Spec spec = phases_with();
  Runs runs(spec, "f64");
  runs.run("first", -1, false, 2);
  runs.run("second", -1, false, 4);
  const StoredRun first = runs.load("first"), second = runs.load("second");
  CHECK(!same_bits(array(first, "pretrain_Affine_1/W"), Tensor(DType::f64, {4, 6})));
  CHECK(same_bits(array(first, "enc/W"), array(second, "enc/W")));
  CHECK(same_bits(array(first, "enc_bnorm/gmean"), array(second, "enc_bnorm/gmean")));
  CHECK(!same_bits(array(first, "head/W"), array(second, "head/W")));
  CHECK(same_bits(array(first, "pretrain_Affine_1/W"), array(second, "pretrain_Affine_1/W")));
  CHECK(first.position.updates == 8);
  CHECK(second.position.updates == 8);

  // The first phase is the run of that net alone; its head is as it was drawn.
  const Spec alone = spec_from_text(
      "dataset: {Iris: {autoencoder: true}}\nlayers:\n"
      "  - Affine: {name: enc, nout: 6, init: Kaiming, batch_norm: true, activation: Tanh}\n"
      "  - Affine: {name: pretrain_Affine_1, nout: 4, init: Kaiming}\n"
      "cost: MeanSquared\nbatch_size: 32\nepochs: 2\nrng_seed: 11\n"
      "optimizer: {GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9, schedule: StoppingAfter}}\n",
      "alone.yaml");
  Runs single(alone, "f64");
  single.run("alone", -1, false);
  const StoredRun by_itself = single.load("alone");
  for (const NamedTensor& named : by_itself.file.tensors) {
    INFO(named.name);
    CHECK(same_bits(named.tensor, array(first, named.name)));
  }
}

TEST_CASE("callbacks act in the last phase, metrics are of the spec's own net") {
  const Spec spec = phases_with("callbacks: [EarlyStop: {patience: 1}, Hist: {every: 0}]\n");
  Runs runs(spec, "f32");
  runs.run("run", -1, false);
  const MetricsContents metrics = runs.metrics("run");
  const auto values = [&](const char* path) { return metrics.find(path)->values; };
  REQUIRE(values("metrics/Top1Misclass").size() == 6);
  for (size_t epoch = 0; epoch < 6; ++epoch) {
    CHECK(std::isnan(values("metrics/Top1Misclass")[epoch]) == (epoch < 2));
    CHECK(!std::isnan(values("cost/loss")[epoch]));
  }
  CHECK(std::get<std::string>(*metrics.find("config", "phases")) == "pretrain 2, top 2, tune 2");
}

TEST_CASE("what the rule of an earlier phase reports is in the metrics file") {
  const Spec spec = spec_from_text(R"(
dataset: Iris
layers:
  - RBM: {name: machine, nout: 4, visible: gaussian, init: {Gaussian: {scale: 0.1}}}
  - Affine: {name: head, nout: 3, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.01}}
train_metrics: 20
rng_seed: 1
phases:
  - name: alone
    epochs: 2
    rule: ContrastiveDivergence
    layers: [RBM: {name: machine, nout: 4, visible: gaussian, init: {Gaussian: {scale: 0.1}}}]
  - {name: together, epochs: 1}
)",
                                   "test.yaml");
  Runs runs(spec, "f32");
  runs.run("run", -1, false);
  const MetricsContents metrics = runs.metrics("run");
  for (const char* path : {"metrics/FreeEnergy", "metrics/train_FreeEnergy"}) {
    INFO(path);
    REQUIRE(metrics.find(path));
    const auto& values = metrics.find(path)->values;
    REQUIRE(values.size() == 3);
    CHECK((std::isfinite(values[1]) && std::isnan(values[2])));  // the last phase has a cost
  }
  CHECK(!std::isnan(metrics.find("metrics/Top1Misclass")->values[2]));
}

TEST_CASE("a checkpoint of phases is one of the spec's own net") {
  const Spec spec = phases_with();
  Runs runs(spec, "f32");
  runs.run("run", -1, false);
  const TensorFile weights = evaluated_weights(runs.load("run").file, false);
  CHECK(weights.find("head/W"));
  CHECK(!weights.find("pretrain_Affine_1/W"));
  CHECK(!weights.find("enc/W/velocity"));
}

TEST_CASE("phases that do not fit say so") {
  const auto refusal = [](const std::string& phases, const std::string& more = "epochs: 3\n") {
    try {
      const Spec spec = spec_from_text(
          "dataset: Iris\nlayers: [Affine: {name: out, nout: 3, init: Kaiming, activation: Softmax}]\n"
          "cost: CrossEntropyMulti\noptimizer: {SGD: {learning_rate: 0.1}}\nbatch_size: 32\n" +
              (phases.empty() ? more : "phases: " + phases + "\n"),
          "s.yaml");
      Runs(spec, "f32").run("run", -1, false);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  CHECK(refusal("") == "nothing");
  CHECK_THAT(refusal("[{name: a, epochs: 1}, {name: a, epochs: 1}]"), Catch::Contains("two phases are named 'a'"));
  CHECK_THAT(refusal("[{name: a, epochs: 1, cost: MeanSquared}]"),
             Catch::Contains("the last phase, a, must train the spec's own layers by the spec's own cost"));
  CHECK_THAT(refusal("[{epochs: 1}]"), Catch::Contains("'name' is missing") && !Catch::Contains("the phase's name"));
  CHECK_THAT(refusal("[{name: a}]"), Catch::Contains("'epochs' is missing"));
  CHECK_THAT(refusal("[{name: a, epochs: 1}]\nepochs: 3"), Catch::Contains("each of the phases has epochs of its own"));
  CHECK_THAT(refusal("[{name: a, epochs: 1}]\nfreeze: out"),
             Catch::Contains("each of the phases has a freeze of its own"));
  CHECK_THAT(
      refusal("[{name: a, epochs: 1, freeze: uot}]"),
      Catch::Contains("phases: freeze: no layer with parameters and no tensor is named 'uot'; did you mean out?"));
  CHECK_THAT(refusal("[{name: a, epochs: 1, layers: [Affine: {name: out, nout: 4, init: Kaiming}], cost: MeanSquared, "
                     "reconstruct: true}, {name: b, epochs: 1}]"),
             Catch::Contains("out/W has the shape (4, 4) in the phase a and (3, 4) in b"));
  CHECK_THAT(refusal("[{name: a, epochs: 1, layers: [Affine: {nout: 2, init: Kaiming}]}, {name: b, epochs: 1}]"),
             Catch::Contains("the last layer has 2 outputs, but the data set has 3 classes"));
}

TEST_CASE("a run does not go on with other phases before its place") {
  const Spec spec = phases_with();
  Runs runs(spec, "f32");
  runs.run("run", 12, false);
  Setting changed = spec.root;
  *changed.find("phases")->items[0].find("epochs") = Setting::scalar("1");
  CHECK_THROWS_WITH(runs.go_on("run", changed),
                    Catch::Contains("is in the phase top that began after epoch 2, the spec has the phase tune that "
                                    "began after epoch 3 there"));
}
