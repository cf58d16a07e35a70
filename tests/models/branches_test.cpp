// Branches and layers that name their inputs: what they are called, which shapes come out, what is said of wrong ones.
// Numbers and gradients are compared in net_test.
#include <catch2/catch.hpp>

#include "neon/spec/spec.h"
#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

namespace {

struct Described {
  Graph graph;
  std::vector<LayerRow> rows;
  std::vector<std::string> parameters;
  Shape output;
};

Described described(const std::string& layers, const Shape& sample) {
  const Network network = network_of(yaml_of(layers));
  Described out;
  LayerContext context(out.graph, true, DType::f32, 0);
  const Expr x(out.graph, out.graph.input("x", DType::f32, Shape{2}.concat(sample)));
  const Shape y = network.forward(context, x, &out.rows).shape();
  out.output = y.slice(1, y.rank());
  for (const Parameter& p : context.parameters) out.parameters.push_back(p.name);
  return out;
}

// What is said against layers of samples (4,8,8).
std::string error(const std::string& layers) {
  try {
    described(layers, {4, 8, 8});
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.what();
  }
  return "";
}

const std::string kConv = "Conv: {fshape: 3, padding: 1, init: Kaiming, nofm: ";

}  // namespace

TEST_CASE("layers are named by class in the order of the spec, in branches too") {
  const Described net = described("[" + kConv + "4}, {MergeSum: [[" + kConv + "4}, " + kConv +
                                      "4, name: inner}], [SkipNode], " + kConv + "4}]}, " + kConv + "2}]",
                                  {3, 8, 8});
  CHECK(net.parameters == std::vector<std::string>{"Conv_0/W", "Conv_1/W", "inner/W", "Conv_3/W", "Conv_4/W"});
  CHECK(net.output == Shape{2, 8, 8});
}

TEST_CASE("a product takes a number for each map or each pixel, and no other sizes") {
  const std::string maps =
      "[[Pooling: {fshape: all, op: avg}, Affine: {nout: 4, init: Kaiming}], SkipNode, " + kConv + "1}]";
  CHECK(described("[MergeProduct: " + maps + "]", {4, 8, 6}).output == Shape{4, 8, 6});
  CHECK_THAT(
      error("[MergeProduct: [SkipNode, [Pooling: 2]]]"),
      Contains("MergeProduct multiplies branches of equal shape, or by a number for each feature map or for each "
               "pixel, but these have 1 (4, 8, 8), 2 (4, 4, 4)"));
  CHECK_THAT(error("[MergeMean: [SkipNode, [Pooling: 2]]]"), Contains("MergeMean takes the mean of branches of equal"));
}

TEST_CASE("what is cut to fit is the larger one") {
  const std::string both = "[SkipNode: {name: large}, Pooling: {fshape: 2, name: small}, CropToFit: {inputs: ";
  CHECK(described(both + "[large, small]}]", {4, 7, 9}).output == Shape{4, 3, 4});
  CHECK_THAT(error(both + "[small, large]}]"), Contains("exchange the two"));
}

TEST_CASE("the table of layers has those of a branch under their container") {
  const Described net = described("[" + kConv + "4}, {MergeConcat: [[" + kConv + "5}, SkipNode], [" + kConv +
                                      "6, strides: 1}]]}, {Affine: {nout: 3, init: Kaiming}}]",
                                  {3, 8, 8});
  struct Row {
    const char* name;
    int depth;
    size_t branch;
    Shape output;
    int64_t parameters;
  };
  const Row expected[] = {{"Conv_0", 0, 0, {4, 8, 8}, 3 * 9 * 4}, {"MergeConcat_0", 0, 0, {11, 8, 8}, 0},
                          {"Conv_1", 1, 1, {5, 8, 8}, 4 * 9 * 5}, {"SkipNode_0", 1, 0, {5, 8, 8}, 0},
                          {"Conv_2", 1, 2, {6, 8, 8}, 4 * 9 * 6}, {"Affine_0", 0, 0, {3}, 11 * 8 * 8 * 3}};
  REQUIRE(net.rows.size() == std::size(expected));
  for (size_t i = 0; i < net.rows.size(); ++i) {
    INFO(expected[i].name);
    CHECK(net.rows[i].name == expected[i].name);
    CHECK(net.rows[i].depth == expected[i].depth);
    CHECK(net.rows[i].branch == expected[i].branch);
    CHECK(net.rows[i].output == expected[i].output);
    CHECK(net.rows[i].parameters == expected[i].parameters);
  }
  CHECK(network_of(yaml_of("[SkipNode, {MergeSum: [SkipNode, [SkipNode, SkipNode]]}]")).layer_count() == 4);
}

TEST_CASE("a net wants the GPU's libraries where any layer is a convolution or attention, in branches too") {
  const auto wants_library = [](const std::string& layers) { return network_of(yaml_of(layers)).has_own_library(); };
  const std::string filters = "{fshape: 3, nofm: 2, init: Kaiming}";
  for (const std::string layer : {"Conv", "Deconv", "Convolution", "Deconvolution"}) {
    CHECK(wants_library("[" + layer + ": " + filters + "]"));
    CHECK(wants_library("[SkipNode, {MergeSum: [SkipNode, [SkipNode, " + layer + ": " + filters + "]]}]"));
  }
  CHECK(wants_library("[CrossMapPooling: {nofm: 2, init: Kaiming}]"));
  CHECK(wants_library("[MultiHeadAttention: {heads: 2, init: Kaiming}]"));
  CHECK_FALSE(wants_library("[Pooling: {fshape: 2}, {MergeSum: [SkipNode, [Affine: {nout: 3, init: Kaiming}]]}]"));
}

TEST_CASE("neon's notations of branches mean the same") {
  const auto resolved = [](const std::string& layers) {
    const Spec spec = spec_from_text("layers:\n" + layers, "n.yaml");
    return network_of(*spec.root.find("layers")).resolved().to_string();
  };
  const std::string ours = resolved("- MergeBroadcast: {layers: [[Linear: {nout: 3, init: Gaussian}], [SkipNode]]}\n");
  CHECK_THAT(ours, Contains("MergeBroadcast: {layers: [[{Linear: {nout: 3"));
  CHECK(resolved("- type: MergeBroadcast\n  config:\n    merge: stack\n    layers:\n    - - type: Linear\n"
                 "        config: {nout: 3, init: {type: Gaussian}}\n    - - {type: SkipNode}\n") == ours);
  CHECK(resolved("- type: MergeBroadcast\n  layer_container:\n  - [{type: Linear, nout: 3, init: {type: Gaussian}}]\n"
                 "  - {type: SkipNode}\n") == ours);
  CHECK(resolved("- BranchLayer: {sublayers: [{ListLayer: {sublayers: [{Linear: {nout: 3, init: Gaussian}}]}}, "
                 "SkipNode]}\n") ==
        resolved("- MergeBroadcast: [{Sequential: [{Linear: {nout: 3, init: Gaussian}}]}, SkipNode]\n"));
  const std::string again = resolved("- MergeSum: [{Sequential: [{Linear: {nout: 3, init: Gaussian}}]}, SkipNode]\n");
  CHECK(resolved(again.substr(1, again.size() - 2).insert(0, "- ") + "\n") == again);
}

TEST_CASE("--set reaches into branches by index and by name") {
  const std::vector<Override> overrides = {"layers[0][1][0].nout=7", "layers.deep.nout=8"};
  const Spec spec = spec_from_text(
      "layers:\n- MergeConcat:\n  - [Linear: {nout: 3, init: Kaiming, name: deep}]\n"
      "  - [Linear: {nout: 3, init: Kaiming}]\n",
      "n.yaml", overrides);
  Graph graph;
  LayerContext context(graph, true, DType::f32, 0);
  const Expr x(graph, graph.input("x", DType::f32, {2, 5}));
  CHECK(network_of(*spec.root.find("layers")).forward(context, x).shape() == Shape{2, 15});
}

TEST_CASE("an optimizer serves layers in branches by name") {
  const Network network =
      network_of(yaml_of("[{MergeSum: [[{Linear: {nout: 3, init: Kaiming, name: left}}], [{Linear: {nout: 3, "
                         "init: Kaiming}}]]}, {Activation: Softmax}]"));
  const auto cost = Registry<Cost>::get().create(yaml_of("CrossEntropyMulti"));
  const auto optimizer = Registry<Optimizer>::get().create(
      yaml_of("MultiOptimizer: {default: {SGD: {learning_rate: 0}}, left: Adam, Linear_1: RMSProp}"));
  DataLayout data;
  data.target_dtype = DType::i32;
  data.sample = {5}, data.target = {1}, data.train_size = 8, data.classes = 3;
  const StepGraph step = training_graph(network, *cost, *optimizer, data, {.batch = 4});
  CHECK(step.optimizers.size() == 2);
  std::set<std::string> variables;
  for (Value v : step.graph.leaves(LeafKind::variable))
    variables.insert(step.graph.producer(v).attributes.string("name"));
  CHECK(variables.count("left/W/mean"));
  CHECK(!variables.count("Linear_1/W/mean"));
}

TEST_CASE("branches that do not merge are told with the shapes of each") {
  const std::string sum = error("[" + kConv + "6}, {MergeSum: [[" + kConv + "8}], [SkipNode]]}]");
  CHECK_THAT(sum,
             Contains("MergeSum adds branches of equal shape, but these have 1 (8, 8, 8), 2 (6, 8, 8); a convolution"));
  CHECK_THAT(sum, Contains("shapes so far: (4, 8, 8) -> Conv_0 (6, 8, 8) -> MergeSum_0"));
  CHECK_THAT(sum, Contains("spec.yaml:1:"));
  CHECK_THAT(error("[{MergeConcat: [[" + kConv + "8, strides: 2}], [SkipNode]]}]"),
             Contains("differ only in their feature maps, but these have 1 (8, 4, 4), 2 (4, 8, 8)"));
  CHECK(error("[{MergeBroadcast: {merge: stack, layers: [[" + kConv + "8, strides: 2}], [SkipNode]]}}]") == "");
  CHECK_THAT(error("[{MergeConcat: [{Affine: {nout: 3, init: Kaiming}}, SkipNode]}]"),
             Contains("these have 1 (3), 2 (4, 8, 8)"));
}

TEST_CASE("an error in a branch shows the shapes up to it") {
  const std::string line =
      error("[" + kConv + "6}, {MergeSum: [SkipNode, [{Pooling: 2}, {Pooling: {fshape: 5, name: large}}]]}]");
  CHECK_THAT(line, Contains("a window 5 high does not fit in feature maps 4 high"));
  CHECK_THAT(line, Contains("(4, 8, 8) -> Conv_0 (6, 8, 8) -> MergeSum_0 branch 2 -> Pooling_0 (6, 4, 4) -> large"));
}

TEST_CASE("inputs name earlier layers") {
  const std::string a = kConv + "4, name: alpha}", b = kConv + "4, name: b}";
  CHECK(error("[" + a + ", " + b + ", {MergeSum: {inputs: [alpha, b]}}]") == "");
  CHECK(error("[" + a + ", {MergeSum: {inputs: [alpha, data]}}]") == "");
  CHECK_THAT(error("[" + a + ", " + b + ", {MergeSum: {inputs: [alpa, b]}}]"),
             Contains("inputs: no layer before this one is named 'alpa'; did you mean alpha"));
  // That nothing takes alpha then is a consequence, and not told.
  const std::string mistyped = error("[" + a + ", " + b + ", " + kConv + "4, inputs: [alpa]}]");
  CHECK_THAT(mistyped, Contains("named 'alpa'") && !Contains("no layer takes the outputs"));
  CHECK_THAT(error("[{Conv: {fshape: 1, nofm: 4, init: Kaiming, inputs: b}}, " + b + "]"),
             Contains("no layer before this one is named 'b'"));
  CHECK_THAT(error("[" + a + ", {MergeSum: {name: m, inputs: m}}]"), Contains("is named 'm'"));
  CHECK_THAT(error("[" + a + ", " + kConv + "4, inputs: [alpha, data]}]"),
             Contains("Conv takes one input, `inputs` has 2; MergeSum and MergeConcat make one of several"));
  CHECK_THAT(error("[" + a + ", " + kConv + "4, inputs: data}]"),
             Contains("no layer takes the outputs of 'alpha': the next layer has `inputs`, which do not name it"));
  CHECK_THAT(error("[" + a + ", MergeSum]"), Contains("MergeSum has neither branches of layers nor `inputs`"));
  CHECK_THAT(error("[" + a + ", {MergeSum: {inputs: [alpha, data], layers: [SkipNode, SkipNode, SkipNode]}}]"),
             Contains("`inputs` has 2 names for 3 branches; give one for all, or one for each"));
  CHECK_THAT(error("[" + kConv + "4, name: data}]"), Contains("named 'data', the name of the samples in `inputs`"));
  CHECK_THAT(error("[" + a + ", {MergeSum: [[" + kConv + "4, name: alpha}]]}]"),
             Contains("two layers are named 'alpha'"));
  const std::string shapes =
      error("[" + a + ", {Pooling: {fshape: 2, name: half}}, {MergeSum: {inputs: [alpha, half]}}]");
  CHECK_THAT(shapes, Contains("these have 1 (4, 8, 8), 2 (4, 4, 4)"));
  CHECK_THAT(shapes, Contains("shapes so far: alpha (4, 8, 8), half (4, 4, 4) -> MergeSum_0"));
}

TEST_CASE("each branch of a MergeMultistream has an input of its own") {
  const auto part = [](const char* name, int begin, int end) {
    return text("{Slice: {name: ", name, ", inputs: data, begin_idx: ", begin, ", end_idx: ", end, "}}, ");
  };
  const std::string parts = part("one", 0, 1) + part("rest", 1, 4);
  const std::string branches = "layers: [[" + kConv + "2, name: left}], [" + kConv + "5, name: right}]]";
  const Described net =
      described("[" + parts + "{MergeMultistream: {merge: depth, inputs: [one, rest], " + branches + "}}]", {4, 8, 8});
  CHECK(net.output == Shape{7, 8, 8});
  for (const LayerRow& row : net.rows) {
    if (row.name == "left") CHECK(row.parameters == 1 * 9 * 2);
    if (row.name == "right") CHECK(row.parameters == 3 * 9 * 5);
  }
  CHECK_THAT(error("[{MergeMultistream: {" + branches + "}}]"),
             Contains("gives each of its 2 branches an input of its own, and `inputs` names 0; name one for each "
                      "branch") &&
                 Contains("or write MergeBroadcast, whose branches all read the same input"));
  CHECK_THAT(error("[{MergeMultistream: {inputs: data, " + branches + "}}]"), Contains("and `inputs` names 1; name"));
  CHECK(error("[{MergeMultistream: {inputs: [data, data], " + branches + "}}]") == "");
  CHECK(error("[" + parts + "{MergeMultistream: {inputs: [one, rest]}}]") == "");
}

TEST_CASE("steps of branches follow one another") {
  const auto joined = [](const std::string& layer, std::vector<double>& values, std::vector<double>& lengths) {
    Graph graph;
    LayerContext context(graph, false, DType::f64, 0);
    const Expr x(graph, graph.input("x", DType::f64, {2, 3, 2}));
    context.data_axes = {Axis::sample, Axis::time, Axis::feature};
    context.data_lengths = graph.input("lengths", DType::i32, {2});
    const Network network = network_of(yaml_of(layer));
    const Expr y = network.forward(context, x);
    CHECK(context.is_sequence(y));
    graph.output("y", y);
    graph.output("steps", context.lengths(y));
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, {});
    std::vector<double> numbers;
    for (int i = 0; i < 12; ++i) numbers.push_back(i);
    const std::vector<int32_t> counts = {3, 1};
    program->bind("x", numbers.data());
    program->bind("lengths", counts.data());
    program->run(1);
    for (int64_t i = 0; i < program->output("y").elements(); ++i) values.push_back(program->output("y").at(i));
    for (int64_t i = 0; i < 2; ++i) lengths.push_back(program->output("steps").at(i));
  };
  // The last step of a sample is a row, and comes first.
  for (const std::string name : {"MergeConcatSequence: {", "MergeBroadcast: {merge: recurrent, "}) {
    std::vector<double> values, lengths;
    joined("[" + name + "layers: [[RecurrentLast], [SkipNode]]}]", values, lengths);
    CHECK(values == std::vector<double>{4, 5, 0, 1, 2, 3, 4, 5, 6, 7, 6, 7, 8, 9, 10, 11});
    CHECK(lengths == std::vector<double>{4, 2});
  }
  CHECK_THAT(error("[{MergeBroadcast: {merge: recurrent, layers: [[SkipNode], [SkipNode]]}}]"),
             Contains("joins the steps of sequences, or rows of features as one step each") &&
                 Contains("1 (4, 8, 8), 2 (4, 8, 8)"));
  const std::string row = "[Affine: {nout: 3, init: Kaiming}]";
  CHECK(described("[{MergeConcatSequence: {layers: [" + row + ", " + row + "]}}]", {4, 8, 8}).output == Shape{2, 3});
  CHECK_THAT(error("[{MergeConcatSequence: {layers: [" + row + ", [Affine: {nout: 4, init: Kaiming}]]}}]"),
             Contains("must have as many features each") && Contains("1 (3), 2 (4)"));
}

TEST_CASE("a tree gives an output for each branch, or while training alone") {
  const std::string affine = "{Affine: {nout: 3, init: Kaiming, activation: Softmax}}";
  for (const char* kind : {"Tree", "SingleOutputTree"}) {
    const Network network = network_of(yaml_of(
        text("[{", kind, ": [[{BranchNode: {name: b}}, ", affine, "], [{BranchNode: {name: b}}, ", affine, "]]}]")));
    for (const bool training : {true, false}) {
      Graph graph;
      LayerContext context(graph, training, DType::f32, 0);
      const Expr x(graph, graph.input("x", DType::f32, {2, 5}));
      CHECK(network.forward(context, x).shape() == Shape{2, 3});
      const bool several = training || std::string(kind) == "Tree";
      REQUIRE(context.more_outputs.size() == (several ? 1 : 0));
      if (several) CHECK(context.more_outputs[0].shape() == Shape{2, 3});
    }
    const auto one = Registry<Cost>::get().create(yaml_of("CrossEntropyMulti"));
    const auto two = Registry<Cost>::get().create(yaml_of("Multicost: [CrossEntropyMulti, CrossEntropyMulti]"));
    DataLayout data;
    data.target_dtype = DType::i32;
    data.sample = {5}, data.target = {1}, data.train_size = 8, data.classes = 3;
    CHECK_THROWS_WITH(gradient_graph(network, *one, data, {.batch = 4}, true),
                      Contains("the net has 2 outputs, and this cost is of one"));
    CHECK(gradient_graph(network, *two, data, {.batch = 4}, true).outputs.size() == 2);
    CHECK(evaluation_graph(network, &*two, {}, data, 8, {.batch = 4}).graph.outputs().count("cost"));
    const auto second = Registry<Metric>::get().create(yaml_of("MultiMetric: {metric: Accuracy, index: 1}"));
    const auto evaluated = [&] { return evaluation_graph(network, nullptr, {&*second}, data, 8, {.batch = 4}); };
    if (std::string(kind) == "Tree") CHECK(evaluated().graph.outputs().count("metric/0/0"));
    else CHECK_THROWS_WITH(evaluated(), Contains("MultiMetric's index is 1, and the net has 1 output"));
  }
}

TEST_CASE("a tree's branches begin at its nodes") {
  const std::string node = "{BranchNode: {name: b}}";
  CHECK_THAT(error("[{Tree: [[" + node + ", SkipNode], [SkipNode]]}]"),
             Contains("branch 1 begins with SkipNode, expected the BranchNode that it starts from"));
  CHECK_THAT(error("[{Tree: [[" + node + ", SkipNode], [{BranchNode: {name: bb}}, SkipNode]]}]"),
             Contains("no BranchNode before this branch is named 'bb'; did you mean b"));
  CHECK_THAT(error("[{Tree: [[BranchNode, SkipNode]]}]"), Contains("'name' is missing"));
  CHECK_THAT(error("[{Tree: [[" + node + ", " + node + "], [" + node + "]]}]"), Contains("'b' appears again"));
  CHECK_THAT(error("[{Tree: {layers: [[" + node + "], [" + node + "]], alphas: [1, 2, 3]}}]"),
             Contains("alphas has 3 factors for 2 branches"));
  CHECK_THAT(error("[{MergeSum: {layers: [SkipNode, SkipNode], alphas: 1}}]"), Contains("1 factor for 2 branches"));
  CHECK_THAT(error("[{Tree: []}]"), Contains("'layers' has no trunk"));
}

TEST_CASE("factors of gradients leave images in their order") {
  const std::string shape = "{MergeSum: {layers: [[SkipNode], [SkipNode]], alphas: [1, 0.5]}}";
  CHECK(described("[" + shape + "]", {2, 3, 4}).output == Shape{2, 3, 4});
  CHECK(described("[" + shape + ", " + kConv + "5}]", {2, 3, 4, 6}).output == Shape{5, 3, 4, 6});
  CHECK(described("[{MergeConcat: {layers: [[SkipNode], [SkipNode]], alphas: [0.25, 0.5]}}]", {2, 3, 4, 6}).output ==
        Shape{4, 3, 4, 6});
}

TEST_CASE("images of one channel stay what they are beside a Reshape of theirs") {
  const Shape image = {1, 3, 6};  // lies (3,6,1), which a Reshape to (3,6,1) does not change
  for (const char* before : {"", "{Reshape: [1, 3, 6]}, ", "{Pooling: 1}, "})
    for (const char* branches : {"[[{Reshape: [3, 6, 1]}], [{Pooling: {fshape: [2, 5]}}]]",
                                 "[[{Pooling: {fshape: [2, 5]}}], [{Reshape: [3, 6, 1]}], [SkipNode, Pooling: all]]"}) {
      const Described net =
          described(text("[", before, "{MergeBroadcast: {merge: stack, layers: ", branches, "}}]"), image);
      for (const LayerRow& row : net.rows)
        if (row.kind == "Pooling" && row.depth == 1) CHECK((row.output == Shape{1, 1, 1}));
        else if (row.kind == "Reshape" && row.depth == 1) CHECK((row.output == Shape{3, 6, 1}));
    }
}

TEST_CASE("branches that begin at one node have each a factor of its own") {
  const std::string node = "{BranchNode: {name: b}}", dense = "{Linear: {nout: 3, init: Kaiming}}";
  const Network network = network_of(yaml_of("[" + dense + ", {Tree: {layers: [[" + node + ", SkipNode], [" + node +
                                             "], [" + node + "]], alphas: [1, 0.5, 0.25]}}]"));
  Graph graph;
  LayerContext context(graph, true, DType::f32, 0);
  const Expr trunk = network.forward(context, {graph, graph.input("x", DType::f32, {2, 5})});
  REQUIRE(context.more_outputs.size() == 2);
  for (const auto& [branch, factor] : {std::pair{0, 0.5}, {1, 0.25}}) {
    const Node& made = graph.producer(context.more_outputs[size_t(branch)]);
    CHECK(made.attributes.real("factor") == factor);
    CHECK(made.inputs[0] == trunk);
  }
}

TEST_CASE("layers that are no branches are told so, with their place") {
  CHECK_THAT(error("[{MergeSum: [[], [SkipNode]]}]"),
             Contains("MergeSum.layers[0]: a branch without layers; SkipNode passes its input on"));
  CHECK_THAT(error("[{MergeSum: [[{Convv: {nofm: 3}}]]}]"), Contains("unknown layer 'Convv'; did you mean Conv"));
  CHECK_THAT(error("[{MergeSum: [[" + kConv + "0}]]}]"), Contains("spec.yaml:1:"));
  CHECK_THAT(error("[{MergeBroadcast: {layers: [SkipNode], merge: deep}}]"),
             Contains("one of depth, stack, recurrent"));
  CHECK_THAT(error("[{Sequential: {name: s}}]"), Contains("'layers' is missing"));
}
