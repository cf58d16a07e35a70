#include "neon/spec/spec.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <ctime>

#include "tests/spec/messages.h"

using namespace neon;
using Catch::Contains;
using Catch::Equals;

namespace {

Spec spec(std::string_view text) { return spec_from_text(text, "m.yaml"); }
std::string error(std::string_view text) {
  return message_of([&] { spec_from_text(text, "m.yaml"); });
}
std::string part(const Spec& spec, const char* key) {
  const Setting* found = spec.root.find(key);
  return found ? found->to_string() : "absent";
}

// The digits perceptron that neon 1.0 shipped: a rectified layer of 100, a logistic one of 10.
const char* const kFlat = R"(
backend: cpu
epochs: 10
batchsize: 128
init_small: &small {type: Gaussian, loc: 0.0, scale: 0.01}
layers:
- {type: Affine, nout: 100, init: *small, activation: Rectlin}
- type: Affine
  nout: 10
  init: *small
  activation: {type: Logistic, shortcut: true}
cost: CrossEntropyBinary
optimizer: {type: GradientDescentMomentum, learning_rate: 0.1, momentum_coef: 0.9,
            schedule: {type: Schedule, step_config: [5], change: 0.1}}
dataset: {name: mnist, path: ~/data}
)";

// The same as 1.2 and later wrote it, with its doubled anchor holders.
const char* const kNested = R"(
backend: mkl
batchsize: 128
epochs: 10
wt_init: &small
  type: Gaussian
  config: {loc: 0.0, scale: 0.01}
wt_init: &zero {type: Constant, config: {val: 0}}
layers:
- {type: Linear, config: {nout: 100, init: *small}}
- {type: Bias, config: {init: *zero}}
- {type: Activation, config: {transform: {type: Rectlin}}}
- type: Linear
  config: {nout: 10, init: *small, name: special_linear}
- type: Activation
  config:
    transform: {type: neon.transforms.Logistic, config: {shortcut: true}}
cost: CrossEntropyBinary
optimizer:
  type: MultiOptimizer
  config:
    optimizer_mapping:
      default: &gdm {type: GradientDescentMomentum, config: {learning_rate: 0.1, momentum_coef: 0.9}}
      special_linear: &rms {type: RMSProp, config: {learning_rate: 0.001}}
      Bias: *rms
dataset: {name: mnist}
)";

}  // namespace

TEST_CASE("neon 1.0: parameters beside type") {
  const Spec s = spec(kFlat);
  CHECK(s.notation == "1.0");
  CHECK(part(s, "layers") ==
        "[{Affine: {nout: 100, init: {Gaussian: {loc: 0.0, scale: 0.01}}, activation: Rectlin}}, "
        "{Affine: {nout: 10, init: {Gaussian: {loc: 0.0, scale: 0.01}}, activation: {Logistic: {shortcut: true}}}}]");
  CHECK(part(s, "optimizer") ==
        "{GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9, "
        "schedule: {Schedule: {step_config: [5], change: 0.1}}}}");
  CHECK(part(s, "dataset") == "{MNIST: {fallback: Digits}}");
  CHECK(s.conversion.options.to_string() == "{data_dir: ~/data}");
  CHECK(part(s, "cost") == "CrossEntropyBinary");
  CHECK(part(s, "batch_size") == "128");
  CHECK(part(s, "backend") == "cpu");
  CHECK(part(s, "batchsize") == "absent");
  CHECK(part(s, "init_small") == "absent");
  CHECK(s.notes ==
        std::vector<std::string>{"m.yaml:5:1: 'init_small' only holds anchors",
                                 "m.yaml:15:17: fallback: digits that neon draws stand in for MNIST where MNIST is not "
                                 "here and cannot be downloaded",
                                 "m.yaml:2:1: samples come in a new order in each epoch, where neon 1.x "
                                 "kept theirs; shuffle: false keeps it",
                                 "m.yaml:15:30: path: data sets are looked for in ~/data if that folder "
                                 "exists, else in neon's own folder"});
}

TEST_CASE("neon 1.2: type and config; all anchors of doubled keys stay") {
  const Spec s = spec(kNested);
  CHECK(s.notation == "1.2");
  CHECK(part(s, "layers") ==
        "[{Linear: {nout: 100, init: {Gaussian: {loc: 0.0, scale: 0.01}}}}, "
        "{Bias: {init: {Constant: {val: 0}}}}, {Activation: {transform: Rectlin}}, "
        "{Linear: {nout: 10, init: {Gaussian: {loc: 0.0, scale: 0.01}}, name: special_linear}}, "
        "{Activation: {transform: {Logistic: {shortcut: true}}}}]");
  CHECK(part(s, "optimizer") ==
        "{MultiOptimizer: {optimizer_mapping: {default: {GradientDescentMomentum: {learning_rate: 0.1, "
        "momentum_coef: 0.9}}, special_linear: {RMSProp: {learning_rate: 0.001}}, "
        "Bias: {RMSProp: {learning_rate: 0.001}}}}}");
  CHECK(part(s, "dataset") == "{MNIST: {fallback: Digits}}");
  CHECK(s.notes ==
        std::vector<std::string>{"m.yaml:8:1: key 'wt_init' is given twice, first at m.yaml:5:1; the last counts",
                                 "m.yaml:8:1: 'wt_init' only holds anchors",
                                 "m.yaml:26:17: fallback: digits that neon draws stand in for MNIST where MNIST is "
                                 "not here and cannot be downloaded",
                                 "m.yaml:2:1: samples come in a new order in each epoch, where neon 1.x kept theirs; "
                                 "shuffle: false keeps it"});
}

TEST_CASE("the order of samples in files of 1.x") {
  const std::string file = "epochs: 1\nlayers: [{type: Affine, nout: 3}]\n";
  const std::string in_order = "where neon 1.x kept theirs; shuffle: false keeps it";
  CHECK_THAT(spec(file + "dataset: {name: mnist}\n").notes.back(), Contains(in_order));
  const Spec s = spec(file + "dataset: {name: mnist, shuffle: true, fallback: null}\nshuffle: false\n");
  CHECK(part(s, "dataset") == "{MNIST: {fallback: null}}");
  CHECK(part(s, "shuffle") == "false");
  CHECK(s.notes == std::vector<std::string>{"m.yaml:3:33: 'shuffle' of the data set is left out; shuffle of the spec "
                                            "draws a new order in each epoch"});
  CHECK(spec(file + "dataset: {name: ptb}\n").notes.empty());
}

TEST_CASE("--set reaches into a converted data set by its class, and into one of 1.x by its own keys") {
  const std::string file = "epochs: 1\nlayers: [{type: Affine, nout: 3}]\ndataset: {name: cifar10}\n";
  const auto dataset = [&](const std::vector<Override>& overrides) {
    return spec_from_text(file, "m.yaml", overrides).root.find("dataset")->to_string();
  };
  CHECK(dataset({"dataset.CIFAR10.subset_pct=2"}) == "{CIFAR10: {subset_pct: 2}}");
  CHECK(dataset({"dataset.subset_pct=3"}) == "{CIFAR10: {subset_pct: 3}}");
  CHECK(dataset({"dataset.name=mnist", "dataset.MNIST.size=32"}) == "{MNIST: {fallback: Digits, size: 32}}");
}

TEST_CASE("gradients of steps in files of 1.x") {
  const auto notes = [](const std::string& layers) { return spec("epochs: 1\nlayers:\n" + layers).notes; };
  const std::string branch = "- {type: MergeSum, config: {layers: [[{type: DeepBiLSTM, config: {nout: 3}}]]}}\n";
  REQUIRE(notes(branch).size() == 1);
  CHECK_THAT(notes(branch)[0],
             Contains("m.yaml:3:1: gradients are means over the steps of a sequence, where neon 1.x"));
  CHECK(notes("- {type: GRU, config: {output_size: 3}}\n- {type: RecurrentLast}\n").empty());
  CHECK(notes("- {type: Affine, config: {nout: 3}}\n").empty());
}

TEST_CASE("the cost of a net of 1.x sums over the steps that its data set has") {
  const auto cost = [](const std::string& given, const std::string& data, const std::string& layers = "") {
    return part(spec("epochs: 1\nlayers:\n- {type: GRU, config: {output_size: 3}}\n" + layers + "cost: " + given +
                     "\ndataset: " + data + "\n"),
                "cost");
  };
  const std::string data = "{name: ptb, timesteps: 20}";
  CHECK(cost("CrossEntropyMulti", data) == "{CrossEntropyMulti: {scale: 20}}");
  CHECK(cost("{type: CrossEntropyMulti, config: {usebits: true, scale: 0.5}}", data) ==
        "{CrossEntropyMulti: {usebits: true, scale: 10}}");
  CHECK(cost("{type: GeneralizedCost, config: {costfunc: {type: SumSquared}}}", data) ==
        "{GeneralizedCost: {costfunc: {SumSquared: {scale: 20}}}}");
  CHECK(cost("CrossEntropyMulti", data, "- {type: RecurrentMean}\n") == "CrossEntropyMulti");
  CHECK(cost("CrossEntropyMulti", "{name: ptb}") == "CrossEntropyMulti");
  CHECK(cost("MeanSquared", data) == "MeanSquared");  // it has no such factor
}

TEST_CASE("a schedule of 1.x that rounded") {
  const Spec s = spec(
      "epochs: 1\nlayers: [{type: Affine, nout: 3}]\n"
      "optimizer: {type: GradientDescentMomentum, schedule: {type: PolySchedule, total_epochs: 3}}\n");
  REQUIRE(s.notes.size() == 1);
  CHECK_THAT(s.notes[0], Contains("PolySchedule lets the rate fall in each epoch"));
}

TEST_CASE("batch norm of 1.0 keeps the numbers of 1.0") {
  const std::string layers =
      "epochs: 1\nlayers:\n- {type: Affine, nout: 3, batch_norm: true}\n- {type: BatchNorm, eps: 0.1}\n"
      "- {type: MergeSum, layer_container: [[{type: BatchNorm}]]}\n";
  const Spec s = spec(layers);
  CHECK(part(s, "layers") ==
        "[{Affine: {nout: 3, batch_norm: {rho: 0.99, eps: 1e-6}}}, {BatchNorm: {eps: 0.1, rho: 0.99}}, {MergeSum: "
        "{layer_container: "
        "[[{BatchNorm: {rho: 0.99, eps: 1e-6}}]]}}]");
  REQUIRE(s.notes.size() == 2);
  CHECK_THAT(s.notes[1], Contains("m.yaml:3:1: the running variance of batch norm begins at 1"));
  CHECK_THAT(s.notes[0], Contains("m.yaml:3:39: batch_norm has rho 0.99 and eps 1e-6, as neon 1.0 had it"));
  CHECK(part(spec("epochs: 1\nlayers: [{type: BatchNorm, config: {eps: 0.1}}]\n"), "layers") ==
        "[{BatchNorm: {eps: 0.1}}]");
}

TEST_CASE("a 1.x file without epochs has one") {
  const Spec s = spec("layers: [{type: Affine, nout: 3}]\n");
  CHECK(part(s, "epochs") == "1");
  CHECK(s.notes ==
        std::vector<std::string>{"m.yaml:1:1: 'epochs' is missing, so the run has one epoch, as in neon 1.x"});
  CHECK(part(spec("layers: [Affine: {nout: 3}]\n"), "epochs") == "absent");
}

TEST_CASE("of 1.x objects, what says how to compute is left out, and clipping has its later name") {
  const Spec s = spec(
      "epochs: 1\nlayers:\n- {type: Conv, config: {fshape: 3, bsum: true, parallelism: Data}}\n"
      "- {type: MergeSum, config: {layers: [[{type: BatchNorm, config: {rho: 0.5, binary: False}}]]}}\n"
      "- {type: BatchNorm, config: {binary: true}}\n"
      "optimizer:\n  type: MultiOptimizer\n  config:\n    optimizer_mapping:\n"
      "      default: {type: RMSProp, config: {clip_gradients: true, gradient_limit: 3}}\n"
      "      bias: {type: Adagrad, config: {clip_gradients: True}}\n"
      "      Norm: {type: RMSProp, config: {gradient_limit: 3}}\n"
      "      linear: {type: RMSProp, config: {clip_gradients: false, gradient_limit: 3}}\n"
      "      Scale: {type: RMSProp, config: {clip_gradients: true, gradient_clip_value: 2}}\n");
  CHECK(part(s, "layers") ==
        "[{Conv: {fshape: 3}}, {MergeSum: {layers: [[{BatchNorm: {rho: 0.5}}]]}}, {BatchNorm: {binary: true}}]");
  CHECK(part(s, "optimizer") ==
        "{MultiOptimizer: {optimizer_mapping: {default: {RMSProp: {gradient_clip_value: 3}}, "
        "bias: {Adagrad: {gradient_clip_value: 5}}, Norm: {RMSProp: {}}, linear: {RMSProp: {}}, "
        "Scale: {RMSProp: {gradient_clip_value: 2}}}}}");
  CHECK(s.notes ==
        std::vector<std::string>{"m.yaml:3:36: 'bsum' changes no result and is left out",
                                 "m.yaml:3:48: 'parallelism' changes no result and is left out",
                                 "m.yaml:4:76: 'binary' changes no result and is left out",
                                 "m.yaml:3:1: the running variance of batch norm begins at 1, where neon 1.x "
                                 "began at 0; a run of few steps predicts otherwise",
                                 "m.yaml:12:38: 'gradient_limit' without 'clip_gradients: true' changes no "
                                 "result and is left out",
                                 "m.yaml:13:40: 'clip_gradients' changes no result and is left out",
                                 "m.yaml:13:63: 'gradient_limit' without 'clip_gradients: true' changes no "
                                 "result and is left out",
                                 "m.yaml:14:39: 'clip_gradients' beside 'gradient_clip_value', which "
                                 "counts, changes no result and is left out"});
}

TEST_CASE("a 1.x file keeps neon 1.x's clipped step and its fans, with a note each") {
  const Spec s = spec(
      "epochs: 1\nlayers:\n- type: Conv\n  config: {init: {type: GlorotUniform}, fshape: 3}\n"
      "- {type: Affine, config: {nout: 3, init: {type: Kaiming, config: {local: false}}, bias: {type: Xavier}}}\n"
      "optimizer: {type: Adam, config: {gradient_clip_norm: 5}}\n");
  CHECK(part(s, "layers") ==
        "[{Conv: {init: {GlorotUniform: {matrix: true}}, fshape: 3}}, "
        "{Affine: {nout: 3, init: {Kaiming: {local: false}}, bias: {Xavier: {local: true}}}}]");
  CHECK(part(s, "optimizer") == "{Adam: {gradient_clip_norm: 5, clip_step: true}}");
  CHECK(s.notes ==
        std::vector<std::string>{
            "m.yaml:4:18: GlorotUniform takes its fans from the weight matrix, as in neon 1.x (matrix: true)",
            "m.yaml:5:89: Xavier takes its fans from the weight matrix, as in neon 1.x (local: true)",
            "m.yaml:6:54: 'gradient_clip_norm' shortens the step, as in neon 1.x (clip_step: true)"});
  const Spec plain = spec("layers: [Affine: {nout: 3, init: Kaiming}]\noptimizer: {Adam: {gradient_clip_norm: 5}}\n");
  CHECK(part(plain, "layers") == "[{Affine: {nout: 3, init: Kaiming}}]");
  CHECK(part(plain, "optimizer") == "{Adam: {gradient_clip_norm: 5}}");
  CHECK(plain.notes.empty());
}

TEST_CASE("what neon 0.9 wrote in a convolution or a pooling is told as the layer that it is today") {
  const auto told = [](const std::string& layer) { return error("layers: [" + layer + "]\n"); };
  const std::string maxout = "the largest of neighbouring feature maps is a layer of its own: Maxout: {pieces: ";
  CHECK(told("ConvLayer: {nofm: 4, local_conv: True}") ==
        "m.yaml:1:43: layers[0].ConvLayer.local_conv: for filters that differ from place to place use the layer "
        "Local, with the fshape, nofm, strides and padding of a Conv");
  CHECK(
      told("MergeSum: [[Conv: {local_conv: false}]]") ==
      "m.yaml:1:41: layers[0].MergeSum[0][0].Conv.local_conv: a Conv shares its filters anyway; leave local_conv out");
  CHECK(told("PoolingLayer: {op: max, maxout: 2}") ==
        "m.yaml:1:42: layers[0].PoolingLayer.maxout: " + maxout + "2}, before or after this one");
  CHECK(told("{type: Pooling, config: {op: maxout}}") == "m.yaml:1:39: layers[0].Pooling.op: " + maxout + "N}");
  CHECK(told("Pooling: {maxout: 1}") == "m.yaml:1:28: layers[0].Pooling.maxout: 1 changes no result; leave maxout out");
}

TEST_CASE("in a 1.x file, None is as good as nothing") {
  const Spec s = spec(
      "epochs: 1\nlayers: [{type: Affine, config: {nout: 3, bias: }}]\n"
      "optimizer: {type: Adam, config: {gradient_clip_norm: , schedule: {type: Schedule, config: {step_config: }}}}\n");
  CHECK(part(s, "layers") == "[{Affine: {nout: 3}}]");
  CHECK(part(s, "optimizer") == "{Adam: {schedule: {Schedule: {}}}}");
}

TEST_CASE("1.0's MultiOptimizer has its mapping beside type") {
  const Spec s = spec(
      "layers: [{type: Affine, nout: 3}, {type: Bias}]\n"
      "optimizer:\n  type: MultiOptimizer\n  default: {type: Adam, beta_1: 0.8}\n  Bias: {type: RMSProp}\n");
  CHECK(part(s, "optimizer") == "{MultiOptimizer: {default: {Adam: {beta_1: 0.8}}, Bias: RMSProp}}");
}

TEST_CASE("merge layers of 1.x, and maps whose type is no class") {
  const Spec s = spec(
      "layers:\n- {type: MergeSum, layer_container: [[{type: Conv, fshape: [1, 1, 8]}], [{type: SkipNode}]]}\n"
      "dataset:\n  name: i1k\n  train_config: {type: 'image,label', image: {height: 224}}\n");
  CHECK(part(s, "layers") == "[{MergeSum: {layer_container: [[{Conv: {fshape: [1, 1, 8]}}], [SkipNode]]}}]");
  CHECK(part(s, "dataset") == "{Shards: {path: i1k, size: 256, normalize: false}}");
  CHECK(part(s, "augment") == "[{RandomCrop: {size: 224}}, Flip]");
  CHECK(part(s, "normalize") == "{mean: [127, 119, 104]}");
  CHECK_THAT(s.notes[1], Contains("neon data pack FOLDER i1k"));
}

TEST_CASE("of a 1.x file, keys without an anchor are told apart") {
  const Spec s = spec("epochs: 2\nlayers: [{type: Affine, nout: 3}]\nremark: hello\n");
  CHECK(s.notes == std::vector<std::string>{"m.yaml:3:1: 'remark' is no key of neon 1.x and is left out"});
  REQUIRE(s.conversion.warnings.size() == 1);  // a run says so, too
  CHECK(s.conversion.warnings[0].text == "'remark' is no key of neon 1.x and is left out");
  const Spec options = spec("epochs: 2\nlayers: [{type: Affine, nout: 3}]\nserialize: 1\nsave_path: a.prm\n");
  REQUIRE(options.conversion.warnings.size() == 2);
  CHECK(options.conversion.warnings[0].text ==
        "'serialize' is no key of neon 1.x and is left out; it is an option of the run: --serialize");
  CHECK_THAT(error("layers: [{type: Affine, nout: 3}]\noptimiser: {type: Adam}\n"),
             Equals("m.yaml:2:1: unknown key 'optimiser'; did you mean optimizer?"));
  CHECK(
      spec("layers: [{type: Affine, nout: 3}]\noptimiser: &a {type: Adam}\noptimizer: *a\nepochs: 2\n").notes.size() ==
      1);
}

TEST_CASE("the native form passes through, older objects within it too") {
  const Spec s = spec(
      "define: {c: &c {padding: 1, init: {type: Gaussian, scale: 0.1}}}\n"
      "dataset: {CIFAR10: {validation: 5000}}\nlayers:\n- Conv: {<<: *c, nofm: 64}\n- Activation: Rectlin\n"
      "cost: {type: SumSquared, config: {}}\nmetrics: [Misclassification, {TopK: {k: 5}}]\nanything: {a: 1}\n");
  CHECK(s.notation == "native");
  CHECK(s.notes.empty());
  CHECK(s.root.keys() == std::vector<std::string>{"dataset", "layers", "cost", "metrics", "anything"});
  CHECK(part(s, "layers") == "[{Conv: {padding: 1, init: {Gaussian: {scale: 0.1}}, nofm: 64}}, {Activation: Rectlin}]");
  CHECK(part(s, "cost") == "SumSquared");
  CHECK(part(s, "metrics") == "[Misclassification, {TopK: {k: 5}}]");
  const Setting& scale = *s.root.find("layers")->items[0].entries[0].value.find("init")->entries[0].value.find("scale");
  CHECK(scale.path == "layers[0].Conv.init.Gaussian.scale");
  CHECK(scale.where.to_string() == "m.yaml:1:59");
}

TEST_CASE("what is no spec is told in one line") {
  CHECK_THAT(error(""), Equals("m.yaml: the file is empty; a spec is a map with the keys dataset, layers, cost, "
                               "optimizer ..."));
  CHECK_THAT(error("- Affine: 3\n"), Contains("m.yaml:1:1: found a list of 1; a spec is a map"));
  CHECK_THAT(error("layers:\ncost: X\n"), Equals("m.yaml:1:1: layers: no layers are given"));
  CHECK_THAT(error("layers: Affine\n"), Contains("expected a list of layers, found 'Affine'"));
  CHECK_THAT(error("layers: [A]\nlayers: [B]\n"), Contains("key 'layers' is given twice"));
  CHECK_THAT(error("- !obj:experiments.FitExperiment {model: 3}"), Contains("neon 0.9") && !Contains("\n"));
  CHECK_THAT(message_of([] { load_spec("/nowhere/x.yaml"); }),
             Equals("/nowhere/x.yaml: there is no such file; there is no folder /nowhere"));
}

// Of a processor's time, which other programs do not lengthen; code that is watched by a sanitizer takes several
// times as much.
TEST_CASE("a spec is read in no time") {
#ifdef NEON_WATCHED
  const double bound = 0.03;
#else
  const double bound = 0.003;
#endif
  auto spent = [] {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
  };
  double best = 1;
  for (int i = 0; i < 20; ++i) {
    const double before = spent();
    spec(kNested);
    best = std::min(best, spent() - before);
  }
  CHECK(best < bound);
}

TEST_CASE("wrong 1.x objects are told together") {
  CHECK_THAT(error("layers:\n- {type: Affine, config: {nout: 3}, name: x}\n- {type: [Affine]}\n"
                   "- {type: Affine, config: 3}\nbatchsize: 1\nbatch_size: 2\ndataset: {path: x, a: 1}\n"),
             Equals("m.yaml:5:1: 'batchsize' and 'batch_size' are both given\n"
                    "m.yaml:2:37: layers[0]: 'name' stands beside 'config'; put it into 'config'\n"
                    "m.yaml:3:3: layers[1]: 'type' must be the name of a class, found a list of 1\n"
                    "m.yaml:4:26: layers[2].config: expected a map of parameters, found '3'\n"
                    "m.yaml:7:10: dataset: 'name' is missing: the dataset, as in name: mnist"));
}

TEST_CASE("1.x: optimizers of classes that the net lacks, idle biases and stochastic rounding are noted") {
  const std::string tail =
      "optimizer:\n  type: MultiOptimizer\n  default: {type: Adam}\n  Bias: {type: RMSProp, stochastic_round: 8}\n"
      "  BatchNorm: {type: Adam}\n";
  const Spec bare = spec("epochs: 2\nlayers: [{type: Affine, nout: 3}]\n" + tail);
  CHECK(part(bare, "optimizer") == "{MultiOptimizer: {default: Adam}}");
  CHECK(bare.notes ==
        std::vector<std::string>{"m.yaml:6:3: no layer has parameters of class Bias; its optimizer is left out",
                                 "m.yaml:7:3: no layer has parameters of class BatchNorm; its optimizer is left out"});
  const std::string layer =
      "layers: [{type: Affine, nout: 3, batch_norm: true, bias: {type: Constant}}, {type: Bias}]\n";
  const Spec full = spec("epochs: 2\n" + layer + tail);
  CHECK(part(full, "layers") == "[{Affine: {nout: 3, batch_norm: {rho: 0.99, eps: 1e-6}}}, Bias]");
  CHECK(part(full, "optimizer") == "{MultiOptimizer: {default: Adam, Bias: {RMSProp: {}}, BatchNorm: Adam}}");
  CHECK(full.conversion.options.to_string() == "{rounding: 8}");
}
