// Files of neon 0.9, translated.
#include <catch2/catch.hpp>

#include "neon/spec/comments.h"
#include "neon/spec/spec.h"
#include "tests/spec/messages.h"
#include "tests/spec/old_parts.h"
#include "tests/spec/trees.h"
#include "tests/support/temp_folder.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;
using Catch::Equals;

TEST_CASE("an experiment of neon 0.9 becomes the map of our keys") {
  const Spec spec = OldParts().spec();
  CHECK(spec.notation == "0.9");
  CHECK(spec.root.to_string() ==
        "{dataset: {MNIST: {fallback: Digits}}, layers: [{Affine: {name: h, nout: 10, activation: Logistic, init: "
        "{Gaussian: {scale: 0.01}}}}], cost: CrossEntropyBinary, optimizer: {GradientDescentMomentum: {learning_rate: "
        "0.1}}, batch_size: 8, epochs: 3, shuffle: false}");
  CHECK(spec.root.find("layers")->items[0].where.to_string() == "o.yaml:7:5");
}

TEST_CASE("0.9: biases are those of the initializer, and none beside batch norm") {
  OldParts parts;
  parts.init = "!obj:params.UniformValGen {low: -0.1, high: 0.1, bias_init: 1}";
  CHECK_THAT(parts.part("layers"), Contains("bias: {Constant: 1}"));
  parts.layers = "!obj:layers.FCLayer {nout: 10, batch_norm: True, weight_init: *w},";
  parts.cost = "cost: !obj:transforms.SumSquaredDiffs {}";
  CHECK_THAT(parts.part("layers"), Contains("batch_norm: {eps: 0.000001}") && !Contains("Constant"));
  parts.layers = "!obj:layers.FCLayer {nout: 10},";
  CHECK(parts.part("layers") == "[{Affine: {name: layer0, nout: 10, init: {Gaussian: {scale: 0.01}}}}]");
  CHECK(parts.part("optimizer") == "{GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9}}");
}

TEST_CASE("0.9: the cost follows from the activation before it") {
  OldParts parts;
  parts.layers = "!obj:layers.FCLayer {nout: 10, activation: !obj:transforms.Softmax {}},";
  parts.cost = "cost: !obj:transforms.CrossEntropy {scale: 1000, epsilon: 0.0005, shortcut_deriv: False}";
  CHECK(parts.part("cost") == "{CrossEntropyMulti: {scale: 1000}}");
  CHECK(has_note(parts.spec(), "shortcut_deriv is left out"));
  parts.cost = "ref_label: output, cost: !obj:transforms.CrossEntropy {}";
  CHECK(parts.part("dataset") == "{MNIST: {autoencoder: true, fallback: Digits}}");
}

TEST_CASE("0.9: rules of single layers and of biases") {
  OldParts parts;
  parts.init = "!obj:params.UniformValGen {bias_init: 0}";
  const std::string other = "brule_init: {type: adadelta, lr_params: {rho: 0.9}}";
  parts.layers = "!obj:layers.FCLayer {name: a, nout: 5, lrule_init: *r, weight_init: *w, " + other +
                 "},\n !obj:layers.FCLayer {name: b, nout: 5, lrule_init: *r, weight_init: *w, " + other +
                 ", activation: !obj:transforms.Logistic {}},";
  CHECK(parts.part("optimizer") ==
        "{MultiOptimizer: {default: {GradientDescentMomentum: {learning_rate: 0.1}}, Bias: {Adadelta: {decay: 0.9}}}}");
  parts.layers =
      "!obj:layers.FCLayer {name: a, nout: 5, lrule_init: *r, weight_init: *w},\n"
      " !obj:layers.FCLayer {name: b, nout: 5, weight_init: *w, batch_norm: True},"
      " !obj:layers.FCLayer {name: c, nout: 5, lrule_init: *r, weight_init: *w, " +
      other + ", activation: !obj:transforms.Logistic {}},";
  const std::string usual = "{GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9}}";
  CHECK(parts.part("optimizer") == "{MultiOptimizer: {default: {GradientDescentMomentum: {learning_rate: 0.1}}, b: " +
                                       usual + ", b_bnorm: " + usual + ", c_bias: {Adadelta: {decay: 0.9}}}}");
}

TEST_CASE("0.9: no layer has a name that means other parameters to a MultiOptimizer") {
  OldParts parts;
  const std::string other = ", lrule_init: {type: adadelta}},\n";
  for (const char* name : {"Linear", "Bias", "BatchNorm", "default", "mapping", "a_bias", "a_bnorm"}) {
    const std::string given = name;
    parts.layers = "!obj:layers.FCLayer {name: a, nout: 5, lrule_init: *r},\n !obj:layers.FCLayer {name: " + given +
                   ", nout: 5" + other + " !obj:layers.FCLayer {name: c, nout: 5, lrule_init: *r},";
    CHECK(parts.part("optimizer") ==
          "{MultiOptimizer: {default: {GradientDescentMomentum: {learning_rate: 0.1}}, " + given + "_2: Adadelta}}");
    CHECK(has_note(parts.spec(), "the layer '" + given + "' is called '" + given + "_2' here: its own name means"));
  }
}

TEST_CASE("0.9: learning rules with their dictionaries") {
  OldParts parts;
  const auto optimizer = [&](const std::string& rule) {
    parts.rule = rule;
    return parts.part("optimizer");
  };
  CHECK(optimizer(
            "{type: gradient_descent_momentum_weight_decay, lr_params: {learning_rate: 0.1, weight_decay: 0.5, "
            "momentum_params: {type: constant, coef: 0.9}, schedule: {type: step, ratio: 0.1, step_epochs: 10}}}") ==
        "{GradientDescentMomentum: {learning_rate: 0.1, wdecay: 0.5, momentum_coef: 0.9, schedule: {PowerSchedule: "
        "{step_config: 10, change: 0.1}}}}");
  CHECK(
      optimizer("{type: gradient_descent_momentum, lr_params: {learning_rate: 0.1, momentum_params: {type: "
                "linear_monotone, initial_coef: 0.9, saturated_coef: 0.99, start_epoch: 10, saturate_epoch: 100}}}") ==
      "{GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9, momentum_end: 0.99, momentum_epochs: [10, "
      "100]}}");
  CHECK(optimizer("{type: rmsprop, lr_params: {learning_rate: 0.1, momentum_params: {type: linear_monotone, "
                  "initial_coef: 0.5, saturated_coef: 0.75, start_epoch: 2, saturate_epoch: 2}}}") ==
        "{RMSProp: {learning_rate: 0.1, momentum_coef: 0.5, momentum_end: 0.75, momentum_epochs: [2, 2], decay_rate: "
        "0.9, root_epsilon: false}}");
  CHECK(optimizer("{type: rmsprop, lr_params: {learning_rate: 0.1, momentum_params: {type: constant, coef: 0.5}}}") ==
        "{RMSProp: {learning_rate: 0.1, momentum_coef: 0.5, decay_rate: 0.9, root_epsilon: false}}");
  CHECK(optimizer("{type: adadelta}") == "Adadelta");
  const auto error = [&](const std::string& rule) {
    parts.rule = rule;
    return parts.error();
  };
  CHECK_THAT(error("{type: adadeltas}"),
             Contains("'adadeltas' is no learning rule of neon 0.9; did you mean adadelta?"));
  CHECK_THAT(error("{type: gradient_descent, lr_params: {learning_rat: 1}}"),
             Contains("gradient_descent has no key 'learning_rat'; did you mean learning_rate?"));
  CHECK_THAT(
      error("{type: gradient_descent_momentum, lr_params: {learning_rate: 1, momentum_params: {type: nesterov}}}"),
      Contains("0.9 had only the name"));
}

TEST_CASE("0.9: states that begin at 0 in each batch, or are carried on") {
  const auto rnn = [](const std::string& period) {
    return "!obj:experiments.FitPredictErrorExperiment {\n  weight_init: &w !obj:params.NormalValGen {scale: 0.1},\n"
           "  lrule: &r {type: gradient_descent, lr_params: {learning_rate: 0.1}},\n"
           "  dataset: !obj:datasets.MOBYDICK {data_dim: 96, unrolls: 5},\n  model: !obj:models.RNN {num_epochs: 1, "
           "batch_size: 8, unrolls: 5, truncate: True, make_plots: False, reset_period: " +
           period +
           ", layers: [\n    &d !obj:layers.DataLayer {nout: 96},\n    !obj:layers.RecurrentHiddenLayer {name: h, "
           "nout: "
           "4, unrolls: 5, weight_init: *w, weight_init_rec: *w, lrule_init: *r, activation: !obj:transforms.Tanh "
           "{}},\n"
           "    !obj:layers.RecurrentOutputLayer {name: o, nout: 96, unrolls: 5, weight_init: *w, lrule_init: *r, "
           "activation: !obj:transforms.Logistic {}},\n    !obj:layers.RecurrentCostLayer {ref_layer: *d, unrolls: 5, "
           "cost: !obj:transforms.CrossEntropy {}}]}}\n";
  };
  const auto layers = [&](const std::string& period) {
    const Spec spec = spec_from_text(rnn(period), "o.yaml");
    return spec.root.find("layers")->items;
  };
  const std::vector<Setting> always = layers("1"), never = layers("50");
  REQUIRE(always.size() == 2);
  REQUIRE(always[0].find("Recurrent"));
  const Setting* const reset = always[0].find("Recurrent")->find("reset_cells");
  REQUIRE(reset);
  CHECK(reset->value == "true");
  CHECK(!always[1].find("Affine")->find("reset_cells"));
  CHECK(!never[0].find("Recurrent")->find("reset_cells"));
  CHECK(spec_from_text(rnn("50"), "o.yaml").root.find("reset_period")->value == "50");
  CHECK(spec_from_text(rnn("1"), "o.yaml").root.find("freeze")->to_string() == "[h/b]");  // 0.9 added no biases
  CHECK(!spec_from_text(rnn("1"), "o.yaml").root.find("reset_period"));
  CHECK_THAT(old_error(rnn("0")), Contains("reset_period is 0, expected at least 1"));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string file = rnn("1");
    file.replace(file.find(from), from.size(), to);
    return old_error(file);
  };
  CHECK_THAT(changed("batch_size: 8, unrolls: 5", "batch_size: 8, unrolls: 7"), Contains("unrolls is 5 here and 7 at"));
  CHECK_THAT(changed("4, unrolls: 5", "4, unrolls: 6"), Contains("unrolls is 6 here and 5 at"));
  CHECK_THAT(changed("data_dim: 96", "data_dim: 64"), Contains("data_dim is 64, expected 96"));
  // Cells without an activation are linear, or so by name.
  CHECK(always[0].find("Recurrent")->find("activation")->value == "Tanh");
  for (const char* none : {"", ", activation: !obj:transforms.Linear {}"}) {
    std::string linear = rnn("1");
    const std::string tanh = ", activation: !obj:transforms.Tanh {}";
    linear.replace(linear.find(tanh), tanh.size(), none);
    const Spec made = spec_from_text(linear, "o.yaml");
    CHECK(made.root.find("layers")->items[0].find("Recurrent")->find("activation")->value == "Identity");
  }
  // The gradients of the 5 steps were summed, whatever the cost's own factor.
  std::string scaled = rnn("1");
  CHECK(spec_from_text(scaled, "o.yaml").root.find("cost")->to_string() == "{CrossEntropyBinary: {scale: 5}}");
  scaled.replace(scaled.find("CrossEntropy {}"), 15, "CrossEntropy {scale: 3.0, epsilon: 0.01}");
  CHECK(spec_from_text(scaled, "o.yaml").root.find("cost")->to_string() == "{CrossEntropyBinary: {scale: 15}}");
  const std::string without = rnn("1");
  const size_t begin = without.find(", layers: [");
  CHECK_THAT(old_error(without.substr(0, begin) + "}}\n"), Contains("layers"));
}

TEST_CASE("0.9: SPARSENET takes a share of the samples, or percent above 1") {
  for (const auto& [given, percent] : {std::pair("0.25", "25"), std::pair("25", "25"), std::pair("1", "100")}) {
    OldParts parts;
    parts.dataset = text("!obj:datasets.SPARSENET {repo_path: '~/data', sample_pct: ", given, "}");
    parts.data = "nout: 256";
    CHECK(parts.part("dataset") == text("{SparseNet: {subset_pct: ", percent, "}}"));
  }
}

TEST_CASE("0.9: nothing unknown is passed over") {
  OldParts parts;
  parts.model = "num_epochs: 3, batch_size: 8, epoch: 4";
  CHECK_THAT(parts.error(), Contains("o.yaml:5:57: models.MLP has no key 'epoch'"));
  parts = {};
  parts.layers = "!obj:layers.FCLayr {nout: 3},";
  CHECK_THAT(parts.error(),
             Contains("o.yaml:7:5: 'layers.FCLayr' is no class of neon 0.9; did you mean layers.FCLayer"));
  parts.layers = "!obj:my.Layer {nout: 3},";
  CHECK_THAT(parts.error(), Contains("'my.Layer' is no class of neon 0.9; a class of one's own in Python"));
  parts.layers = "!obj:layers.WeightLayer {},";
  CHECK_THAT(parts.error(), Contains("is not taken over; it is the base of layers with weights; write layers.FCLayer"));
  parts.layers = "!obj:transforms.Tanh {},";
  CHECK_THAT(parts.error(), Contains("expected a layer, found transforms.Tanh, an activation"));
  parts = {};
  parts.dataset = "!obj:datasets.DelimFiles {}";
  CHECK_THAT(parts.error(), Contains("datasets.DelimFiles of neon 0.9 is not taken over; 0.9 took live samples"));
  parts.dataset = "!obj:models.BalanceMP {}";
  CHECK_THAT(parts.error(), Contains("models.BalanceMP of neon 0.9 is not taken over; no file of 0.9 had it"));
  parts = {};
  parts.init = "!obj:params.IdentityValGen {scale: 0.5}";
  parts.layers = "!obj:layers.FCLayer {nout: 3, weight_init: *w},";
  CHECK_THAT(parts.part("layers"), Contains("init: {IdentityInit: {scale: 0.5, frozen: false, matrix: true}}"));
  parts = {};
  parts.data = "nout: 785";
  CHECK_THAT(parts.error(), Contains("o.yaml:6:5: the data layer is for 785 numbers a sample, the data set has 784"));
  parts = {};
  parts.rest = "weight_inits: [&x !obj:params.UniformValGn {}]";
  CHECK_THAT(parts.error(),
             Contains("'params.UniformValGn' is no class of neon 0.9; did you mean params.UniformValGen"));
  parts.rest = "weight_decay_of_mine: &x 3";
  CHECK(parts.error() == "");
  CHECK(has_note(parts.spec(), "'weight_decay_of_mine' only holds anchors"));
  CHECK_THAT(old_error("dataset: !obj:datasets.MNIST {}\nlayers: []\n"),
             Contains("o.yaml:1:10: !obj:datasets.MNIST is the notation of neon 0.9, which takes a whole file"));
}

TEST_CASE("0.9: a misspelt key does not pass for one that only holds anchors") {
  OldParts parts;
  parts.layers = "!obj:layers.FCLayer {nout: 10, weight_int: *w, lrule_init: *r},";
  CHECK_THAT(parts.error(), Contains("o.yaml:7:36: layers.FCLayer has no key 'weight_int'; did you mean weight_init"));
  parts.layers = "!obj:layers.FCLayer {nout: 10, of_mine: *w, lrule_init: *r},";
  CHECK_THAT(parts.error(), Contains("layers.FCLayer has no key 'of_mine'"));
  parts.layers = "!obj:layers.FCLayer {nout: 10, weight_int: &q !obj:params.UniformValGen {}, lrule_init: *r},";
  CHECK_THAT(parts.error(), Contains("layers.FCLayer has no key 'weight_int'; did you mean weight_init"));
  parts.layers = "!obj:layers.FCLayer {nout: 10, weight_int: &q !obj:params.UniformValGen {}, weight_init: *q},";
  CHECK(parts.error() == "");
  CHECK(has_note(parts.spec(), "'weight_int' only holds anchors"));
  CHECK(parts.spec().conversion.warnings.empty());
  // The first layer has the anchor of all, so a slip there would leave its own weights to another rule.
  const std::string layer = "!obj:layers.FCLayer {nout: 10, ";
  parts.layers = layer + "brule_int: &q {type: gradient_descent, lr_params: {learning_rate: 1}}, weight_init: *w},\n" +
                 layer + "brule_init: *q, weight_init: *w},";
  CHECK(parts.error() == "");
  REQUIRE(parts.spec().conversion.warnings.size() == 1);
  CHECK_THAT(parts.spec().conversion.warnings[0].text,
             Contains("'brule_int' only holds anchors; did you mean brule_init, which layers.FCLayer lacks here?"));
}

TEST_CASE("0.9: a key that only holds an anchor may be a part of another's name") {
  OldParts parts;
  parts.layers = "!obj:layers.FCLayer {nout: 10, init: &q !obj:params.UniformValGen {low: -2}, weight_init: *q},";
  CHECK(parts.error() == "");
  CHECK_THAT(parts.part("layers"), Contains("init: {Uniform: {low: -2"));
  parts = {};
  parts.model = "num_epochs: 3, batch_size: 8, size: &s 3, rate: &e 3";
  parts.rest = "weight: &even 3";
  CHECK(parts.error() == "");
  CHECK(has_note(parts.spec(), "'rate' only holds anchors"));
  CHECK(has_note(parts.spec(), "'weight' only holds anchors"));
}

TEST_CASE("0.9: images") {
  OldParts parts;
  parts.dataset = "!obj:datasets.CIFAR10 {sample_pct: 10, validation_pct: 20}";
  parts.data = "is_local: True, nofm: 3, ofmshape: [32, 32]";
  parts.layers =
      "!obj:layers.ConvLayer {nofm: 16, fshape: [5, 5], pad: 2, shared_bias: False, weight_init: *w},\n"
      "!obj:layers.PoolingLayer {op: max, fshape: [2, 2]},\n"
      "!obj:layers.ConvLayer {nofm: 4, fshape: [3, 3], local_conv: True, weight_init: *w},\n"
      "!obj:layers.DropOutLayer {keep: 0.4},\n"
      "!obj:layers.FCLayer {nout: 10, activation: !obj:transforms.Softmax {}},";
  CHECK(parts.part("dataset") == "{CIFAR10: {subset_pct: 10, validation: 0.2}}");
  CHECK_THAT(
      parts.part("layers"),
      Contains("{Conv: {name: layer0, fshape: [5, 5], nofm: 16, padding: 2, init: {Gaussian: {scale: 0.01}}}}, "
               "{Pooling: {fshape: [2, 2], op: max, strides: 1}}, {Local: {name: layer1, fshape: [3, 3], nofm: 4"));
  CHECK_THAT(parts.part("layers"), Contains("{Dropout: {keep: 0.4}}"));
  parts.data = "nout: 3072";
  CHECK_THAT(parts.error(), Contains("took for one square map; give it is_local: True, nofm: 3, ofmshape: [32, 32]"));
}

TEST_CASE("0.9: images that are not square") {
  OldParts parts;
  parts.dataset = "!obj:datasets.UniformRandom {ntrain: 64, ntest: 16, nin: 2160, nout: 10}";
  parts.data = "is_local: True, nofm: 3, ofmshape: [20, 36]";
  parts.layers =
      "!obj:layers.ConvLayer {nofm: 6, fshape: [3, 5], weight_init: *w},\n"
      "!obj:layers.PoolingLayer {op: max, fshape: [2, 4], stride: 2},\n"
      "!obj:layers.FCLayer {nout: 10, activation: !obj:transforms.Softmax {}, weight_init: *w},";
  CHECK(parts.error() == "");
  CHECK_THAT(parts.part("dataset"), Contains("nin: [3, 20, 36]"));
  CHECK_THAT(parts.part("layers"), Contains("fshape: [3, 5], nofm: 6"));
  CHECK_THAT(parts.part("layers"), Contains("{Pooling: {fshape: [2, 4], strides: 2, op: max}}"));
  parts.data = "is_local: True, nofm: 3, ofmshape: [20, 35]";
  CHECK_THAT(parts.error(), Contains("the data layer is for 2100 numbers a sample, the data set has 2160"));
  parts.dataset = "!obj:datasets.CIFAR10 {}";
  parts.data = "is_local: True, nofm: 3, ofmshape: [16, 64]";
  CHECK_THAT(parts.error(), Contains("the data layer is for samples (3, 16, 64), the data set has (3, 32, 32)"));
}

TEST_CASE("a converted file keeps comments and anchors, and reads back as the same spec") {
  OldParts parts;
  parts.layers =
      "# the hidden layer\n    !obj:layers.FCLayer {nout: 5, weight_init: *w}, # five\n"
      "    !obj:layers.FCLayer {nout: 10, activation: !obj:transforms.Logistic {}, weight_init: *w},";
  const Spec spec = spec_from_text("# my net\n" + parts.text(), "o.yaml");
  const std::string written = write_converted(spec.root, spec.conversion);
  CHECK_THAT(written, Contains("# my net\ndataset:") || Contains("# my net\n# "));
  CHECK_THAT(written, Contains("  # the hidden layer\n  # five\n  # no bias: 0.9 had biases only"));
  CHECK_THAT(written, Contains("      init: &w\n        Gaussian:\n          scale: 0.01\n"));
  CHECK_THAT(written, Contains("      init: *w\n"));
  const Spec again = spec_from_text(written, "n.yaml");
  CHECK(again.notation == "native");
  CHECK(same_tree(again.root, spec.root));
}

TEST_CASE("0.9: the means of an Imageset are subtracted, if they are asked for") {
  const auto normalize = [](const std::string& set) {
    OldParts parts;
    parts.data = "is_local: True, nofm: 3, ofmshape: [28, 28]";
    parts.dataset =
        "!obj:datasets.Imageset {repo_path: '/data', save_dir: '/none', macro_size: 8, output_image_size: 32, "
        "cropped_image_size: 28, imageset: " +
        set + "}";
    return parts.part("normalize");
  };
  CHECK(normalize("birds") == "{mean: [127, 127, 127]}");
  CHECK(normalize("birds, mean_norm: True") == "{measure_mean: true}");
  CHECK(normalize("birds, mean_norm: True, unit_norm: True") == "{measure_mean: true, std: [128, 128, 128]}");
  CHECK(normalize("birds, unit_norm: True") == "{mean: [127, 127, 127], std: [256, 256, 256]}");
  CHECK(normalize("I1K, mean_norm: True") == "{mean: [124, 117, 104]}");
}

TEST_CASE("0.9: an Imageset is read from its macrobatches, if they are there") {
  const TempFolder folder;
  const std::string save_dir = folder.path();
  const auto dataset = [&](const std::string& more = "") {
    OldParts parts;
    parts.data = "is_local: True, nofm: 1, ofmshape: [28, 28]";
    parts.dataset = "!obj:datasets.Imageset {repo_path: '/data', save_dir: '" + save_dir +
                    "', imageset: birds, macro_size: 8, output_image_size: 32, cropped_image_size: 28, "
                    "dotransforms: True, num_channels: 1" +
                    more + "}";
    return parts.part("dataset");
  };
  CHECK(dataset() ==
        "{ImageFolder: {path: /data/birds, size: 32, channels: 1, normalize: false, test: none, validation: 0.2}}");
  put_file(save_dir + "/dataset_cache.pkl", "x");
  CHECK(dataset() == "{ImageFolder: {path: \"" + save_dir + "\", size: 32, channels: 1, normalize: false}}");
  CHECK(dataset(", ntrain: 6, train_start: 414, nval: 1, val_start: 1000") ==
        "{ImageFolder: {path: \"" + save_dir +
            "\", size: 32, channels: 1, normalize: false, macrobatches: {ntrain: 6, train_start: 414, nval: 1, "
            "val_start: 1000}}}");
}
