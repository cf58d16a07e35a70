// Objects of neon 0.9 by identity, and classes that choose a device or a verb.
#include <catch2/catch.hpp>

#include "tests/spec/old_parts.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

TEST_CASE("0.9: an alias of a layer shares its weights") {
  OldParts parts;
  parts.layers =
      "!obj:layers.FCLayer {name: x, nout: 20, lrule_init: *r, weight_init: *w}, &g !obj:layers.FCLayer {name: y, "
      "nout: "
      "20, weight_init: *w, lrule_init: {type: adadelta}}, *g, !obj:layers.FCLayer {name: z, nout: 10, lrule_init: *r, "
      "weight_init: *w},";
  CHECK_THAT(parts.part("layers"),
             Contains("{Affine: {name: y, nout: 20, init: ") && Contains("{Affine: {name: y_2, nout: 20, share: y"));
  CHECK(parts.part("optimizer") ==
        "{MultiOptimizer: {default: {GradientDescentMomentum: {learning_rate: 0.1}}, y: Adadelta}}");
  CHECK(has_note(parts.spec(), "the layer 'y' stands here more than once: 'y_2' shares its weights"));
}

TEST_CASE("0.9: an alias of a layer without a name shares its weights, too") {
  OldParts parts;
  parts.layers = "&g !obj:layers.FCLayer {nout: 784, weight_init: *w}, *g, " + parts.layers;
  CHECK_THAT(parts.part("layers"), Contains("{Affine: {name: layer0, nout: 784, init: ") &&
                                       Contains("{Affine: {name: layer1, nout: 784, share: layer0"));
  CHECK(has_note(parts.spec(), "the layer 'layer0' stands here more than once: 'layer1' shares its weights"));
}

TEST_CASE("0.9: an alias of a layer with batch norm behind it shares that, too") {
  OldParts parts;
  parts.data = "is_local: True, nofm: 1, ofmshape: [28, 28]";
  parts.layers =
      "&g !obj:layers.ConvLayer {name: c, local_conv: True, fshape: [3, 3], pad: 1, weight_init: *w, batch_norm: "
      "True}, "
      "*g, " +
      parts.layers;
  const std::string layers = parts.part("layers");
  CHECK_THAT(layers, Contains("{BatchNorm: {eps: 0.000001, name: c_bnorm}}"));
  CHECK_THAT(layers, Contains("{Local: {name: c_2, ") && Contains("share: c, "));
  CHECK_THAT(layers, Contains("{BatchNorm: {eps: 0.000001, name: c_2_bnorm, share: c_bnorm}}"));
}

TEST_CASE("0.9: objects of GPUs choose the device") {
  OldParts parts;
  parts.rest = "backend: !obj:backends.gpu.GPU {rng_seed: 3, device_id: 1, stochastic_round: True},";
  CHECK(parts.part("backend") == "gpu");
  CHECK(parts.part("rng_seed") == "3");
  const Spec made = parts.spec();
  CHECK(made.conversion.options.find("device_id")->value == "1");
  CHECK(made.conversion.options.find("rounding")->value == "-1");
  parts.rest = "backend: !obj:backends.mgpu.MGPU {num_dev: 4},";
  REQUIRE(parts.spec().conversion.warnings.size() == 1);
  CHECK(parts.spec().conversion.warnings[0].text == "num_dev is left out: -m 4 trains on as many GPUs");
}

TEST_CASE("0.9: GradientChecker is a run's spec, and names the verb that compares gradients") {
  OldParts parts;
  std::string text = parts.text();
  text.replace(text.find("FitPredictErrorExperiment"), 25, "GradientChecker");
  const Spec made = spec_from_text(text, "o.yaml");
  CHECK(made.root.find("layers"));
  REQUIRE(made.conversion.warnings.size() == 1);
  CHECK_THAT(made.conversion.warnings[0].text, Contains("neon grad-check SPEC compares the gradients"));
}
