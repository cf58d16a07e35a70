// Seq2Seq: predictions label by label are those of PyTorch, and of the net that reads its own predictions at once;
// padding changes none; wrong nets are refused. Trainings are in golden files that net_test.cpp reads.
#include "models/seq2seq.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/models/label_pairs.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

namespace {

// How far b is from a, by the definition.
int64_t edits(std::vector<int64_t> a, std::vector<int64_t> b) {
  if (a.empty() || b.empty()) return int64_t(a.size() + b.size());
  const bool same = a.back() == b.back();
  std::vector<int64_t> less = a, fewer = b;
  less.pop_back(), fewer.pop_back();
  return std::min({edits(less, b) + 1, edits(a, fewer) + 1, edits(less, fewer) + (same ? 0 : 1)});
}

// Row i of (n,L) up to the class that ends it, or the first number below 0.
std::vector<int64_t> row_of(const Tensor& labels, int64_t i, int64_t end) {
  std::vector<int64_t> out;
  const int64_t most = labels.shape()[1];
  for (int64_t k = 0; k < most; ++k) {
    const auto label = int64_t(labels.at(i * most + k));
    if (label < 0 || label == end) break;
    out.push_back(label);
  }
  return out;
}

std::string pair_refusal(const std::string& layers, int64_t classes = kEndings) {
  NetData data = strings(5);
  data.classes = classes;
  try {
    const Network network = network_of(yaml_of(layers));
    const auto cost = Registry<Cost>::get().create(yaml_of("CrossEntropyMulti"));
    DataLayout layout = data.layout();
    if (classes == 0) layout.label_of = LabelOf::sample;
    gradient_graph(network, *cost, layout, {.batch = kStrings}, false);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a decoder predicts the golden files' labels, each from those before") {
  for (const Setting& net : golden("models/golden/seq2seq.json").items)
    for (const Arithmetic& arithmetic : arithmetics()) {
      INFO(at(net, "title").value << ", " << arithmetic.name);
      predicts(GoldenNet(net, arithmetic.dtype), arithmetic, at(net, "predicted"));
    }
}

TEST_CASE("metrics of sequences compare what a decoder predicts with labels, both without their end") {
  for (const Setting& net : golden("models/golden/seq2seq.json").items) {
    INFO(at(net, "title").value);
    const GoldenNet example(net, DType::f64);
    const auto distance = Registry<Metric>::get().create(yaml_of("EditDistance")),
               exact = Registry<Metric>::get().create(yaml_of("ExactMatch"));
    const StepGraph graph = evaluation_graph(example.network, example.cost.get(), {distance.get(), exact.get()},
                                             example.data.layout(), 8, example.options);
    Variables variables;
    const auto program = compile_for_cpu(graph.graph, variables, {.threads = 1});
    example.start(variables);
    const auto samples = example.samples(0);
    const std::vector<double> weight = {1, 1, 0, 1};
    program->bind("data", example.data.inputs.data());
    program->bind("targets", example.data.targets.data());
    program->bind("indices", samples.data());
    program->bind("weight", weight.data());
    program->run(0);
    const Tensor predicted = tensor_of(at(net, "predicted"), DType::f64);
    double wrong = 0, all = 0, right = 0;
    for (int64_t i = 0; i < 4; ++i) {
      const auto labels = row_of(example.data.targets, i, example.data.end_class);
      const int64_t off = edits(row_of(predicted, i, -1), labels);
      wrong += weight[size_t(i)] * double(off), all += weight[size_t(i)] * double(labels.size());
      right += weight[size_t(i)] * double(off == 0);
    }
    CHECK(program->output("metric/0/0").at(0) == wrong);
    CHECK(program->output("metric/0/1").at(0) == all);
    CHECK(program->output("metric/1/0").at(0) == right);
    CHECK(program->output("metric/1/1").at(0) == 3);
  }
}

TEST_CASE("a decoder reads the start token, then the labels but for the last; its lengths are those of the labels") {
  Graph graph;
  LayerContext context(graph, true, DType::f32, 0);
  context.classes = 6;
  context.target_labels = graph.input("labels", DType::i32, {3, 4});
  const Expr tokens = Seq2Seq::tokens_of(context);
  CHECK(context.are_tokens(tokens));
  graph.output("tokens", tokens);
  graph.output("lengths", context.lengths(tokens));
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {});
  const int32_t labels[] = {5, 0, 3, 5, 2, -1, -1, -1, 1, -1, 4, -1};
  program->bind("labels", labels);
  program->run(0);
  const std::vector<double> read = {6, 5, 0, 3, 6, 2, 6, 6, 6, 1, 6, 4}, lengths = {4, 1, 3};
  for (int64_t i = 0; i < 12; ++i) CHECK(program->output("tokens").at(i) == read[size_t(i)]);
  for (int64_t i = 0; i < 3; ++i) CHECK(program->output("lengths").at(i) == lengths[size_t(i)]);
}

TEST_CASE("a net that reads its own predictions at once predicts them again") {
  for (const std::string& layers : pairs())
    for (const DType dtype : {DType::f64, DType::f32}) {
      INFO(layers << " " << name_of(dtype));
      NetData data = strings(5);
      const Tensor predicted = evaluated(layers, data, true, dtype);
      REQUIRE(predicted.shape() == Shape{kStrings, kLabels});
      std::set<int64_t> different;
      for (int64_t i = 0; i < kStrings; ++i)
        for (int64_t t = 0; t < kLabels; ++t) {
          data.targets.set(sample_of_row(i) * kLabels + t, predicted.at(i * kLabels + t));
          different.insert(int64_t(predicted.at(i * kLabels + t)));
        }
      CHECK(different.size() > 1);
      const Tensor y = evaluated(layers, data, false, dtype);
      for (int64_t row = 0; row < kStrings * kLabels; ++row) {
        INFO("row " << row);
        int64_t best = 0;
        for (int64_t k = 1; k < kEndings; ++k)
          if (y.at(row * kEndings + k) > y.at(row * kEndings + best)) best = k;
        CHECK(best == int64_t(predicted.at(row)));
      }
    }
}

TEST_CASE("padding of what an encoder reads changes no bit of what the decoder gives") {
  for (const std::string& layers : pairs())
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16})
      for (const bool predicts : {true, false}) {
        INFO(layers << " " << name_of(dtype) << (predicts ? ", predictions" : ", outputs"));
        const Tensor little = evaluated(layers, strings(5), predicts, dtype),
                     more = evaluated(layers, strings(9), predicts, dtype);
        REQUIRE(little.shape() == more.shape());
        for (int64_t i = 0; i < little.elements(); ++i) CHECK(little.at(i) == more.at(i));
      }
}

TEST_CASE("wrong encoders and decoders are refused in one line") {
  const auto cells = [](const char* kind, const char* units) {
    return layer_of(kind, std::string("output_size: ") + units);
  };
  CHECK(pair_refusal(pair_of(cells("LSTM", "4"), cells("LSTM", "4"))) == "");
  CHECK_THAT(pair_refusal(pair_of(cells("LSTM", "4"), cells("LSTM", "5"))),
             Contains("the decoder's LSTM_1 has 5 units, but the encoder's LSTM_0, with whose state it begins, has 4; "
                      "give both the same output_size"));
  CHECK_THAT(
      pair_refusal(pair_of(cells("GRU", "4"), cells("LSTM", "4"))),
      Contains("the encoder's GRU_0 leaves no state c for the decoder's LSTM_0; give both the same kind of cells"));
  CHECK_THAT(pair_refusal(pair_of(cells("GRU", "4"), cells("GRU", "4") + ", " + cells("GRU", "4"))),
             Contains("the decoder's cell GRU_2 begins with the state of cell 1 of the encoder, which has 1 cell, "));
  CHECK(pair_refusal(
            pair_of(cells("GRU", "4"), cells("GRU", "4") + ", " + cells("GRU", "4"), ", connections: [0, -1]")) == "");
  CHECK_THAT(pair_refusal(pair_of(cells("GRU", "4"), cells("GRU", "4"), ", connections: [0, 0]")),
             Contains("connections has 2 numbers, but the decoder has 1 cell; give a number for each"));
  CHECK_THAT(
      pair_refusal(pair_of(cells("GRU", "4"), cells("GRU", "4") + ", " + cells("GRU", "4"), ", connections: [0]")),
      Contains("connections has 1 number, but GRU_2 is cell 2 of the decoder; give a number for each"));
  CHECK_THAT(pair_refusal(pair_of(cells("LSTM", "2"), cells("BiLSTM", "2"))),
             Contains("the decoder's layer BiLSTM_0 sees steps that follow, which are not predicted yet; recurrent"));
  CHECK_THAT(pair_refusal(pair_of(cells("GRU", "4"), layer_of("MultiHeadAttention", "heads: 2"))),
             Contains("the decoder's layer MultiHeadAttention_0 sees steps that follow"));
  // Steps that are not predicted yet would be seen through a second input, or in a group's mean.
  CHECK_THAT(pair_refusal(pair_of(cells("GRU", "4"), layer_of("GRU", "name: g, output_size: 4") + ", " +
                                                         layer_of("DotAttention", "inputs: [g, g]"))),
             Contains("the decoder's layer DotAttention_0 sees steps that follow"));
  CHECK_THAT(pair_refusal(pair_of(cells("GRU", "4"), cells("GRU", "4") + ", {GroupNorm: 2}")),
             Contains("the decoder's layer GroupNorm_0 sees steps that follow"));
  CHECK_THAT(pair_refusal(pair_of(cells("GRU", "4"), layer_of("Conv", "fshape: 2, nofm: 3, causal: true"))),
             Contains("the decoder's layer Conv_0 sees steps before, which it does not keep"));
  const std::string alone = pair_of(cells("GRU", "4"), cells("GRU", "4")), open = alone.substr(0, alone.size() - 1);
  CHECK(pair_refusal(open + ", {Activation: Softmax}]") == "");
  CHECK_THAT(
      pair_refusal(open + ", {Affine: {nout: classes, init: Kaiming, activation: Softmax}}]"),
      Contains("the labels that Seq2Seq predicts are those of its decoder's outputs, which Affine_1 would change; "
               "end the net with Seq2Seq, and put what follows into its decoder"));
  CHECK_THAT(pair_refusal("[{MergeSum: [" + alone + ", " + alone + "]}, {Activation: Softmax}]"),
             Contains("are those of its decoder's outputs, which Seq2Seq_1 would change"));
  CHECK_THAT(pair_refusal("[{MergeSum: [[" + layer_of("Embedding", "embedding_dim: 6") + "], " + alone +
                          "]}, {Activation: Softmax}]"),
             Contains("are those of its decoder's outputs, which MergeSum_0 would change"));
  CHECK_THAT(pair_refusal(pair_of(cells("GRU", "4"), cells("GRU", "4")), 0),
             Contains("Seq2Seq predicts labels, but the targets of the data set are no classes"));
  CHECK_THAT(pair_refusal("[" + layer_of("Embedding", "embedding_dim: 3") + ", " + layer_of("DotAttention", "") + "]"),
             Contains("in the decoder of a Seq2Seq; elsewhere give it inputs: [x, memory]"));
  CHECK_THAT(pair_refusal(pair_of(cells("GRU", "4"), cells("GRU", "4") + ", {DotAttention: {" + kDrawn + "}}, " +
                                                         layer_of("Affine", "nout: 3") + ", {DotAttention: {" + kDrawn +
                                                         "}}")),
             Contains("DotAttention: steps of 3 features have no product with those of 4; give both the same number"));
}
