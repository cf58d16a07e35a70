// Conventions of neon 0.9 that change results, and what is said of them.
#include <catch2/catch.hpp>

#include "tests/spec/old_parts.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

TEST_CASE("0.9: what `<<` merges counts, and a map's own keys before it") {
  OldParts parts;
  parts.rest =
      "unused: &c {nout: 7, lrule_init: {type: adadelta}, weight_init: !obj:params.UniformValGen {high: 2}}, "
      "more: &e {nout: 8, batch_norm: True},";
  parts.layers = "!obj:layers.FCLayer {<<: *c, nout: 10, activation: !obj:transforms.Logistic {}},";
  // Anchors stand before their aliases.
  const std::string text = parts.text();
  const size_t rest = text.find(parts.rest);
  const std::string moved = text.substr(0, rest) + text.substr(rest + parts.rest.size());
  const size_t open = moved.find("{\n") + 2;
  const auto layers = [&](const std::string& from, const std::string& to) {
    std::string file = moved.substr(0, open) + parts.rest + moved.substr(open);
    file.replace(file.find(from), from.size(), to);
    const Spec made = spec_from_text(file, "o.yaml");
    return made.root.find("layers")->to_string() + " " + made.root.find("optimizer")->to_string();
  };
  CHECK(layers("<<: *c", "<<: *c") ==
        "[{Affine: {name: layer0, nout: 10, activation: Logistic, init: {Uniform: {high: 2}}}}] Adadelta");
  CHECK_THAT(layers("<<: *c, nout: 10", "<<: [*c, *e]"), Contains("nout: 7, batch_norm: {eps: 0.000001}"));
  CHECK_THAT(layers("<<: *c, nout: 10", "<<: [*e, *c]"), Contains("nout: 8, batch_norm: {eps: 0.000001}"));
  const std::string wrong = message_of([&] { layers("<<: *c", "<<: 3"); });
  CHECK_THAT(wrong, Contains("'<<' merges a map or a list of maps, and this is neither"));
}

TEST_CASE("0.9: a rule's dictionary may hold keys of other rules, which had no effect") {
  OldParts parts;
  parts.rule =
      "{type: adadelta, lr_params: {rho: 0.9, learning_rate: 0.1, momentum_params: {type: none}, schedule: {}, "
      "weight_decay: 1, gamma: 2, backend_type: np.float32}}";
  CHECK(parts.part("optimizer") == "{Adadelta: {decay: 0.9}}");
  CHECK(has_note(parts.spec(), "'momentum_params' is left out: 0.9 did not use it in this rule"));
  parts.rule = "{type: gradient_descent, lr_params: {learning_rate: 0.1, momentum_param: {}}}";
  CHECK_THAT(parts.error(), Contains("has no key 'momentum_param'; did you mean momentum_params?"));
}

TEST_CASE("0.9: what convert says of a cost follows from the activation") {
  OldParts parts;
  parts.layers = "!obj:layers.FCLayer {nout: 10, activation: !obj:transforms.Tanh {}},";
  CHECK_THAT(parts.error(), Contains("CrossEntropy after Tanh: it takes outputs between 0 and 1"));
  parts.layers = "!obj:layers.FCLayer {nout: 10, activation: !obj:transforms.Linear {}},";
  CHECK_THAT(parts.error(), Contains("CrossEntropy after no activation: it takes outputs between 0 and 1"));
  parts.layers = "!obj:layers.FCLayer {nout: 10, activation: !obj:transforms.Logistic {}},";
  CHECK(has_note(parts.spec(), "CrossEntropy after Logistic: the sum over all outputs"));
  parts.layers = "!obj:layers.FCLayer {nout: 10, activation: !obj:transforms.Softmax {}},";
  parts.cost = "cost: !obj:transforms.SumSquaredDiffs {}";
  CHECK(has_note(parts.spec(), "0.9 left Softmax's derivative out"));
}

TEST_CASE("0.9: ranges of a search stay in what is converted, wherever a value stood") {
  OldParts parts;
  parts.rule =
      "{type: gradient_descent_momentum, lr_params: {learning_rate: !hyperopt a FLOAT 0.1 0.5, momentum_params: {type: "
      "linear_monotone, initial_coef: !hyperopt b FLOAT 0.1 0.5, saturated_coef: 0.9, start_epoch: 1, saturate_epoch: "
      "!hyperopt c INT 2 8}, schedule: {type: step, ratio: !hyperopt d FLOAT 0.1 0.5, step_epochs: 2}}}";
  const Spec kept = spec_from_text(parts.text(), "o.yaml", {}, {.keep = true});
  CHECK(kept.root.find("optimizer")->to_string() ==
        "{GradientDescentMomentum: {learning_rate: {search: {linear: [0.1, 0.5], name: a}}, momentum_coef: {search: "
        "{linear: [0.1, 0.5], name: b}}, momentum_end: 0.9, momentum_epochs: [1, {search: {int: [2, 8], name: c}}], "
        "schedule: {PowerSchedule: {step_config: 2, change: {search: {linear: [0.1, 0.5], name: d}}}}}}");
  CHECK(
      parts.part("optimizer") ==
      "{GradientDescentMomentum: {learning_rate: 0.3, momentum_coef: 0.3, momentum_end: 0.9, momentum_epochs: [1, 5], "
      "schedule: {PowerSchedule: {step_config: 2, change: 0.3}}}}");
  parts.dataset = "!obj:datasets.MNIST {validation_pct: !hyperopt e INT 10 30}";
  CHECK_THAT(message_of([&] { spec_from_text(parts.text(), "o.yaml", {}, {.keep = true}); }),
             Contains("'validation_pct': expected a number, found a range"));
}

TEST_CASE("0.9: a value of another kind is an error, wherever it stands") {
  const auto says = [](std::string OldParts::*part, const std::string& text) {
    OldParts parts;
    parts.*part = text;
    return parts.error();
  };
  const auto rule = [&](const std::string& params) {
    return says(&OldParts::rule, "{type: gradient_descent_momentum, lr_params: {learning_rate: 0.1, " + params + "}}");
  };
  CHECK_THAT(rule("momentum_params: 0.9"), Contains("'momentum_params': expected a map, {key: value}, found '0.9'"));
  CHECK_THAT(rule("momentum_params: [constant, 0.9]"), Contains("'momentum_params': expected a map"));
  CHECK_THAT(rule("schedule: 7"), Contains("'schedule': expected a map"));
  CHECK(rule("momentum_params: , schedule: ") == "");
  CHECK_THAT(says(&OldParts::rule, "{type: adadelta, lr_params: 3}"), Contains("'lr_params': expected a map"));
  for (const char* rest : {"metrics: [!obj:metrics.MSE {}]", "metrics: 17", "logging: 5", "diagnostics: [ranges]"})
    CHECK_THAT(says(&OldParts::rest, rest), Contains("expected a map, {key: value}, found"));
  CHECK_THAT(says(&OldParts::rest, "logging: {level: high}"), Contains("'level': expected a whole number, found"));
  for (const char* type : {"np.int16", "float", "foo.float64", "np.float8", "16"})
    CHECK_THAT(says(&OldParts::layers, text("!obj:layers.FCLayer {nout: 3, backend_type: ", type, "},")),
               Contains("expected np.float16, np.float32 or np.float64"));
  CHECK_THAT(says(&OldParts::rest, "predictions: 9"), Contains("predictions: expected a list of sets"));
  CHECK_THAT(says(&OldParts::rest, "predictions: [tset],"),
             Contains("'tset' is no set; 0.9 had train, test and validation; did you mean test?"));
  const std::string model = "num_epochs: 3, batch_size: 8, ";
  CHECK_THAT(says(&OldParts::model, model + "serialized_path: [x]"), Contains("expected one word, found a list"));
  CHECK_THAT(says(&OldParts::model, model + "serialized_path: ''"), Contains("expected a path, found ''"));
  CHECK_THAT(says(&OldParts::model, model + "serialized_path: x, save_checkpoints: [2]"),
             Contains("'save_checkpoints': expected a whole number, found a list"));
  CHECK_THAT(says(&OldParts::dataset, "!obj:datasets.MNIST {repo_path: {a: b}}"), Contains("expected one word"));
  CHECK_THAT(says(&OldParts::data, "nout: [784, 2]"), Contains("'nout': expected a whole number, found a list"));
  CHECK_THAT(says(&OldParts::layers, "!obj:layers.FCLayer {nout: 3, backend_type: [np.float32]},"),
             Contains("'backend_type': expected one word, found a list"));
  CHECK_THAT(says(&OldParts::layers, "!obj:layers.BranchLayer {sublayers: !obj:layers.FCLayer {nout: 3}},"),
             Contains("'sublayers': expected a list, [...], found !obj:layers.FCLayer"));
}

TEST_CASE("0.9: checkpoints after the epochs of a list, or every so many") {
  OldParts parts;
  const auto epochs = [&](const std::string& schedule) {
    parts.model = "num_epochs: 3, batch_size: 8, serialized_path: a.prm, serialize_schedule: " + schedule;
    return parts.spec().conversion.options.find("serialize")->value;
  };
  CHECK(epochs("3") == "3");
  CHECK(epochs("[3]") == "3,");
  CHECK(epochs("[3, 5]") == "3,5");
}

TEST_CASE("0.9: copies of files that the schedule wrote, beside that of the last epoch") {
  OldParts parts;
  const auto kept = [&](const std::string& model) {
    parts.model = "batch_size: 8, " + model;
    const auto spec = parts.spec();
    const Setting* const found = spec.conversion.options.find("history");
    return found ? found->value : "absent";
  };
  // Of 25 epochs 0.9 kept the files of 10 and 20, and that of the end; of 20 epochs the last two of these are one.
  CHECK(kept("num_epochs: 25, serialized_path: a, serialize_schedule: [3, 10, 20], save_checkpoints: 2") == "2");
  CHECK(has_note(parts.spec(), "save_checkpoints: --history 2 keeps as many files beside that of the last epoch"));
  CHECK(kept("num_epochs: 20, serialized_path: a, serialize_schedule: [3, 10, 20], save_checkpoints: 2") == "1");
  CHECK(kept("num_epochs: 25, serialized_path: a, serialize_schedule: 5, save_checkpoints: 2") == "1");
  CHECK(kept("num_epochs: 24, serialized_path: a, serialize_schedule: 5, save_checkpoints: 2") == "2");
  CHECK(kept("num_epochs: 24, serialized_path: a, save_checkpoints: 2") == "absent");
  CHECK(has_note(parts.spec(), "'save_checkpoints' is left out: without serialized_path and serialize_schedule"));
  CHECK(kept("num_epochs: 24, serialize_schedule: 5") == "absent");
  CHECK(has_note(parts.spec(), "'serialize_schedule' is left out: without serialized_path, 0.9 wrote no file"));
  for (const char* schedule : {"0", "[3, 0]", "-1"}) {
    parts.model = text("batch_size: 8, num_epochs: 3, serialized_path: a, serialize_schedule: ", schedule);
    CHECK_THAT(parts.error(), Contains("serialize_schedule: epochs count from 1, found"));
  }
}

TEST_CASE("0.9: rules and first values of biases that a layer lacks are named") {
  OldParts parts;
  const std::string rule = "brule_init: {type: adadelta}";
  parts.layers = "!obj:layers.FCLayer {nout: 10, " + rule + ", activation: !obj:transforms.Logistic {}},";
  CHECK(has_note(parts.spec(), "'brule_init' is left out: the layer has no bias"));
  parts.init = "!obj:params.UniformValGen {bias_init: 1}";
  parts.layers = "!obj:layers.FCLayer {nout: 10, weight_init: *w, " + rule + "},";
  parts.cost = "cost: !obj:transforms.SumSquaredDiffs {}";
  CHECK_FALSE(has_note(parts.spec(), "'brule_init' is left out"));
  parts.layers = "!obj:layers.FCLayer {nout: 10, batch_norm: True, weight_init: *w, " + rule + "},";
  CHECK(has_note(parts.spec(), "'brule_init' is left out: the layer has no bias"));
  parts.layers =
      "!obj:layers.RecurrentHiddenLayer {nout: 10, weight_init: *w, weight_init_rec: *w}, !obj:layers.FCLayer {nout: "
      "10},";
  CHECK(has_note(parts.spec(), "'bias_init' is left out: layers.RecurrentHiddenLayer adds no bias"));
}

TEST_CASE("0.9: parts that a run lacks are warnings of the run") {
  OldParts parts;
  const auto warned = [&](const std::string& rest) {
    parts.rest = rest;
    const Spec made = parts.spec();
    return made.conversion.warnings.size() == 1 ? made.conversion.warnings[0].text : "not one warning";
  };
  parts.rest = "diagnostics: {timing: False, ranges: True},";
  CHECK(parts.part("callbacks") == "[{Hist: {ranges: true}}]");
  CHECK(parts.spec().conversion.warnings.empty());
  parts.rest = "diagnostics: {ranges: True, decorate_ranges: [fprop_fc], decorate_fc: [update_fc], verbosity: silent},";
  for (const char* note : {"'decorate_ranges' is left out", "'decorate_fc' is left out", "'verbosity' is left out"})
    CHECK(has_note(parts.spec(), note));
  CHECK(warned("predictions: [train, test],") == "not one warning");
  CHECK(parts.part("predictions") == "[train, test]");
  parts.rest = "predictions: {test: 1},";
  CHECK(parts.part("predictions") == "[test]");
  CHECK_THAT(warned("diagnostics: {timing: True, ranges: False},"),
             Contains("diagnostics: timing is no part of a run"));
  CHECK(warned("predictions: [],") == "not one warning");
  parts.rest = "metrics: {train: [!obj:metrics.LogLossSum {}], test: [!obj:metrics.MisclassSum {}]},";
  CHECK(has_note(parts.spec(), "metrics: each set has all of them here"));
  parts.rest = "metrics: {train: [!obj:metrics.MisclassSum {}], test: [!obj:metrics.MisclassSum {}]},";
  CHECK_FALSE(has_note(parts.spec(), "metrics: each set has all of them here"));
}

TEST_CASE("0.9: pooling over maps, and batch norm behind filters of each place, are layers of their own") {
  OldParts parts;
  parts.dataset = "!obj:datasets.ToyImages {}";
  parts.data = "is_local: True, nofm: 3, ofmshape: [32, 32]";
  const std::string conv = "!obj:layers.ConvLayer {name: c, weight_init: *w, lrule_init: *r, fshape: [5, 5], nofm: 8",
                    out = "!obj:layers.FCLayer {nout: 10, lrule_init: *r, activation: !obj:transforms.Softmax {}},";
  parts.layers = conv +
                 "}, !obj:layers.PoolingLayer {op: max, fshape: [2, 2], stride: 2, maxout: 4}, "
                 "!obj:layers.ConvLayer {fshape: [3, 3], lrule_init: *r}, " +
                 out;
  CHECK_THAT(parts.part("layers"),
             Contains("{Sequential: {layers: [{Maxout: 4}, {Pooling: {fshape: [2, 2], strides: 2, op: max}}]}}") &&
                 Contains("fshape: [3, 3], init: {Gaussian: {scale: 0.01}}, nofm: 2}"));  // 8 / 4
  parts.layers = conv + ", local_conv: True, batch_norm: True, activation: !obj:transforms.RectLin {}}, " + out;
  CHECK_THAT(
      parts.part("layers"),
      Contains("{Sequential: {layers: [{Local: {name: c, fshape: [5, 5], nofm: 8, init: {Gaussian: {scale: 0.01}}}}, "
               "{BatchNorm: {eps: 0.000001, name: c_bnorm}}, {Activation: {transform: Rectlin}}]}}"));
  parts.layers =
      "!obj:layers.ConvLayer {weight_init: !obj:params.IdentityValGen {scale: 2}, lrule_init: *r, local_conv: "
      "True, fshape: [5, 5], nofm: 8}, " +
      out;
  CHECK_THAT(parts.part("layers"), Contains("init: {IdentityInit: {scale: 2, frozen: false, matrix: true}}"));
  CHECK(has_note(parts.spec(), "IdentityInit: the filters of each place are a matrix (C R S, K) of their own"));
}

TEST_CASE("0.9: biases of each pixel stay before batch norm, which takes off the mean of a map") {
  OldParts parts;
  parts.dataset = "!obj:datasets.ToyImages {}";
  parts.data = "is_local: True, nofm: 3, ofmshape: [32, 32]";
  parts.init = "!obj:params.UniformValGen {bias_init: 1}";
  const auto layers = [&](const std::string& keys) {
    parts.layers = "!obj:layers.ConvLayer {name: c, weight_init: *w, lrule_init: *r, fshape: [5, 5], nofm: 8, " + keys +
                   "batch_norm: True}, !obj:layers.FCLayer {nout: 10, activation: !obj:transforms.Softmax {}},";
    return parts.part("layers");
  };
  CHECK_THAT(layers("shared_bias: False, "),
             Contains("init: Uniform, bias: {Constant: 1}, shared_bias: false}}, {BatchNorm: {"));
  CHECK_FALSE(has_note(parts.spec(), "no bias beside batch norm"));
  CHECK_THAT(layers("shared_bias: False, local_conv: True, "), Contains("{Sequential: {layers: [{Local: {name: c, "));
  CHECK_THAT(parts.part("layers"), Contains("bias: {Constant: 1}") && Contains("{BatchNorm: "));
  CHECK_THAT(layers(""), !Contains("Constant: 1"));
  CHECK(has_note(parts.spec(), "no bias beside batch norm"));
}

TEST_CASE("0.9: metrics of the training set") {
  OldParts parts;
  parts.rest = "metrics: {train: [!obj:metrics.MisclassRate {}], test: [!obj:metrics.AUC {}]},";
  CHECK(parts.part("train_metrics") == "10000");
  CHECK(parts.part("metrics") == "[{AUC: {pos_label: 1}}, Misclassification]");
  parts.data = "nout: 13";
  parts.dataset = "!obj:datasets.Housing {}";
  CHECK(parts.part("train_metrics") == "absent");
  CHECK(has_note(parts.spec(), "train_metrics: N evaluates N training samples"));
  parts.dataset = "!obj:datasets.Housing {test_pct: 10}";
  CHECK(parts.part("train_metrics") == "10000");
}

TEST_CASE("0.9: a remark stands at the layer that it is of") {
  OldParts parts;
  parts.init = "!obj:params.UniformValGen {bias_init: 1}";
  parts.layers =
      "!obj:layers.FCLayer {name: a, nout: 5, weight_init: *w},\n"
      " !obj:layers.FCLayer {name: b, nout: 5, weight_init: *w, batch_norm: True, activation: !obj:transforms.Logistic "
      "{}},";
  const Spec made = parts.spec();
  for (const Remark& remark : made.conversion.remarks)
    if (remark.text.starts_with("no bias beside batch norm"))
      CHECK(remark.where.to_string() == made.root.find("layers")->items[1].where.to_string());
  CHECK(has_note(made, "no bias beside batch norm"));
}

TEST_CASE("0.9: numbers are those of YAML 1.1") {
  OldParts parts;
  parts.model = "num_epochs: 010, batch_size: 1_28";
  CHECK(parts.part("epochs") == "8");
  CHECK(parts.part("batch_size") == "128");
  CHECK(has_note(parts.spec(), "o.yaml:5:39: '010' is 8, as YAML 1.1 reads it"));
}

TEST_CASE("0.9: units before a layer of images are one square map") {
  OldParts parts;
  const auto layers = [&](const std::string& units, const std::string& between) {
    parts.layers = "!obj:layers.FCLayer {name: h, nout: " + units + ", lrule_init: *r, weight_init: *w}," + between +
                   "!obj:layers.ConvLayer {name: c, nofm: 2, fshape: [3, 3], lrule_init: *r, weight_init: *w, "
                   "activation: !obj:transforms.Logistic {}},";
    return parts.part("layers");
  };
  CHECK_THAT(layers("49", ""), Contains("}, {Reshape: {reshape: [1, 7, 7]}}, {Conv: {name: c"));
  CHECK(has_note(parts.spec(), "the 49 units before a layer of images are one square map, as in 0.9"));
  CHECK_THAT(layers("49", "!obj:layers.DropOutLayer {},"), Contains("Dropout, {Reshape: {reshape: [1, 7, 7]}}"));
  CHECK_THAT(layers("49", "!obj:layers.PoolingLayer {op: max, fshape: [2, 2]},"),
             Contains("{Reshape: {reshape: [1, 7, 7]}}, {Pooling: {fshape: [2, 2], op: max, strides: 1}}, {Conv"));
  CHECK_THAT(layers("50", ""), !Contains("Reshape"));
  CHECK_THAT(layers("50", "!obj:layers.SliceLayer {end_idx: 49},"), Contains("{Reshape: {reshape: [1, 7, 7]}}, {Conv"));
}

TEST_CASE("0.9: units of branches before a layer of images are one square map") {
  OldParts parts;
  const auto layers = [&](const std::string& first, const std::string& sublayers) {
    parts.layers = first + "!obj:layers.BranchLayer {name: b, sublayers: [" + sublayers +
                   "]},!obj:layers.ConvLayer {name: c, nofm: 2, fshape: [3, 3], lrule_init: *r, weight_init: *w},";
    return parts.part("layers");
  };
  const auto dense = [](const std::string& units) {
    return "!obj:layers.FCLayer {nout: " + units + ", lrule_init: *r, weight_init: *w}";
  };
  const std::string conv = "!obj:layers.ConvLayer {nofm: 2, fshape: [3, 3], lrule_init: *r, weight_init: *w}";
  CHECK_THAT(layers("", dense("40") + ", !obj:layers.ListLayer {sublayers: [" + dense("20") + ", " + dense("9") +
                            ", !obj:layers.DropOutLayer {}]}"),
             Contains("{Reshape: {reshape: [1, 7, 7]}}, {Conv: {name: c"));
  // A branch that passes the 9 units before it on.
  CHECK_THAT(layers(dense("9") + ",", dense("7") + ", !obj:layers.DropOutLayer {}"),
             Contains("{Reshape: {reshape: [1, 4, 4]}}, {Conv: {name: c"));
  CHECK_THAT(layers("", dense("40") + ", " + dense("10")), !Contains("Reshape"));
  // Within the branches alone: behind a layer of images their units are not known to be flat.
  const std::string within =
      layers(dense("36") + ",", conv + ", !obj:layers.ListLayer {sublayers: [" + dense("49") + ", " + conv + "]}");
  CHECK_THAT(within, Contains("[[{Reshape: {reshape: [1, 6, 6]}}, {Conv: ") &&
                         Contains("{Reshape: {reshape: [1, 7, 7]}}, {Conv: ") && Contains("]]}}, {Conv: {name: c"));
}

TEST_CASE("0.9: samples of numbers, and maps of branches, before a layer of images are one square map") {
  OldParts parts;
  parts.dataset = "!obj:datasets.UniformRandom {ntrain: 20, ntest: 20, nin: 81, nout: 2}";
  parts.data = "nout: 81";
  const std::string conv = "!obj:layers.ConvLayer {fshape: [3, 3], lrule_init: *r, weight_init: *w, nofm: ";
  parts.layers = conv + "2},";
  CHECK_THAT(parts.part("layers"), Contains("[{Reshape: {reshape: [1, 9, 9]}}, {Conv:"));
  CHECK_THAT(parts.part("dataset"), Contains("nin: [81]"));
  parts.layers = "!obj:layers.PoolingLayer {op: max, fshape: [2, 2]},";
  CHECK_THAT(parts.part("layers"), Contains("[{Reshape: {reshape: [1, 9, 9]}}, {Pooling:"));
  // 1 + 3 maps of (11 - 3)/1 + 1 = 9 by 9: 324 units, the square of 18.
  parts = {};
  parts.dataset = "!obj:datasets.UniformRandom {ntrain: 20, ntest: 20, nin: 242, nout: 2}";
  parts.data = "is_local: True, nofm: 2, ofmshape: [11, 11]";
  parts.layers = "!obj:layers.BranchLayer {sublayers: [" + conv + "1}, " + conv + "3}]}, " + conv + "4},";
  CHECK_THAT(parts.part("layers"), Contains("{Reshape: {reshape: [1, 18, 18]}}, {Conv:"));
}

TEST_CASE("0.9: layers of images have the maps of their input, and windows within it") {
  OldParts parts;
  parts.dataset = "!obj:datasets.ToyImages {}";
  parts.data = "is_local: True, nofm: 3, ofmshape: [32, 32]";
  const auto conv = [](const std::string& keys) {
    return "!obj:layers.ConvLayer {lrule_init: *r, weight_init: *w, " + keys + "},";
  };
  const std::string pool = "!obj:layers.PoolingLayer {op: max, fshape: [2, 2], stride: 2, nofm: 16},";
  parts.layers = conv("fshape: [5, 5]") + conv("fshape: [4, 4], nofm: 16") + pool + conv("fshape: [3, 3]");
  const std::string made = parts.part("layers");
  CHECK_THAT(made, Contains("fshape: [5, 5], init: {Gaussian: {scale: 0.01}}, nofm: 3}") &&
                       Contains("fshape: [3, 3], init: {Gaussian: {scale: 0.01}}, nofm: 16}"));
  CHECK(has_note(parts.spec(), "'nofm' is left out: the maps are those of the input"));
  // (32 - 5) + 1 = 28, (28 - 4) + 1 = 25, (25 - 2)/2 + 1 = 12.
  parts.layers = conv("fshape: [5, 5]") + conv("fshape: [4, 4]") + pool + conv("fshape: [12, 13]");
  CHECK_THAT(parts.error(), Contains("fshape: a window of 13 is larger than its input of 12"));
  parts.layers = conv("fshape: [5, 5]") + conv("fshape: [4, 4]") + pool + conv("fshape: [12, 12]");
  CHECK(parts.error() == "");
  // A single square map behind 49 units.
  parts.layers = "!obj:layers.FCLayer {nout: 49}," + conv("fshape: [3, 3]");
  CHECK_THAT(parts.part("layers"), Contains("{Reshape: {reshape: [1, 7, 7]}}") && Contains("nofm: 1}"));
  parts.layers = "!obj:layers.FCLayer {nout: 50}," + conv("fshape: [3, 3]");
  CHECK_THAT(parts.error(), Contains("layers.ConvLayer needs 'nofm' here"));
}

TEST_CASE("0.9: an experiment without metrics reported wrong answers in percent") {
  OldParts parts;
  const char* const words = "0.9 reported MisclassPercentage of the training and of the test set";
  CHECK(has_note(parts.spec(), words));
  parts.rest = "metrics: {test: [!obj:metrics.AUC {}]},";
  CHECK_FALSE(has_note(parts.spec(), words));
}
