// Files of neon 1.x and 2.x: what their keys become.
#include <catch2/catch.hpp>

#include "neon/spec/spec.h"

using namespace neon;
using Catch::Contains;

namespace {

Spec older(const std::string& text) { return spec_from_text(text, "m.yaml"); }
std::string said(const Spec& spec, const char* key) { return spec.root.find(key)->to_string(); }

}  // namespace

TEST_CASE("numbers of 1.x are those of YAML 1.1") {
  const Spec s = older(
      "epochs: 010\nbatchsize: 1_000\nlayers: [{type: Affine, config: {nout: 0x1F, name: '010'}}]\n"
      "optimizer: {type: Adam, config: {learning_rate: -0b101, beta_1: 1_0.2_5e-1, beta_2: 08, epsilon: 0.5}}\n");
  CHECK(said(s, "epochs") == "8");
  CHECK(said(s, "batch_size") == "1000");
  CHECK(said(s, "layers") == "[{Affine: {nout: 31, name: \"010\"}}]");
  CHECK(said(s, "optimizer") == "{Adam: {learning_rate: -5, beta_1: 10.25e-1, beta_2: 08, epsilon: 0.5}}");
  REQUIRE(s.notes.size() == 5);
  CHECK_THAT(s.notes[0], Contains("m.yaml:1:9: '010' is 8, as YAML 1.1 reads it"));
  CHECK(said(older("epochs: 010\nlayers: [Affine: {nout: 3}]\n"), "epochs") == "010");  // today's, of YAML 1.2
}

TEST_CASE("numbers of 1.x with colons are of base 60") {
  const auto epochs = [](const std::string& written) {
    return said(older("epochs: " + written + "\nlayers: [{type: Affine, config: {nout: 3}}]\n"), "epochs");
  };
  // As PyYAML 6, a reader of YAML 1.1, reads them.
  CHECK(epochs("1:30") == "90");
  CHECK(epochs("-1:0:05") == "-3605");
  CHECK(epochs("+190:20:30") == "685230");
  CHECK(epochs("1_0:30") == "630");
  CHECK(epochs("1:30.25") == "90.25");
  CHECK(epochs("0:30.") == "30.0");
  CHECK(said(older("epochs: 1\nlayers: [{type: Affine, config: {nout: 1:4}}]\n"), "layers") ==
        "[{Affine: {nout: 64}}]");
  for (const std::string text :
       {"0:30", "1:60", "1:030", "1::30", "1:3a", "1:30.5.5", "1:30e5", "1:3_0", "400000000000000000:0:0"})
    CHECK(epochs(text) == text);  // texts there, too
}

TEST_CASE("names of 1.x that no layer has are left out") {
  const Spec s = older(
      "epochs: 1\nlayers:\n- {type: MergeSum, config: {layers: [[{type: Affine, config: {nout: 3, name: a, init: "
      "{type: "
      "Gaussian, config: {scale: 2, name: i}}, activation: {type: Rectlin, config: {name: r}}}}]]}}\n"
      "cost: {type: CrossEntropyMulti, config: {name: c}}\n"
      "optimizer: {type: MultiOptimizer, config: {optimizer_mapping: {default: {type: Adam, config: {name: o}}, "
      "name: {type: Adam, config: {schedule: {type: ExpSchedule, config: {decay: 1, name: s}}}}}}}\n");
  CHECK(said(s, "layers") ==
        "[{MergeSum: {layers: [[{Affine: {nout: 3, name: a, init: {Gaussian: {scale: 2}}, activation: {Rectlin: "
        "{}}}}]]}}]");
  CHECK(said(s, "cost") == "{CrossEntropyMulti: {}}");
  CHECK(said(s, "optimizer") ==
        "{MultiOptimizer: {optimizer_mapping: {default: {Adam: {}}, name: {Adam: {schedule: {ExpSchedule: {decay: "
        "1}}}}}}}");
  REQUIRE(s.notes.size() == 5);
  CHECK_THAT(s.notes[0], Contains("m.yaml:3:123: the name of Gaussian changes no result and is left out"));
}

TEST_CASE("activations of 1.x whose derivative was left out are noted") {
  const auto notes = [](const std::string& last, const std::string& cost) {
    return older("epochs: 1\nlayers:\n- {type: Affine, config: {nout: 3}}\n" + last + "cost: {type: " + cost + "}\n")
        .notes;
  };
  const std::string softmax = "- {type: Affine, config: {nout: 3, activation: {type: Softmax}}}\n",
                    logistic =
                        "- {type: Activation, config: {transform: {type: Logistic, config: {shortcut: true}}}}\n";
  CHECK(notes(softmax, "CrossEntropyMulti").empty());
  CHECK(notes(softmax, "GeneralizedCost, config: {costfunc: {type: CrossEntropyMulti}}").empty());
  CHECK(notes(softmax, "SumSquared") ==
        std::vector<std::string>{"m.yaml:4:48: the gradient of Softmax is complete; neon 1.x left its derivative out, "
                                 "which only CrossEntropyMulti allows"});
  CHECK(notes(softmax + softmax, "CrossEntropyMulti").size() == 1);
  CHECK(notes(logistic, "CrossEntropyBinary").empty());
  CHECK(notes(logistic, "MeanSquared").size() == 1);
  CHECK(notes("- {type: Activation, config: {transform: {type: Logistic}}}\n", "MeanSquared").empty());
  const std::string clipped = "- {type: Affine, config: {activation: {type: Rectlinclip";
  CHECK_THAT(notes(clipped + "}}}\n", "MeanSquared").at(0), Contains("before neon 1.8.1 it was 0.01"));
  CHECK(notes(clipped + ", config: {slope: 0}}}}\n", "MeanSquared").empty());
}

TEST_CASE("a misspelt top key of 1.x does not pass for one that only holds anchors") {
  const std::string layers = "layers: [{type: Affine, config: {nout: 3}}]\n";
  CHECK_THROWS_WITH(older("epoch: &e 20\n" + layers),
                    Contains("m.yaml:1:1: unknown key 'epoch'; did you mean epochs?"));
  CHECK_THROWS_WITH(older("bacthsiz: &b 20\nepochs: 2\n" + layers),
                    Contains("m.yaml:1:1: unknown key 'bacthsiz'; did you mean batchsize?"));
  CHECK(said(older("epoch: &e 20\nepochs: *e\n" + layers), "epochs") == "20");
}

TEST_CASE("a top key of 1.x that only holds an anchor may be a part of another's name") {
  for (const std::string held : {"size", "batch", "data", "opt", "layer_size", "epochs_of_pretraining"})
    for (const std::string batch : {"batchsize: 32", "batch_size: 32", ""}) {
      const Spec s = older(held + ": &s 3\nepochs: 2\n" + batch + "\nlayers: [{type: Affine, config: {nout: *s}}]\n");
      CHECK(said(s, "layers") == "[{Affine: {nout: 3}}]");
      CHECK(s.notes.at(0) == "m.yaml:1:1: '" + held + "' only holds anchors");
      CHECK(!s.root.find(held));
    }
  const Spec s = older("batchsiz: &s 3\nepochs: 2\nbatchsize: *s\nlayers: [{type: Affine, config: {nout: *s}}]\n");
  CHECK(said(s, "batch_size") == "3");
}

TEST_CASE("a mapping of 1.x serves a recurrent layer as a whole, and never its biases by Bias") {
  const auto mapping = [](const std::string& layers, const std::string& mapping) {
    const Spec s = older("epochs: 1\nlayers: [" + layers + "]\noptimizer: {type: MultiOptimizer, config: " +
                         "{optimizer_mapping: {default: {type: Adam}, " + mapping + "}}}\n");
    const std::string all = said(s, "optimizer"), begin = "{MultiOptimizer: {optimizer_mapping: {default: Adam";
    REQUIRE(all.starts_with(begin));
    return all.substr(begin.size());
  };
  const std::string lstm = "{type: LSTM, config: {output_size: 3}}",
                    named = "{type: GRU, config: {output_size: 3, name: g}}",
                    affine = "{type: Affine, config: {nout: 3, bias: {type: Constant}}}",
                    deep = "{type: DeepBiLSTM, config: {nout: 3}}", bias = "Bias: {type: RMSProp}";
  CHECK(mapping(lstm + ", " + affine, bias) == ", Bias: RMSProp, LSTM_0: Adam, LSTM_0_bias: Adam}}}");
  CHECK(mapping(lstm + ", " + named + ", " + lstm, "LSTM: {type: Adagrad}") ==
        ", LSTM_0: Adagrad, LSTM_0_bias: Adagrad, g: Adam, g_bias: Adam, LSTM_1: Adagrad, LSTM_1_bias: Adagrad}}}");
  CHECK(mapping(named + ", " + affine, bias + ", g: {type: Adagrad}") ==
        ", Bias: RMSProp, g: Adagrad, g_bias: Adagrad}}}");
  CHECK(mapping(deep, "BiLSTM: {type: Adagrad}") == ", DeepBiLSTM_0: Adagrad, DeepBiLSTM_0_bias: Adagrad}}}");
  CHECK(mapping("{type: BiBNRNN, config: {output_size: 3}}", "BiBNRNN: {type: Adagrad}") == ", BiBNRNN_0: Adagrad}}}");
  CHECK(mapping("{type: DeepBiRNN, config: {nout: 3, batch_norm: True}}", "BiRNN: {type: Adagrad}") ==
        ", DeepBiRNN_0: Adagrad}}}");
  const std::string conv = "{type: Conv, config: {fshape: [3, 3, 4], bias: {type: Constant}}}",
                    plain = "{type: Conv, config: {fshape: [3, 3, 4]}}";
  CHECK(mapping(plain + ", " + conv, "Convolution_bias: {type: Adagrad}, Bias: {type: RMSProp}") ==
        ", Bias: RMSProp, Conv_1: Adagrad, Conv_1_bias: Adagrad}}}");
  CHECK(mapping(plain, "Convolution_bias: {type: Adagrad}") == "}}}");
  CHECK(mapping(conv, bias) == ", Bias: RMSProp}}}");
  const std::string own = "{type: Convolution_bias, config: {fshape: [3, 3, 4], bias: {type: Constant}}}",
                    none = "{type: Convolution_bias, config: {fshape: [3, 3, 4]}}";
  CHECK(mapping(own, "Convolution_bias: {type: RMSProp}") == ", Conv_0: RMSProp, Conv_0_bias: RMSProp}}}");
  CHECK(mapping(plain + ", " + own, bias) == ", Bias: RMSProp, Conv_1: Adam, Conv_1_bias: Adam}}}");
  CHECK(mapping(none, "Convolution_bias: {type: RMSProp}") == ", Conv_0: RMSProp}}}");
  // A bias belongs to no recurrent layer, so the net may have none at all.
  CHECK(mapping(lstm, bias) == "}}}");
  CHECK(mapping("{type: LookupTable, config: {vocab_size: 9, embedding_dim: 3}}", "LookupTable: {type: Adagrad}") ==
        ", Embedding: Adagrad}}}");
  CHECK(mapping("{type: BinaryAffine, config: {nout: 3}}", "BinaryLinear: {type: Adagrad}") ==
        ", BinaryLinear: Adagrad}}}");
  // A norm is served by its own class. Ours has one class for all.
  const std::string shift = "{type: ShiftBatchNorm}", autodiff = "{type: BatchNormAutodiff, config: {name: n}}",
                    norm = "{type: BatchNorm}";
  CHECK(mapping(norm + ", " + shift + ", " + autodiff, "ShiftBatchNorm: {type: Adagrad}") ==
        ", ShiftBatchNorm_0: Adagrad, n: Adam}}}");
  CHECK(mapping(norm + ", " + shift, "BatchNorm: {type: Adagrad}") ==
        ", BatchNorm: Adagrad, ShiftBatchNorm_0: Adam}}}");
  CHECK(mapping(shift, "BatchNorm: {type: Adagrad}") == "}}}");
  CHECK(mapping(shift, bias) == "}}}");
  CHECK(mapping(affine, "Linear: {type: Adagrad}, " + bias) == ", Linear: Adagrad, Bias: RMSProp}}}");
}

TEST_CASE("optimizers that serve no layer of 1.x are left out with a note") {
  const auto notes = [](const std::string& layer, const std::string& whole) {
    return older("epochs: 1\nlayers: [" + layer + "]\noptimizer: {type: MultiOptimizer, config: {optimizer_mapping: " +
                 "{default: {type: Adam}, a: {type: Adam}, " + whole + ": {type: RMSProp}}}}\n")
        .notes;
  };
  const std::string conv = "{type: Conv, config: {fshape: [3, 3, 4], bias: {type: Constant}, batch_norm: True}}",
                    lstm = "{type: LSTM, config: {output_size: 3, name: a}}";
  for (const auto& [layer, whole] : {std::pair(conv, "Convolution_bias"), std::pair(lstm, "LSTM"),
                                     std::pair(lstm, "BiLSTM"), std::pair(lstm, "BiRNN")})
    CHECK_THAT(notes(layer, whole).back(),
               Contains(std::string(whole) + " serves no layer; its optimizer is left out"));
}

TEST_CASE("optimizers of classes that no parameter of 1.x had are left out") {
  const Spec s = older(
      "epochs: 1\nlayers: [{type: Affine, config: {nout: 3, name: Conv}}, {type: LSTM, config: {output_size: 3}}]\n"
      "optimizer: {type: MultiOptimizer, config: {optimizer_mapping: {default: {type: Adam}, Affine: {type: Adam}, "
      "Conv: "
      "{type: Adam}, LSTM: {type: Adam}, GRU: {type: Adam}}}}\n");
  CHECK(said(s, "optimizer") ==
        "{MultiOptimizer: {optimizer_mapping: {default: Adam, Conv: Adam, LSTM_0: Adam, LSTM_0_bias: Adam}}}");
  CHECK_THAT(s.notes.at(1), Contains("no layer has parameters of class Affine; its optimizer is left out"));
}
