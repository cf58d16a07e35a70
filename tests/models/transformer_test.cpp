// Nets of attention and of shared weights: which parameters they have, how gradients add up, what is said of wrong
// specs.
#include <catch2/catch.hpp>

#include "backends/program.h"
#include "neon/spec/spec.h"
#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

namespace {

struct DescribedNet {
  Graph graph;
  std::vector<LayerRow> rows;
  std::vector<std::string> parameters;
  Shape output;
  bool sequence = false;
};

// Layers of samples in YAML; Repeat is expanded, as when a spec is read.
DescribedNet net_of_layers(const std::string& layers, const Shape& sample, int64_t tokens = 0) {
  const Spec spec = spec_from_text("layers: " + layers, "n.yaml");
  const Network network = network_of(*spec.root.find("layers"));
  DescribedNet out;
  LayerContext context(out.graph, true, DType::f32, 0);
  context.tokens = tokens;
  if (tokens > 0) context.data_axes = {Axis::sample, Axis::time};
  const Expr x(out.graph, out.graph.input("x", tokens > 0 ? DType::i32 : DType::f32, Shape{2}.concat(sample)));
  const Expr y = network.forward(context, x, &out.rows);
  out.output = y.shape().slice(1, y.shape().rank());
  out.sequence = context.is_sequence(y);
  for (const Parameter& p : context.parameters) out.parameters.push_back(p.name);
  return out;
}

// What is said against layers of images (1,4,6), the rows of which are four steps of six features.
std::string refusal(const std::string& layers) {
  try {
    net_of_layers(layers, {1, 4, 6});
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.what();
  }
  return "";
}

std::string after_rows(const std::string& layer) { return "[{AsSequence: {along: height}}, " + layer + "]"; }

}  // namespace

TEST_CASE("blocks of a transformer are branches of sequences, repeated") {
  const DescribedNet net = net_of_layers(
      after_rows(
          "{Repeat: {times: 2, layers: [{MergeSum: [SkipNode, [LayerNorm, {MultiHeadAttention: {heads: 3, init: "
          "Kaiming, causal: true}}]]}, {MergeSum: [SkipNode, [RMSNorm, {GatedMLP: {hidden: 5, init: Kaiming}}]]}]}}"),
      {1, 4, 6});
  CHECK(net.output == Shape{4, 6});
  CHECK(net.sequence);
  CHECK(net.parameters.size() == 2 * (2 + 4 + 1 + 3));
  CHECK(net_of_layers(after_rows("{MergeConcat: [SkipNode, LayerNorm]}"), {1, 4, 6}).sequence);
}

TEST_CASE("attention takes its keys from a second input, whose steps and features are others") {
  const DescribedNet net = net_of_layers(
      "[{AsSequence: {along: height, name: rows}}, {AsSequence: {along: width, inputs: data, name: columns}}, "
      "{MultiHeadAttention: {heads: 2, init: Kaiming, inputs: [rows, columns]}}]",
      {1, 4, 6});
  CHECK(net.output == Shape{4, 6});
  CHECK(net.rows.back().parameters == 6 * 6 + 6 * 4 + 6 * 4 + 6 * 6);
}

TEST_CASE("lengths of sequences reach attention through blocks") {
  const auto output = [](LayerContext& context, const std::string& layers) {
    const Network network = network_of(yaml_of(layers));
    context.data_axes = {Axis::sample, Axis::time, Axis::feature};
    context.data_lengths = context.graph.input("lengths", DType::i32, {2});
    return network.forward(context, {context.graph, context.graph.input("x", DType::f32, {2, 4, 6})});
  };
  Graph graph;
  LayerContext context(graph, true, DType::f32, 0);
  const Expr y =
      output(context, "[{MergeSum: [SkipNode, LayerNorm]}, {MultiHeadAttention: {heads: 2, init: Kaiming}}]");
  CHECK(context.lengths(y) == context.data_lengths);
  int seen = 0;
  for (int i = 0; i < graph.node_count(); ++i) {
    if (graph.node(i).op->name != "attention") continue;
    REQUIRE(graph.node(i).inputs.size() == 4);
    CHECK(graph.node(i).inputs[3] == context.data_lengths);
    ++seen;
  }
  CHECK(seen == 1);
}

TEST_CASE("a layer that shares weights has none of its own, and they are counted once") {
  const DescribedNet net = net_of_layers(
      "[{Affine: {nout: 5, init: Kaiming, bias: {Constant: 0}, name: first}}, {Affine: {nout: 5, init: Kaiming, bias: "
      "{Constant: 0}, inputs: data, share: first}}, {MergeSum: {inputs: [first, Affine_1]}}]",
      {7});
  CHECK(net.parameters == std::vector<std::string>{"first/W", "first_bias/b"});
  CHECK(net.rows[0].parameters == 40);
  CHECK(net.rows[1].parameters == 0);
  // Through a layer that shares itself, without init.
  const DescribedNet chain = net_of_layers(
      "[{Linear: {nout: 4, init: Kaiming, name: a}}, {Linear: {nout: 4, share: a, name: b}}, {Linear: {nout: 4, share: "
      "b}}]",
      {4});
  CHECK(chain.parameters == std::vector<std::string>{"a/W"});
}

TEST_CASE("a classifier of tokens shares the table of their embedding, and keeps a bias of its own") {
  const DescribedNet net = net_of_layers(
      "[{Embedding: {embedding_dim: 3, init: Kaiming, name: table}}, {Affine: {nout: 11, bias: {Constant: 0}, share: "
      "table, activation: Softmax}}]",
      {4}, 11);
  CHECK(net.parameters == std::vector<std::string>{"table/W", "Affine_0_bias/b"});
  CHECK(net.output == Shape{4, 11});
}

TEST_CASE("a table that is shared has one start and is trained or not, whoever asks") {
  const auto refused = [](const std::string& first, const std::string& second) {
    const std::string table = "{Embedding: {embedding_dim: 3, init: Kaiming";
    try {
      net_of_layers(
          "[{MergeSum: [[" + table + ", name: a" + first + "}}], [" + table + ", share: a" + second + "}}]]}]", {5},
          11);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::config);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused("", "") == "");
  CHECK(refused(", update: false", ", update: false") == "");
  CHECK_THAT(refused("", ", vectors: v.txt"),
             Contains("share: Embedding_1/W is a/W, which has values already; leave vectors out, or give them to a"));
  CHECK_THAT(refused("", ", update: false"),
             Contains("share: Embedding_1/W is a/W, which is trained; give both layers the same update"));
  CHECK_THAT(refused(", update: false", ""),
             Contains("share: Embedding_1/W is a/W, which is not trained; give both layers the same update"));
}

TEST_CASE("copies of a Repeat share the layers of their own copy") {
  const DescribedNet net = net_of_layers(
      "[{Repeat: {times: 2, layers: [{Linear: {nout: 4, init: Kaiming, name: a}}, {Linear: {nout: 4, share: a}}]}}]",
      {4});
  CHECK(net.parameters == std::vector<std::string>{"a_1/W", "a_2/W"});
}

TEST_CASE("gradients of shared weights add up") {
  const Network network = network_of(
      yaml_of("[{Linear: {nout: 3, init: Kaiming, name: a}}, {Linear: {nout: 3, init: Kaiming, share: a}}]"));
  Graph graph;
  LayerContext context(graph, true, DType::f64, 0);
  const Expr x(graph, graph.input("x", DType::f64, {1, 3})), g(graph, graph.input("g", DType::f64, {1, 3}));
  const Expr y = network.forward(context, x);
  REQUIRE(context.parameters.size() == 1);
  const Value w = graph.variable("a/W", DType::f64, {3, 3});
  const Value wanted[] = {w};
  graph.output("dw", gradients(graph, y, wanted, g).front());
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {});
  const double xs[] = {1, -2, 0.5}, gs[] = {0.25, 3, -1}, ws[3][3] = {{1, 2, -1}, {0.5, 0, 4}, {-3, 1, 0.75}};
  for (int64_t i = 0; i < 9; ++i) variables.at("a/W").set(i, ws[i / 3][i % 3]);
  program->bind("x", xs);
  program->bind("g", gs);
  program->run(0);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {  // y = W (W x): dW = g (W x)' + (W' g) x'
      double hidden = 0, back = 0;
      for (int k = 0; k < 3; ++k) hidden += ws[j][k] * xs[k], back += ws[k][i] * gs[k];
      CHECK(program->output("dw").at(i * 3 + j) == Approx(gs[i] * hidden + back * xs[j]).epsilon(1e-14));
    }
}

TEST_CASE("wrong sharing is refused in one line") {
  const std::string a = "{Affine: {nout: 5, init: Kaiming, name: alpha}}";
  CHECK_THAT(refusal("[" + a + ", {Affine: {nout: 5, share: alpa}}]"),
             Contains("share: no layer with weights before this one is named 'alpa'; did you mean alpha"));
  CHECK_THAT(refusal("[{Affine: {nout: 5, share: later}}, {Affine: {nout: 5, init: Kaiming, name: later}}]"),
             Contains("share: no layer with weights before this one is named 'later'"));
  CHECK_THAT(refusal("[" + a + ", {Affine: {nout: 4, share: alpha}}]"),
             Contains("share: Affine_1/W has the shape (4, 5), but alpha/W has (5, 24); layers that share weights"));
  CHECK_THAT(refusal("[" + a +
                     ", {Affine: {nout: 5, inputs: data, share: alpha, bias: {Constant: 0}, name: b}}, {MergeSum: "
                     "{inputs: [alpha, b]}}]"),
             Contains("share: alpha has no array alpha_bias/b, but this layer has b_bias/b (5)"));
  const auto alike = [](const std::string& first, const std::string& second) {
    return refusal("[{Affine: {nout: 5, name: alpha" + first + "}}, {Affine: {nout: 5, inputs: data, name: b, share: " +
                   "alpha" + second + "}}, {MergeSum: {inputs: [alpha, b]}}]");
  };
  CHECK_THAT(alike(", init: Kaiming", ", init: {Uniform: {low: 7, high: 8}}"),
             Contains("share: init: Uniform fills nothing here: alpha/W is an array of alpha, which "
                      "begins it as Kaiming; leave init out, or write the same in both layers"));
  CHECK_THAT(alike("", ", init: Kaiming"), Contains("which begins it as GlorotUniform; leave init out"));
  CHECK_THAT(alike(", bias: {Constant: 1}", ", bias: {Constant: 5}"),
             Contains("share: bias: {Constant: {val: 5}} fills nothing here: alpha_bias/b is an array of alpha, which "
                      "begins it as {Constant: {val: 1}}; write the same bias in both layers"));
  CHECK_THAT(alike(", activation: {PReLU: {slope: 0.25}}", ", activation: {PReLU: {slope: 0.5}}"),
             Contains("share: b_act/slope is alpha_act/slope, which begins as 0.25, not as 0.5; give both layers the "
                      "same parameters"));
  CHECK(alike(", init: {Constant: 2}, bias: {Constant: 1}", ", bias: {Constant: 1}") == "");
  CHECK(alike(", bias: {Constant: 1}", ", init: GlorotUniform, bias: {Constant: 1}") == "");
  CHECK(alike(", init: Kaiming", ", init: Kaiming, activation: Rectlin") == "");
  CHECK_THAT(refusal("[" + a + ", {Dropout: {keep: 0.5, share: alpha}}]"),
             Contains("share: Dropout has no array to take from alpha, which is Affine"));
  CHECK_THAT(refusal("[" + a + ", {MergeSum: {layers: [SkipNode, SkipNode], share: alpha}}]"),
             Contains("MergeSum has no weights of its own to share; give share to the layers in it"));
  CHECK_THAT(refusal("[{LSTM: {init: Kaiming}}]"), Contains("'output_size' is missing"));
}

TEST_CASE("attention, positions and norms refuse what they cannot do in one line") {
  const auto attention = [](const std::string& options) {
    return refusal(after_rows("{MultiHeadAttention: {init: Kaiming, " + options + "}}"));
  };
  CHECK(attention("heads: 3") == "");
  CHECK_THAT(attention("heads: 4"), Contains("6 features do not go into 4 heads evenly; give heads that divide them"));
  CHECK(attention("heads: 4, head_size: 2") == "");
  CHECK_THAT(attention("heads: 3, kv_heads: 2"), Contains("kv_heads 2 does not divide heads 3"));
  CHECK_THAT(attention("heads: 2, rotary: true"), Contains("heads have 3 numbers each, an odd number"));
  CHECK_THAT(attention("heads: 2, head_size: 5, rotary: true"), Contains("head_size 5 is odd"));
  CHECK_THAT(attention("heads: 2, inputs: [AsSequence_0, data]"), Contains("takes sequences (T,F)"));
  CHECK_THAT(attention("heads: 2, causal: true, inputs: [AsSequence_0, AsSequence_0]"),
             Contains("causal: true compares positions within one sequence, but `inputs` has two"));
  CHECK_THAT(attention("heads: 2, rotary: true, inputs: [AsSequence_0, AsSequence_0]"),
             Contains("rotary: true compares positions within one sequence"));
  CHECK_THAT(attention("heads: 2, inputs: [AsSequence_0, AsSequence_0, data]"),
             Contains("MultiHeadAttention takes at most 2 inputs, `inputs` has 3"));
  CHECK_THAT(refusal("[{MultiHeadAttention: {init: Kaiming, heads: 2}}]"), Contains("takes sequences (T,F)"));
  CHECK_THAT(refusal(after_rows("{LearnedPositions: {init: Kaiming, steps: 3}}")),
             Contains("LearnedPositions has 3 positions for sequences of 4 steps; give steps: 4 or more"));
  CHECK_THAT(refusal("[SinusoidalPositions]"), Contains("SinusoidalPositions takes sequences (T,F)"));
  CHECK_THAT(refusal(after_rows("{GroupNorm: {groups: 4}}")),
             Contains("6 feature maps do not go into 4 groups evenly"));
  CHECK_THAT(refusal("[{Affine: {nout: 4, init: Kaiming}}, {GroupNorm: {groups: 4}}]"),
             Contains("each of the 4 features is a group of one number"));
  CHECK_THAT(refusal("[{Affine: {nout: 1, init: Kaiming}}, LayerNorm]"), Contains("it is its own mean"));
}
