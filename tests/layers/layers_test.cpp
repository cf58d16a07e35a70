// Every layer against PyTorch, those of images against NumPy: outputs while training, gradients by input and
// parameters, running statistics after two steps, outputs in inference.
#include <catch2/catch.hpp>

#include "backends/graph/flops.h"
#include "backends/graph/op.h"
#include "backends/graph/ops.h"
#include "layers/layer.h"
#include "tests/backends/cuda/part.h"
#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;

namespace {

// Sums of up to 24 products, and for batch norm a mean, a variance and a root of them.
constexpr double kRoundings = 64;

// The cases of both files.
Setting layer_cases() {
  Setting all = golden("layers/golden/layers.json");
  for (Setting& one : golden("layers/golden/images.json").items) all.items.push_back(std::move(one));
  return all;
}

Expr forward(const Layer& layer, GraphRun& run, const Setting& one, LayerContext& context) {
  context.layer = std::string("L");
  Expr x = run.value("x", at(one, "x"));
  if (const Setting* tokens = one.find("tokens")) {
    context.tokens = std::stoll(tokens->value);
    x = cast(x, DType::i32);
    context.set_axes(x, {Axis::sample, Axis::time});
  } else if (one.find("sequence")) context.mark_sequence(x);
  else context.mark_channels_first(x);
  for (const auto& entry : at(one, "parameters").entries) run.value(entry.key, entry.value);
  std::vector<Expr> inputs = {x};
  if (const Setting* memory = one.find("memory")) {
    inputs.push_back(run.value("memory", *memory));
    if (one.find("sequence")) context.mark_sequence(inputs.back());
    else context.mark_channels_first(inputs.back());
  }
  if (const Setting* lengths = one.find("lengths"))
    context.set_lengths(x, cast(run.value("lengths", *lengths), DType::i32));
  const Expr y = context.channels_first(apply_layer(layer, context, inputs));
  const Expr counts = unpadded(context, y);
  return counts.value() ? apply("select", counts, y, y.constant(0)) : y;
}

void check_training(const Layer& layer, const Setting& one, const Arithmetic& arithmetic, Variables& kept) {
  GraphRun run(arithmetic);
  LayerContext context(run.graph, true, arithmetic.dtype, 0);
  Expr y = forward(layer, run, one, context);
  const bool of_tokens = one.find("tokens");  // by which there is no gradient
  std::vector<Value> wanted;
  if (!of_tokens) wanted.push_back(run.value("x", at(one, "x")));
  if (const Setting* memory = one.find("memory")) wanted.push_back(run.value("memory", *memory));
  const size_t first = wanted.size();
  for (const Parameter& p : context.parameters)
    wanted.push_back(run.graph.variable(p.name, context.master_dtype, p.shape));
  CHECK(wanted.size() == at(one, "parameters").entries.size() + first);
  const auto derived = gradients(run.graph, y, wanted, run.value("g", at(one, "g")));
  run.graph.output("y", y);
  for (size_t i = 0; i < wanted.size(); ++i) {
    // No path leads to what has no part in the outputs, as an RBM's visible biases.
    Value by = derived[i];
    if (!by)
      by = broadcast_to(run.graph, run.graph.constant(0, run.graph.dtype(wanted[i])), run.graph.shape(wanted[i]));
    run.graph.output(text("d", i), by);
  }
  for (const Assignment& a : context.state_updates) run.graph.assign(a.variable, a.value);
  for (const LayerState& s : context.states) {
    Tensor& start = run.variables.declare(s.name, context.master_dtype, s.shape);
    for (int64_t i = 0; i < start.elements(); ++i) start.set(i, s.fill);
  }
  run.run(1);
  check_close(run.output("y"), at(one, "y"), kRoundings);
  if (!of_tokens) check_close(run.output("d0"), at(one, "dx"), kRoundings);
  if (one.find("memory")) check_close(run.output("d1"), at(one, "dmemory"), kRoundings);
  for (size_t i = 0; i < context.parameters.size(); ++i) {
    INFO("gradient by " << context.parameters[i].name);
    check_close(run.output(text("d", i + first)), at(at(one, "gradients"), context.parameters[i].name), kRoundings);
  }
  run.run(2);
  CHECK(context.states.size() == at(one, "states").entries.size());
  for (const LayerState& s : context.states) {
    INFO(s.name);
    check_close(run.variables.at(s.name), at(at(one, "states"), s.name), kRoundings);
    std::memcpy(kept.declare(s.name, context.master_dtype, s.shape).data(), run.variables.at(s.name).data(),
                run.variables.at(s.name).bytes());
  }
}

void check_inference(const Layer& layer, const Setting& one, const Arithmetic& arithmetic, const Variables& states) {
  GraphRun run(arithmetic);
  LayerContext context(run.graph, false, arithmetic.dtype, 0);
  run.graph.output("y", forward(layer, run, one, context));
  CHECK(context.state_updates.empty());
  for (const auto& [name, tensor] : states.all())
    std::memcpy(run.variables.declare(name, tensor.dtype(), tensor.shape()).data(), tensor.data(), tensor.bytes());
  run.run();
  check_close(run.output("y"), at(one, "inference"), kRoundings);
}

std::unique_ptr<Layer> layer_of(const Setting& one) {
  return Registry<Layer>::get().create(object_of(at(one, "layer")));
}

}  // namespace

TEST_CASE("layers, their gradients and running statistics are those of the golden file", "[device][parts]") {
  const std::vector<Setting> cases = test::part_of(layer_cases().items);
  for (const Arithmetic& arithmetic : arithmetics())
    for (const Setting& one : cases) {
      INFO(at(one, "layer").to_string() << " of " << shape_of(at(one, "x")).to_string() << ", " << arithmetic.name);
      const auto layer = layer_of(one);
      Variables states;
      if (at(one, "random").value != "true") check_training(*layer, one, arithmetic, states);
      check_inference(*layer, one, arithmetic, states);
    }
}

TEST_CASE("every layer has a golden case, and reads back as written") {
  const Setting cases = layer_cases();
  const std::vector<std::string> elsewhere = {"MultiBox", "Proposals",
                                              "RegionBoxes",  // tests/models/detection_test.cpp
                                              "TextPart"};    // tests/models/text_part_test.cpp
  CHECK(uncovered("layer", cases, "layer", elsewhere) == std::vector<std::string>{});
  for (const Setting& one : cases.items) {
    const auto [first, second] = round_trip<Layer>(object_of(at(one, "layer")));
    CHECK(first == second);
  }
}

TEST_CASE("parts of a layer are named and classed as neon named them; fans are inputs and outputs") {
  const auto layer = Registry<Layer>::get().create(
      yaml_of("Affine: {nout: 3, init: Kaiming, bias: {Constant: 1}, activation: Rectlin}"));
  Graph graph;
  LayerContext context(graph, true, DType::f32, 0);
  context.layer = "fc";
  layer->forward(context, {graph, graph.input("x", DType::f32, {2, 5})});
  REQUIRE(context.parameters.size() == 2);
  const Parameter &w = context.parameters[0], &b = context.parameters[1];
  CHECK((w.name == "fc/W" && w.layer == "fc" && w.layer_class == "Linear"));
  CHECK((b.name == "fc_bias/b" && b.layer == "fc_bias" && b.layer_class == "Bias"));
  CHECK(w.shape == Shape{3, 5});
  CHECK((w.fan.in == 5 && w.fan.out == 3 && w.fan.rows == 3 && w.fan.columns == 5));
  CHECK((b.fan.rows == 3 && b.fan.columns == 1));  // neon 1.x's biases were a column

  const auto maps = Registry<Layer>::get().create(yaml_of("Bias: {init: GlorotUniform}"));
  maps->forward(context, {graph, graph.input("maps", DType::f32, {2, 6, 6, 7})});
  CHECK((context.parameters[2].fan.rows == 7 && context.parameters[2].fan.columns == 1));
}

TEST_CASE("batch_norm of a layer takes the numbers of BatchNorm") {
  struct Found {
    double eps = 0;
    bool keeps = false;  // 0.75 of the running statistics
  };
  const auto found_in = [](const std::string& yaml, const Shape& shape) {
    Graph graph;
    LayerContext context(graph, true, DType::f32, 0);
    context.layer = "one";
    Registry<Layer>::get().create(yaml_of(yaml))->forward(context, {graph, graph.input("x", DType::f32, shape)});
    Found out;
    for (int i = 0; i < graph.node_count(); ++i) {
      const Node& node = graph.node(i);
      if (node.op->is(ops::batch_norm)) out.eps = node.attributes.real("epsilon");
      out.keeps = out.keeps || (node.op->is(ops::constant) && node.attributes.real("value") == 0.75);
    }
    return out;
  };
  for (const auto& [layer, shape] :
       {std::pair("Affine: {nout: 3", Shape{4, 5}), std::pair("BinaryAffine: {nout: 3", Shape{4, 5}),
        std::pair("Conv: {fshape: 2, nofm: 3", Shape{4, 5, 5, 2}),
        std::pair("Deconv: {fshape: 2, nofm: 3", Shape{4, 5, 5, 2})}) {
    const std::string begin = std::string(layer) + ", batch_norm: ";
    INFO(begin);
    CHECK(found_in(begin + "false}", shape).eps == 0);
    CHECK((found_in(begin + "true}", shape).eps == 1e-3 && !found_in(begin + "true}", shape).keeps));
    const Found other = found_in(begin + "{rho: 0.75, eps: 0.5}}", shape);
    CHECK((other.eps == 0.5 && other.keeps));
  }
  const auto written = [](const std::string& norm) {
    return round_trip<Layer>(yaml_of("Affine: {nout: 3, batch_norm: " + norm + "}")).second;
  };
  CHECK_THAT(written("{eps: 0.5}"), Catch::Contains("batch_norm: {rho: 0.9, eps: 0.5}"));
  CHECK_THAT(written("{rho: 0.9}"), Catch::Contains("batch_norm: true"));
  CHECK_THAT(written("false"), Catch::Contains("batch_norm: false"));
  for (const char* wrong : {"3", "[true]", "{alpha: 1}", "{eps: -1}"}) CHECK_THROWS(written(wrong));
  for (const char* layer : {"DeepBiRNN", "DeepBiLSTM"}) {
    const std::string deep = std::string(layer) + ": {output_size: 3, batch_norm: {rho: 0.99, eps: 1e-6}}";
    CHECK_THAT(round_trip<Layer>(yaml_of(deep)).second, Catch::Contains("batch_norm: {rho: 0.99, eps: 1e-06}"));
  }
}

TEST_CASE("neon 1.0's names of parts are those that MultiOptimizer knows; the arrays keep theirs") {
  const auto parts_of = [](const std::string& yaml, const Shape& shape) {
    Graph graph;
    LayerContext context(graph, true, DType::f32, 0);
    context.layer = "one";
    Registry<Layer>::get().create(yaml_of(yaml))->forward(context, {graph, graph.input("x", DType::f32, shape)});
    std::string out;
    for (const Parameter& p : context.parameters) out += text(p.name, " is ", p.layer, "; ");
    return out;
  };
  CHECK(parts_of("Affine: {nout: 3, init: Kaiming, bias: {Constant: 1}, linear_name: a, bias_name: b, act_name: c}",
                 {2, 5}) == "one/W is a; one_bias/b is b; ");
  CHECK(parts_of("Affine: {nout: 3, init: Kaiming, activation: PReLU, act_name: c}", {2, 5}) ==
        "one/W is one; one_act/slope is c; ");
  CHECK(parts_of("Conv: {fshape: 1, nofm: 2, init: Kaiming, batch_norm: true, conv_name: a, bn_name: b}",
                 {2, 4, 4, 3}) == "one/W is a; one_bnorm/gamma is b; one_bnorm/beta is b; ");
  CHECK(parts_of("Deconv: {fshape: 1, nofm: 2, init: Kaiming, bias: {Constant: 1}, conv_name: a, bias_name: b}",
                 {2, 4, 4, 3}) == "one/W is a; one_bias/b is b; ");
}

TEST_CASE("an activation learns a number for each feature map, or one, in every layer that has an activation") {
  const auto slope_of = [](const std::string& yaml) {
    Graph graph;
    LayerContext context(graph, true, DType::f16, 0);
    context.layer = "one";
    const Expr y = Registry<Layer>::get()
                       .create(yaml_of(yaml))
                       ->forward(context, {graph, graph.input("x", DType::f16, {2, 6, 6, 5})});
    CHECK(y.dtype() == DType::f16);
    REQUIRE(!context.parameters.empty());
    const Parameter& p = context.parameters.back();
    return text(p.name, " of ", p.layer_class, " ", p.shape, " from ", p.fill);
  };
  const std::string each = "one_act/slope of PReLU (3) from 0.25";
  CHECK(slope_of("Affine: {nout: 3, init: Kaiming, activation: PReLU}") == each);
  CHECK(slope_of("Conv: {fshape: [3, 3, 3], init: Kaiming, activation: PReLU}") == each);
  CHECK(slope_of("Deconv: {fshape: [3, 3, 3], init: Kaiming, activation: PReLU}") == each);
  CHECK(slope_of("Local: {fshape: [3, 3, 3], init: Kaiming, activation: PReLU}") == each);
  CHECK(slope_of("CrossMapPooling: {nofm: 3, init: Kaiming, activation: PReLU}") == each);
  CHECK(slope_of("Activation: PReLU") == "one/slope of PReLU (5) from 0.25");
  CHECK(slope_of("Activation: {PReLU: {shared: true, slope: 0.1}}") == "one/slope of PReLU (1) from 0.1");
  CHECK(slope_of("DataTransform: PReLU") == "one/slope of PReLU (5) from 0.25");
}

TEST_CASE("a layer whose initialiser is IdentityInit is not trained; its bias is, unless it is marked too") {
  for (const bool both : {false, true}) {
    const auto layer = Registry<Layer>::get().create(
        yaml_of(text("Affine: {nout: 3, init: IdentityInit, bias: ", both ? "IdentityInit" : "{Constant: 0}", "}")));
    Graph graph;
    LayerContext context(graph, true, DType::f32, 0);
    context.layer = "fc";
    layer->forward(context, {graph, graph.input("x", DType::f32, {2, 3})});
    CHECK(!context.parameters[0].trained);
    CHECK(context.parameters[1].trained == !both);
  }
  Graph graph;
  LayerContext context(graph, true, DType::f32, 0);
  Registry<Layer>::get()
      .create(yaml_of("Affine: {nout: 3, init: {IdentityInit: {frozen: false}}}"))
      ->forward(context, {graph, graph.input("x", DType::f32, {2, 3})});
  CHECK(context.parameters[0].trained);
}

TEST_CASE("batch norm while training takes more than one value of each feature") {
  const auto shape_after = [](const Shape& x, bool training) {
    Graph graph;
    LayerContext context(graph, training, DType::f32, 0);
    context.layer = "L";
    const auto layer = Registry<Layer>::get().create(yaml_of("BatchNorm"));
    return layer->forward(context, {graph, graph.input("x", DType::f32, x)}).shape();
  };
  CHECK_THROWS_WITH(shape_after({1, 5}, true),
                    "batch norm of (1, 5) while training: each of the 5 features has one value in the batch, so its "
                    "variance is 0 and nothing would be learnt; give a larger batch_size (-z)");
  CHECK_THROWS_AS(shape_after({1, 1, 1, 3}, true), Error);
  for (const Shape& shape : {Shape{2, 5}, Shape{1, 1, 2, 3}, Shape{1, 2, 1, 1, 3}})
    CHECK(shape_after(shape, true) == shape);
  CHECK(shape_after({1, 5}, false) == Shape{1, 5});
}

TEST_CASE("multiplications and additions are counted for one sample") {
  const auto flops = [](const char* yaml, const Shape& input) {
    constexpr int64_t samples = 2;
    Graph graph;
    LayerContext context(graph, true, DType::f32, 0);
    context.layer = "L";
    const Expr x(graph, graph.input("x", DType::f32, Shape{samples}.concat(input)));  // channels last
    const int first = graph.node_count();
    Registry<Layer>::get().create(yaml_of(yaml))->forward(context, x);
    return flops_of(graph, first, graph.node_count()) / samples;
  };
  CHECK(flops("Linear: {nout: 3, init: Kaiming}", {5}) == 5 * 3 + 5 * 3);
  // A bias, a normalisation and an activation go along.
  CHECK(flops("Affine: {nout: 4, init: Kaiming}", {2, 3}) == 6 * 4 + 6 * 4);
  CHECK(flops("Affine: {nout: 4, init: Kaiming, bias: {Constant: 0}, activation: Softmax}", {6}) == 6 * 4 + 6 * 4);
  CHECK(flops("Affine: {nout: 4, init: Kaiming, batch_norm: true, activation: Tanh}", {6}) == 6 * 4 + 6 * 4);
  CHECK(flops("Conv: {fshape: [3, 5, 8], groups: 2, init: Kaiming}", {9, 7, 4}) == 2.0 * 8 * 7 * 3 * 3 * 5 * 2);
  CHECK(flops("Deconv: {fshape: [3, 5, 8], init: Kaiming}", {9, 7, 4}) == 2.0 * 9 * 7 * 4 * 3 * 5 * 8);
  CHECK(flops("CrossMapPooling: {nofm: 3, init: Kaiming}", {2, 2, 5}) == 2 * 2 * 2 * 3 * 5);
  CHECK(flops("Activation: Tanh", {3, 2}) == 6);
  CHECK(flops("Dropout: 0.5", {3, 2}) == 6);
  CHECK(flops("BatchNorm", {3, 2}) == 6);
  CHECK(flops("Bias: {init: {Constant: 0}}", {6}) == 6);
  CHECK(flops("SkipNode", {6}) == 0);
  CHECK(flops("Reshape: [3, 2]", {6}) == 0);
  CHECK(flops("Slice: {begin_idx: 1, end_idx: 3}", {6}) == 0);
  CHECK(flops("Pooling: 3", {6, 6, 4}) == 4 * 2 * 2 * 3 * 3);
  CHECK(flops("Pooling: {fshape: [3, 2], op: avg}", {6, 6, 4}) == 4 * 2 * 3 * 3 * 2);
  CHECK(flops("Pooling: {fshape: 2, op: l2}", {6, 6, 4}) == 4 * 3 * 3 * 2 * 2);
  CHECK(flops("Pooling: 2", {4, 4, 4, 3}) == 3 * 2 * 2 * 2 * 2 * 2 * 2);
  CHECK(flops("Pooling: {fshape: {R: 3, S: 3, J: 2}}", {6, 6, 4}) == 2 * 2 * 2 * 3 * 3 * 2);
  CHECK(flops("Pooling: {fshape: all, op: avg}", {6, 6, 4}) == 4 * 6 * 6);
  // A power counts 4.
  CHECK(flops("LRN: 5", {3, 2, 8}) == 8 * 3 * 2 * (5 + 4));
  CHECK(flops("LocalContrastNorm: {ksize: 3, alpha: 1, beta: 1}", {3, 2, 8}) == 8 * 3 * 2 * (2 * 9 + 4));
  CHECK(flops("Local: {fshape: [3, 2, 4], init: Kaiming}", {8, 8, 5}) == 2 * 4 * 6 * 7 * 3 * 2 * 5);
  CHECK(flops("Maxout: 3", {2, 2, 6}) == 24);
}

TEST_CASE("no samples are as wide as some; a bias of samples without axes is one number") {
  Graph graph;
  CHECK(as_rows({graph, graph.input("none", DType::f32, {0, 2, 3})}).shape() == Shape{0, 6});
  CHECK(as_rows({graph, graph.input("some", DType::f32, {4, 2, 3})}).shape() == Shape{4, 6});
  LayerContext context(graph, true, DType::f32, 0);
  context.layer = "L";
  Expr y = Registry<Layer>::get()
               .create(yaml_of("Bias: {init: {Constant: 1}}"))
               ->forward(context, {graph, graph.input("numbers", DType::f32, {4})});
  CHECK(y.shape() == Shape{4});
  CHECK(context.parameters[0].shape == Shape{1});
}

TEST_CASE("gate_bias gives each gate's biases a first value of their own") {
  const auto biases_of = [](const char* yaml) {
    const auto layer = Registry<Layer>::get().create(yaml_of(yaml));
    Graph graph;
    LayerContext context(graph, true, DType::f32, 0);
    context.layer = "l";
    const Expr x(graph, graph.input("x", DType::f32, {2, 3, 5}));
    context.mark_sequence(x);
    layer->forward(context, x);
    std::vector<double> out;
    for (const Parameter& p : context.parameters) {
      if (p.name != "l/b") continue;
      Tensor values(DType::f32, p.block());
      Stream stream(1, "b");
      p.initializer->fill(values, p.fan, stream);
      for (int64_t i = 0; i < values.elements(); ++i) out.push_back(values.at(i));
    }
    return out;
  };
  CHECK(biases_of("LSTM: {output_size: 2, init: Kaiming, gate_bias: [1, -1, 1, 0]}") ==
        std::vector<double>{1, 1, -1, -1, 1, 1, 0, 0});
  CHECK(biases_of("GRU: {output_size: 1, init: Kaiming, gate_bias: [1, 2, 3]}") == std::vector<double>{1, 2, 3});
  const auto error_of = [](const char* yaml) {
    try {
      Registry<Layer>::get().create(yaml_of(yaml));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(error_of("LSTM: {output_size: 2, init: Kaiming, gate_bias: [1]}"),
             Catch::Contains("gate_bias has 1 number, expected 4, one for each gate"));
  CHECK_THAT(error_of("LSTM: {output_size: 2, init: Kaiming, bias: {Constant: 1}, gate_bias: [1, 1, 1, 1]}"),
             Catch::Contains("bias and gate_bias are both given"));
}
