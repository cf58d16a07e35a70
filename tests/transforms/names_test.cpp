// What is said about activations, costs and metrics that are written wrong.
#include <catch2/catch.hpp>

#include "tests/support/golden.h"
#include "transforms/activation.h"
#include "transforms/cost.h"
#include "transforms/metric.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

TEST_CASE("names of neon 0.9 and of today mean the same") {
  for (const char* name : {"RectLin", "ReLU", "Sigmoid", "ELU", "GELU", "SiLU", "LeakyReLU", "transforms.RectLin",
                           "neon.transforms.activation.Tanh"}) {
    INFO(name);
    CHECK(complaint<Activation>(name) == "");
  }
  CHECK(round_trip<Activation>(Setting::scalar("LeakyReLU")).first == "{RectLeaky: {slope: 0.01}}");
}

TEST_CASE("a wrong activation is one line with value, bound and nearest name") {
  CHECK_THAT(complaint<Activation>("Rectlinn"),
             Contains("spec.yaml:1:1: unknown activation 'Rectlinn'; did you mean Rectlin"));
  CHECK(complaint<Activation>("Rectlin: {slope: -1}") == "spec.yaml:1:18: Rectlin.slope: -1 is not at least 0");
  CHECK(complaint<Activation>("Rectlinclip: {xcut: 0}") == "spec.yaml:1:21: Rectlinclip.xcut: 0 is not above 0");
  CHECK(complaint<Activation>("Explin: {alpha: -0.5}") == "spec.yaml:1:17: Explin.alpha: -0.5 is not at least 0");
  CHECK(complaint<Activation>("Normalizer: 0") == "spec.yaml:1:13: Normalizer.divisor: 0 is not above 0");
  CHECK(complaint<Activation>("Softmax: {axis: 1}") == "spec.yaml:1:17: Softmax.axis: 1 is not in [0, 0]");
  CHECK_THAT(complaint<Activation>("Explin: {alhpa: 1}"),
             Contains("unknown key 'alhpa'; did you mean alpha? (known: alpha)"));
  CHECK_THAT(complaint<Activation>("Tanh: {slope: 1}"), Contains("unknown key 'slope': there are no parameters here"));
  CHECK_THAT(complaint<Activation>("Logistic: {shortcut: 3}"), Contains("expected true or false, found '3'"));
}

TEST_CASE("a wrong cost or metric is one line with value, bound and nearest name") {
  CHECK_THAT(complaint<Cost>("CrossEntropyMutli"), Contains("did you mean CrossEntropyMulti"));
  CHECK(complaint<Cost>("CrossEntropyMulti: {scale: 0}") ==
        "spec.yaml:1:28: CrossEntropyMulti.scale: 0 is not above 0");
  CHECK(complaint<Cost>("CrossEntropyMulti: {smoothing: 1}") ==
        "spec.yaml:1:32: CrossEntropyMulti.smoothing: 1 is not in [0, 1)");
  CHECK(complaint<Cost>("CrossEntropyBinary: {scale: -2}") ==
        "spec.yaml:1:29: CrossEntropyBinary.scale: -2 is not above 0");
  CHECK(complaint<Cost>("SmoothL1Loss: {sigma: 0}") == "spec.yaml:1:23: SmoothL1Loss.sigma: 0 is not above 0");
  CHECK(complaint<Cost>("SquareHingeLoss: {margin: 0}") == "spec.yaml:1:27: SquareHingeLoss.margin: 0 is not above 0");
  CHECK_THAT(complaint<Metric>("Acuracy"), Contains("did you mean Accuracy"));
  CHECK(complaint<Metric>("TopK: {k: 0}") == "spec.yaml:1:11: TopK.k: 0 is not at least 1");
  CHECK(complaint<Metric>("PrecisionRecall: {num_classes: 1}") ==
        "spec.yaml:1:32: PrecisionRecall.num_classes: 1 is not at least 2");
  CHECK(complaint<Metric>("PrecisionRecall: {epsilon: 0}") ==
        "spec.yaml:1:28: PrecisionRecall.epsilon: 0 is not above 0");
}
