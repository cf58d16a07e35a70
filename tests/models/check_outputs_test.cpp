// What is said where a net's outputs are not as many numbers as the targets of its data.
#include <catch2/catch.hpp>

#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;

namespace {

DataLayout images(int64_t classes) {
  DataLayout out;
  out.sample = {3, 8, 6};
  out.train_size = 4;
  out.classes = classes;
  out.target_dtype = classes ? DType::i32 : DType::f32;
  out.target = {1};
  return out;
}

std::string said(const std::string& layers, const DataLayout& data, const StepOptions& options = {.batch = 2},
                 const char* cost_yaml = "SumSquared") {
  const auto cost = Registry<Cost>::get().create(yaml_of(cost_yaml));
  try {
    evaluation_graph(network_of(yaml_of(layers)), cost.get(), {}, data, 4, options);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("outputs that are not one for each class are told with the chain of shapes") {
  CHECK(said("[Conv: {fshape: 3, nofm: 2, init: Kaiming}, Affine: {nout: 7, init: Kaiming}]", images(10)) ==
        "spec.yaml:1:45: the last layer has 7 outputs, but the data set has 10 classes; give the last layer 10 "
        "outputs, as Affine: {nout: 10}; shapes: "
        "(3, 8, 6) -> Conv_0 (2, 6, 4) -> Affine_0 (7)");
  CHECK(said("[Affine: {nout: 10, init: Kaiming}]", images(10)) == "nothing");
  CHECK_THAT(said("[Affine: {nout: 1, init: Kaiming}]", images(10)),
             Catch::Contains(": the last layer has 1 output, "));
  CHECK_THAT(said("[Conv: {fshape: 1, nofm: 3, init: Kaiming}]", images(10)),
             Catch::Contains("has 144 outputs, but the data set has 10 classes; for an autoencoder give the data set "
                             "`autoencoder: true`; shapes: (3, 8, 6) -> Conv_0 (3, 8, 6)"));
}

TEST_CASE("some of a Softmax's outputs are known as such, however they are taken") {
  const auto last_op = [](const std::string& layers) {
    const auto cost = Registry<Cost>::get().create(yaml_of("SumSquared"));
    const StepGraph step = evaluation_graph(network_of(yaml_of(layers)), cost.get(), {}, images(3), 4, {.batch = 2});
    return step.outputs.at(0).last_op;
  };
  const std::string softmax = "Affine: {nout: 6, init: Kaiming, activation: Softmax}", half = "Slice: {end_idx: 3}",
                    relu = "Activation: Rectlin";
  CHECK(last_op("[Affine: {nout: 3, init: Kaiming, activation: Softmax}]") == "softmax");
  CHECK(last_op("[" + softmax + ", " + half + "]") == kPartOfSoftmax);
  CHECK(last_op("[" + softmax + ", Slice: {end_idx: 5}, " + half + "]") == kPartOfSoftmax);
  CHECK(last_op("[" + softmax + ", " + half + ", " + relu + "]") != kPartOfSoftmax);
}

TEST_CASE("of maps it is said how they become one number for each class") {
  CHECK_THAT(said("[Conv: {fshape: 3, nofm: 5, init: Kaiming}]", images(5)),
             Catch::Contains("has 120 outputs, but the data set has 5 classes; give the last layer 5 outputs: these "
                             "are maps (5, 6, 4), so end with Affine: {nout: 5}, by itself or after Pooling: {fshape: "
                             "all, op: avg}; shapes: "));
  // As told, both ways.
  CHECK(said("[Conv: {fshape: 3, nofm: 5, init: Kaiming}, Affine: {nout: 5, init: Kaiming}]", images(5)) == "nothing");
  CHECK(said("[Conv: {fshape: 3, nofm: 7, init: Kaiming}, Pooling: {fshape: all, op: avg}, Affine: {nout: 5, init: "
             "Kaiming}]",
             images(5)) == "nothing");
  CHECK_THAT(said("[Conv: {fshape: 3, nofm: 7, init: Kaiming}, Pooling: {fshape: all, op: avg}]", images(5)),
             Catch::Contains("has 7 outputs") && !Catch::Contains("maps"));
  DataLayout numbers = images(0);
  numbers.target = {3};
  CHECK_THAT(said("[Conv: {fshape: 3, nofm: 5, init: Kaiming}]", numbers),
             Catch::Contains("give the last layer that many: these are maps (5, 6, 4), so end with Affine: {nout: 3}"));
}

TEST_CASE("one output for two classes, of samples or of steps, is shown the way to numbers") {
  const std::string way =
      "; one output compares with 0 and 1 as numbers: task: regression of a table, regression: true "
      "of arrays; shapes: ";
  CHECK_THAT(said("[Affine: {nout: 1, init: Kaiming}]", images(2)), Catch::Contains(way));
  DataLayout steps;
  steps.sample = {5, 3}, steps.sequence = true, steps.train_size = 4;
  steps.classes = 2, steps.label_of = LabelOf::step, steps.target_dtype = DType::i32, steps.target = {5};
  CHECK_THAT(said("[Affine: {nout: 1, init: Kaiming}]", steps),
             Catch::Contains("end with Affine: {nout: 2") && Catch::Contains(way));
  steps.classes = 3;
  CHECK_THAT(said("[Affine: {nout: 1, init: Kaiming}]", steps), !Catch::Contains("one output compares"));
  steps.classes = 0, steps.label_of = LabelOf::sample, steps.target_dtype = DType::f32, steps.target = {5, 1};
  CHECK(said("[Affine: {nout: 1, init: Kaiming, activation: Logistic}]", steps, {.batch = 2}, "CrossEntropyBinary") ==
        "nothing");
}

TEST_CASE("outputs that are not as many as numbers to regress to") {
  DataLayout data = images(0);
  data.target = {2, 2};
  CHECK_THAT(said("[Affine: {nout: 3, init: Kaiming}]", data),
             Catch::Contains(": the last layer has 3 outputs, but a target of the data set has 4; "));
  CHECK(said("[Affine: {nout: 4, init: Kaiming}]", data) == "nothing");
}

TEST_CASE("behind targets may stand as many numbers of a mask, which only the cost sees") {
  DataLayout data = images(0);
  const auto masked = [&](int64_t targets, int64_t nout) {
    data.target = {targets};
    return said(text("[Affine: {nout: ", nout, ", init: Kaiming}]"), data, {.batch = 2},
                "GeneralizedCostMask: SumSquared");
  };
  CHECK(masked(8, 4) == "nothing");
  CHECK_THAT(masked(8, 8), Catch::Contains("has 8 outputs, but a target of the data set has 4"));
  CHECK_THAT(masked(7, 4), Catch::Contains("7 numbers, which is odd"));
  data.target_is_input = true;
  CHECK_THAT(masked(8, 4), Catch::Contains("the data set has none of its own"));
  data = images(0);
  data.target = {8};
  const auto cost = Registry<Cost>::get().create(yaml_of("GeneralizedCostMask: SumSquared"));
  const auto metric = Registry<Metric>::get().create(yaml_of("MSE"));
  const Network network = network_of(yaml_of("[Affine: {nout: 4, init: Kaiming}]"));
  CHECK(
      evaluation_graph(network, cost.get(), {metric.get()}, data, 4, {.batch = 2}).graph.outputs().count("metric/0/0"));
  CHECK(gradient_graph(network, *cost, data, {.batch = 2}, true).graph.outputs().count("grad/Affine_0/W"));
}

TEST_CASE("an autoencoder's outputs are as many as the numbers of a sample as the net sees it") {
  DataLayout data = images(0);
  data.target_is_input = true;
  CHECK(said("[Conv: {fshape: 3, nofm: 3, init: Kaiming}]", data) ==
        "spec.yaml:1:2: the last layer has 72 outputs, but a sample, which is its own target, is (3, 8, 6), 144 "
        "numbers; shapes: "
        "(3, 8, 6) -> Conv_0 (3, 6, 4)");
  CHECK(said("[Conv: {fshape: 3, nofm: 3, init: Kaiming}, Deconv: {fshape: 3, nofm: 3, init: Kaiming}]", data) ==
        "nothing");
  const auto crop = Registry<Augmentation>::get().create(yaml_of("RandomCrop: {size: 4}"));
  StepOptions options{.batch = 2};
  options.augment = {crop.get()};
  CHECK(said("[Conv: {fshape: 1, nofm: 3, init: Kaiming}]", data, options) == "nothing");
  CHECK_THAT(said("[Affine: {nout: 144, init: Kaiming}]", data, options),
             Catch::Contains("has 144 outputs, but a sample, which is its own target, is (3, 4, 4), 48 numbers"));
}

TEST_CASE("which branch of a Tree has the wrong number of outputs") {
  CHECK_THAT(said("[Tree: [[BranchNode: {name: b}, Affine: {nout: 5, init: Kaiming}], [BranchNode: {name: b}, Affine: "
                  "{nout: 6, init: Kaiming}]]]",
                  images(5)),
             Catch::Contains(": branch 1 of the Tree has 6 outputs, but the data set has 5 classes"));
}

TEST_CASE("of a deep net's shapes those in the middle are left out") {
  std::string layers = "[Affine: {nout: 3, init: Kaiming}";
  for (int i = 0; i < 20; ++i) layers += ", Activation: Tanh";
  const std::string line = said(layers + "]", images(5));
  CHECK_THAT(line, Catch::Contains("shapes: (3, 8, 6) -> Affine_0 (3) -> ... 10 more -> Activation_10 (3) -> ") &&
                       Catch::EndsWith("-> Activation_19 (3)"));
}
