// Layers of images: what is said of sizes that do not fit, neon's spellings of fshape, sizes with --caffe, order of
// axes, fans and the identity's filters.
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/graph/ops.h"
#include "backends/program.h"
#include "layers/layer.h"
#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

namespace {

std::string image_layer(const std::string& yaml) { return complaint<Layer>(yaml); }

struct Described {
  Graph graph;
  std::unique_ptr<Layer> layer;
  std::unique_ptr<LayerContext> context;
  Expr y;
};

// A layer of samples (C,H,W), as a data set gives them.
std::unique_ptr<Described> described(const std::string& yaml, const Shape& sample, bool caffe = false) {
  auto out = std::make_unique<Described>();
  out->layer = Registry<Layer>::get().create(yaml_of(yaml));
  out->context = std::make_unique<LayerContext>(out->graph, true, DType::f32, 0);
  out->context->layer = "L";
  out->context->caffe = caffe;
  Expr x(out->graph, out->graph.input("x", DType::f32, Shape{2}.concat(sample)));
  out->context->mark_channels_first(x);
  out->y = apply_layer(*out->layer, *out->context, {x});
  return out;
}

Shape output(const std::string& yaml, const Shape& sample, bool caffe = false) {
  const auto made = described(yaml, sample, caffe);
  return made->context->sample_shape(made->y);
}

std::string image_error(const std::string& yaml, const Shape& sample) {
  try {
    described(yaml, sample);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("neon's spellings of a filter mean the same") {
  for (const char* fshape : {"{fshape: [3, 5, 8]", "{fshape: [3, 5], nofm: 8", "{fshape: {R: 3, S: 5, K: 8}",
                             "{fshape: {R: 3, S: 5}, nofm: 8", "{fshape: {h: 3, w: 5, k: 8}"})
    for (const char* steps : {"strides: [2, 1], padding: [0, 1]", "strides: {str_h: 2}, padding: {pad_w: 1}",
                              "stride: {h: 2, w: 1}, pad: {w: 1}"}) {
      const std::string yaml = text("Conv: ", fshape, ", ", steps, ", init: Kaiming}");
      INFO(yaml);
      const auto made = described(yaml, {3, 9, 7});
      CHECK(made->context->sample_shape(made->y) == Shape{8, 4, 5});
      REQUIRE(made->context->parameters.size() == 1);
      CHECK(made->context->parameters[0].shape == Shape{8, 3, 5, 3});
    }
  CHECK(output("Conv: {fshape: 3, nofm: 8, padding: 1, init: Kaiming}", {3, 9, 7}) == Shape{8, 9, 7});
  CHECK(output("Conv: {fshape: [2, 3, 4, 5], init: Kaiming}", {3, 5, 9, 7}) == Shape{5, 4, 7, 4});
  CHECK(output("Conv: {fshape: {T: 2, R: 3, S: 3, K: 5}, strides: {str_d: 3}, init: Kaiming}", {3, 5, 9, 7}) ==
        Shape{5, 2, 7, 5});
}

TEST_CASE("a wrong filter is one line with what was expected") {
  CHECK_THAT(image_layer("Conv: {init: Kaiming}"), Contains("'fshape' is missing"));
  CHECK(image_layer("Conv: {fshape: [3, 3, 8]}") == "");
  CHECK(image_layer("Conv: {fshape: [3, 0, 8], init: Kaiming}") ==
        "spec.yaml:1:20: Conv.fshape[1]: 0 is not at least 1");
  CHECK_THAT(image_layer("Conv: {fshape: [3, 3, 8], init: Kaiming, padding: {pad_q: 1}}"),
             Contains("'pad_q' is no axis"));
  CHECK_THAT(image_layer("Conv: {fshape: {R: 3, h: 3, K: 8}, init: Kaiming}"),
             Contains("'h' and another spelling of it are both given"));
  CHECK_THAT(image_layer("Conv: {fshape: three, init: Kaiming}"), Contains("expected an integer"));
  CHECK(image_layer("Conv: {fshape: [3, 3, 8], init: Kaiming, bias: {Constant: 0}, batch_norm: true}") ==
        "spec.yaml:1:7: Conv: bias and batch_norm are both given; batch norm has a shift of its own, leave bias out");
  CHECK(image_error("Conv: {fshape: [3, 3], init: Kaiming}", {3, 9, 7}) ==
        "fshape [3, 3] lacks the number of feature maps: give nofm, or [height, width, feature maps]");
  CHECK(image_error("Conv: {fshape: [3, 3, 8], nofm: 9, init: Kaiming}", {3, 9, 7}) ==
        "fshape [3, 3, 8] and nofm 9 give different numbers of feature maps");
  CHECK(image_error("Conv: {fshape: [3, 3, 8], nofm: 8, init: Kaiming}", {3, 9, 7}) == "");
  CHECK(image_error("Conv: {fshape: [3, 3, 3, 8], init: Kaiming}", {3, 9, 7}) ==
        "fshape [3, 3, 3, 8] has 4 numbers, the input has 2 axes of space (height, width)");
  CHECK(image_error("Conv: {fshape: {R: 3, S: 3, K: 4}, nofm: 8, init: Kaiming}", {3, 9, 7}) ==
        "fshape {h: 3, w: 3, k: 4} and nofm 8 give different numbers of feature maps");
  CHECK(image_error("Conv: {fshape: [3, 3, 8], strides: [1, 2, 3], init: Kaiming}", {3, 9, 7}) ==
        "strides [1, 2, 3] has 3 numbers, the input has 2 axes of space (height, width)");
  CHECK(image_error("Conv: {fshape: [3, 3, 8], strides: {str_d: 2}, init: Kaiming}", {3, 9, 7}) ==
        "strides 2 for the depth, which images do not have");
  for (const char* layer : {"Conv", "Deconv", "Local"})
    for (const char* key : {"strides", "padding", "dilation"}) {
      const std::string with = text(layer, ": {fshape: 3, nofm: 8, init: Kaiming, ", key);
      CHECK(image_error(with + ": {h: 1, c: 2}}", {3, 9, 7}) ==
            text(key, " 2 for the channels, which has no effect here; leave c out"));
      CHECK(image_error(with + ": {h: 1, K: 3}}", {3, 9, 7}) ==
            text(key, " 3 for the feature maps, which has no effect here; leave k out"));
    }
  CHECK(image_error("Conv: {fshape: 3, nofm: 8, strides: {h: 2, w: 2, c: 1}, init: Kaiming}", {3, 9, 7}) == "");
  CHECK(image_error("Pooling: {fshape: {R: 2, K: 2}}", {3, 9, 7}) ==
        "fshape 2 for the feature maps, which has no effect here; leave k out");
  CHECK(image_error("Pooling: {fshape: 2, strides: {h: 1, k: 2}}", {3, 9, 7}) ==
        "strides 2 for the feature maps, which has no effect here; leave k out");
  CHECK(
      image_error("Conv: {fshape: [3, 9, 8], init: Kaiming}", {3, 9, 7}) ==
      "a filter 9 wide does not fit in feature maps 7 wide; a smaller fshape or more padding would, or fewer poolings "
      "and strides before it");
  CHECK_THAT(image_error("Conv: {fshape: [3, 3, 8], dilation: 6, padding: 1, init: Kaiming}", {3, 9, 7}),
             Contains("a filter 13 high (3 with dilation 6) does not fit in feature maps 9 high and padding of 2; "));
  CHECK_THAT(image_error("Conv: {fshape: [3, 2, 2, 8], init: Kaiming}", {3, 2, 9, 7}),
             Contains("a filter 3 deep does not fit in feature maps 2 deep; "));
  CHECK_THAT(image_error("Local: {fshape: [10, 3, 8], init: Kaiming}", {3, 9, 7}), Contains("a filter 10 high"));
  CHECK(image_error("Conv: {fshape: [3, 3, 8], groups: 2, init: Kaiming}", {3, 9, 7}) ==
        "3 channels and 8 feature maps do not go into 2 groups evenly");
  CHECK(image_error("Conv: {fshape: [3, 3, 8], init: Kaiming}", {784}) ==
        "convolution takes images (C, H, W) or volumes (C, D, H, W), got samples (784): put `Reshape: [1, 28, 28]` "
        "before it");
  CHECK_THAT(image_error("Pooling: 2", {28, 28}), Contains("put `Reshape: [1, 28, 28]` before it"));
  CHECK_THAT(image_error("Pooling: 2", {3}), Contains("put a Reshape to [channels, height, width] before it"));
  CHECK_THAT(image_error("Deconv: {fshape: [2, 2, 8], padding: 3, init: Kaiming}", {3, 2, 2}),
             Contains("leaves nothing along axis 0: padding of 3 on both sides is too much for a filter of 2"));
}

TEST_CASE("a wrong pooling is one line with what was expected") {
  CHECK_THAT(image_layer("Pooling: {fshape: 2, op: maximum}"), Contains("'maximum' is not one of max, avg, mean, l2"));
  CHECK_THAT(image_layer("Pooling: {op: max}"), Contains("'fshape' is missing"));
  CHECK_THAT(image_error("Pooling: {fshape: 2, padding: 2}", {3, 9, 7}),
             Contains("padding of 2 must be less than the window of 2, "));
  CHECK_THAT(image_error("Pooling: {fshape: {R: 2, S: 2, J: 2}, padding: {pad_c: 2}}", {3, 9, 7}),
             Contains("padding of 2 feature maps must be less than the window of 2, "));
  CHECK_THAT(image_error("Pooling: {fshape: {R: 2, S: 2, J: 6}, padding: {pad_c: 1}}", {3, 9, 7}),
             Contains("a window over 6 feature maps does not fit in 3 and padding of 2"));
  CHECK_THAT(image_error("Pooling: 8", {3, 9, 7}), Contains("a window 8 wide does not fit in feature maps 7 wide; "));
  CHECK_THAT(image_error("Pooling: {fshape: 2, strides: all}", {3, 9, 7}), Contains("'all' means nothing here"));
}

TEST_CASE("pooling: whole input, windows of channels, the last windows of --caffe") {
  CHECK(output("Pooling: all", {3, 9, 7}) == Shape{3, 1, 1});
  CHECK(output("Pooling: {fshape: 3, strides: 2}", {3, 9, 7}) == Shape{3, 4, 3});
  CHECK(output("Pooling: {fshape: {R: 1, S: 1, J: 2}}", {6, 9, 7}) == Shape{3, 9, 7});
  CHECK(output("Pooling: {fshape: {R: 1, S: 1, J: 5}, padding: {pad_c: 1}}", {3, 9, 7}) == Shape{1, 9, 7});
  // ceil((X - S + 2p) / s) + 1, without a window that would begin in the padding.
  CHECK(output("Pooling: {fshape: 3, strides: 2}", {3, 8, 7}, true) == Shape{3, 4, 3});
  CHECK(output("Pooling: {fshape: 2, strides: 2}", {3, 9, 7}, true) == Shape{3, 5, 4});
  CHECK(output("Pooling: {fshape: 2, strides: 2, padding: 1}", {3, 5, 6}, true) == Shape{3, 3, 4});
  CHECK(output("Pooling: {fshape: 2, strides: 3}", {3, 3, 5}, true) == Shape{3, 1, 2});
}

// Caffe's pooling_layer.cpp: ceil((X + 2p - S) / s) + 1 windows, less one that would begin in the padding behind.
TEST_CASE("with --caffe there are as many windows as Caffe has") {
  for (int64_t length = 1; length <= 8; ++length)
    for (int64_t window = 1; window <= 4; ++window)
      for (int64_t stride = 1; stride <= 5; ++stride)
        for (int64_t padding = 0; padding < window; ++padding) {
          if (length + 2 * padding < window) continue;
          auto windows = int64_t(std::ceil(double(length + 2 * padding - window) / double(stride))) + 1;
          if (padding > 0 && (windows - 1) * stride >= length + padding) --windows;
          if (padding == 0 && (windows - 1) * stride >= length) continue;  // a window of nothing, in Caffe
          const std::string yaml =
              text("Pooling: {fshape: ", window, ", strides: ", stride, ", padding: ", padding, "}");
          INFO(yaml << " of " << length);
          CHECK(output(yaml, {1, length, length}, true) == Shape{1, windows, windows});
        }
}

// Caffe's pooling_layer.cpp: a window ends where the padding behind ends, and what is left of it divides the sum.
TEST_CASE("with --caffe a mean counts the padding, and nothing beyond it") {
  const auto means = [](const std::string& yaml, int64_t size) {
    const auto made = described(yaml, {1, size, size}, true);
    Variables variables;
    made->graph.output("y", made->y);
    const auto program = compile_for_cpu(made->graph, variables, {.threads = 1});
    std::vector<float> ones(size_t(2 * size * size), 1);
    program->bind("x", ones.data());
    program->run(1);
    return program->output("y").clone();
  };
  const Tensor y = means("Pooling: {fshape: 3, strides: 2, padding: 1, op: avg}", 4);
  REQUIRE(y.shape() == Shape{2, 3, 3, 1});
  const double expected[] = {4 / 9.0, 6 / 9.0, 2 / 6.0, 6 / 9.0, 1, 3 / 6.0, 2 / 6.0, 3 / 6.0, 1 / 4.0};
  for (int64_t i = 0; i < 9; ++i) check_close(y.at(i), expected[i], 1e-6);
  // Without padding every pixel that a window has counts, in a last window, too.
  const Tensor plain = means("Pooling: {fshape: 3, strides: 2, op: avg}", 4);
  REQUIRE(plain.shape() == Shape{2, 2, 2, 1});
  for (int64_t i = 0; i < 4; ++i) check_close(plain.at(i), 1, 1e-6);
}

TEST_CASE("the relu before a maximum is done after it, with the same numbers") {
  Graph graph;
  LayerContext context(graph, true, DType::f32, 0);
  Expr x(graph, graph.input("x", DType::f32, {1, 2, 4, 1}));
  const auto pooling = Registry<Layer>::get().create(yaml_of("Pooling: 2"));
  graph.output("y", pooling->forward(context, apply("relu", x)));
  CHECK(graph.producer(graph.outputs().at("y")).op->is(ops::relu));
  Variables variables;
  const auto program = compile_for_cpu(graph, variables);
  const float data[] = {-1, -2, 3, NAN, -5, -0.5, 7, 1};
  program->bind("x", data);
  program->run(0);
  CHECK(program->output("y").at(0) == 0);
  CHECK(std::isnan(program->output("y").at(1)));
}

TEST_CASE("a window of zeros has no slope in its norm") {
  Graph graph;
  LayerContext context(graph, true, DType::f32, 0);
  Expr x(graph, graph.input("x", DType::f32, {1, 2, 2, 1}));
  const auto pooling = Registry<Layer>::get().create(yaml_of("Pooling: {fshape: 2, op: l2}"));
  const Value wanted[] = {x};
  graph.output("dx", gradients(graph, pooling->forward(context, x), wanted)[0]);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables);
  const float data[] = {0, 0, 0, 0};
  program->bind("x", data);
  program->run(0);
  for (int64_t i = 0; i < 4; ++i) CHECK(program->output("dx").at(i) == 0);
}

TEST_CASE("a local layer whose places have the same filters is a convolution") {
  for (const auto& [filter, sample] :
       {std::pair<const char*, Shape>{"fshape: [3, 2], nofm: 4, strides: [2, 1], padding: [2, 1], dilation: [1, 3]",
                                      {3, 8, 9}},
        {"fshape: [3, 2], nofm: 2, strides: 3, dilation: 2", {2, 11, 7}},
        {"fshape: [2, 3, 2], nofm: 3, strides: [1, 2, 1], padding: [1, 0, 1], dilation: [2, 1, 1]", {2, 5, 6, 4}}}) {
    INFO(filter);
    std::vector<Tensor> outputs;
    for (const char* kind : {"Convolution", "Local"}) {
      const auto made = described(text(kind, ": {", filter, ", init: Kaiming}"), sample);
      made->graph.output("y", made->y);
      Variables variables;
      const auto program = compile_for_cpu(made->graph, variables);
      // Filters (K,F), for each place the same; any numbers will do.
      Tensor& w = variables.at("L/W");
      const int64_t of_place = kind[0] == 'L' ? w.elements() / w.shape()[0] : w.elements();
      for (int64_t i = 0; i < w.elements(); ++i) w.set(i, double(i % of_place * 37 % 23) / 16 - 0.5);
      std::vector<float> x(size_t(2 * sample.elements()));
      for (size_t i = 0; i < x.size(); ++i) x[i] = float(i * 29 % 31) / 16 - 1;
      program->bind("x", x.data());
      program->run(0);
      outputs.push_back(program->output("y").clone());
    }
    REQUIRE(outputs[0].shape() == outputs[1].shape());
    for (int64_t i = 0; i < outputs[0].elements(); ++i) REQUIRE(std::fabs(outputs[0].at(i) - outputs[1].at(i)) < 1e-4);
  }
}

TEST_CASE("fans of filters count all their places, parts are named and classed as neon named them") {
  const auto made = described("Conv: {fshape: [3, 5, 8], groups: 2, init: Kaiming, bias: {Constant: 1}}", {4, 9, 7});
  const auto& parameters = made->context->parameters;
  REQUIRE(parameters.size() == 2);
  CHECK((parameters[0].name == "L/W" && parameters[0].layer == "L" && parameters[0].layer_class == "Convolution"));
  CHECK((parameters[1].name == "L_bias/b" && parameters[1].layer_class == "Bias"));
  CHECK((parameters[0].fan.in == 3 * 5 * 2 && parameters[0].fan.out == 3 * 5 * 4));
  CHECK((parameters[0].fan.rows == 3 * 5 * 2 && parameters[0].fan.columns == 4));
  const auto backwards = described("Deconv: {fshape: [3, 5, 8], init: Kaiming}", {4, 9, 7});
  CHECK(backwards->context->parameters[0].shape == Shape{4, 3, 5, 8});
  const Fan& back = backwards->context->parameters[0].fan;
  CHECK((back.in == 3 * 5 * 8 && back.out == 3 * 5 * 4 && back.rows == 3 * 5 * 8 && back.columns == 4));
  const auto local = described("Local: {fshape: [3, 5, 8], init: Kaiming}", {4, 9, 7});
  const Fan& of_local = local->context->parameters[0].fan;
  CHECK((of_local.in == 3 * 5 * 4 && of_local.out == 3 * 5 * 8));
}

TEST_CASE("the identity's filters are 1 where a feature map meets its own channel in the middle") {
  const auto identity = Registry<Initializer>::get().create(yaml_of("IdentityInit"));
  Tensor w(DType::f32, {4, 5, 3, 3});  // sides of which each counts
  Stream stream(0, "w");
  identity->fill(w, {}, stream);
  for (int64_t k = 0, i = 0; k < 4; ++k)
    for (int64_t r = 0; r < 5; ++r)
      for (int64_t s = 0; s < 3; ++s)
        for (int64_t c = 0; c < 3; ++c, ++i) CHECK(w.at(i) == (r == 2 && s == 1 && k == c ? 1 : 0));
}

TEST_CASE("features of images are in the order of the data set until a layer of images comes") {
  // x[n][c][h][w] = its place in the sample
  const Shape sample{2, 2, 3};
  for (const char* yaml : {"Reshape: [12]", "Reshape: [3, 2, 2]"}) {
    auto made = described(yaml, sample);
    made->graph.output("y", made->context->channels_first(made->y));
    Variables variables;
    const auto program = compile_for_cpu(made->graph, variables);
    std::vector<float> data(24);
    for (size_t i = 0; i < data.size(); ++i) data[i] = float(i % 12);
    program->bind("x", data.data());
    program->run(0);
    for (int64_t i = 0; i < 24; ++i) CHECK(program->output("y").at(i) == double(i % 12));
  }
  const auto flattened = described("Affine: {nout: 1, init: Kaiming}", sample);
  CHECK(flattened->graph.leaves(LeafKind::input).size() == 1);
  for (int i = 0; i < flattened->graph.node_count(); ++i) CHECK(!flattened->graph.node(i).op->is(ops::transpose));
}

namespace {

// The refusal of a layer of sequences of seven steps of four features.
std::string step_error(const std::string& yaml) {
  try {
    Graph graph;
    LayerContext context(graph, true, DType::f32, 0);
    context.layer = "L";
    Expr x(graph, graph.input("x", DType::f32, {2, 7, 4}));
    context.mark_sequence(x);
    apply_layer(*Registry<Layer>::get().create(yaml_of(yaml)), context, {x});
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("filters and windows over steps are one number, and what does not fit sequences is one line") {
  CHECK(step_error("Conv: {fshape: 3, nofm: 2, init: Kaiming}") == "");
  CHECK(step_error("Conv: {fshape: 9, nofm: 2, padding: 1, init: Kaiming}") == "");
  CHECK(step_error("Conv: {fshape: {S: 3, K: 2}, init: Kaiming, strides: {str_w: 2}}") == "");
  CHECK_THAT(step_error("Conv: {fshape: [3, 3, 2], init: Kaiming}"),
             Contains("fshape [3, 3, 2] has 3 numbers, sequences (T,F) have one axis, the steps; give one number"));
  CHECK_THAT(step_error("Conv: {fshape: {R: 3, S: 3, K: 2}, init: Kaiming}"),
             Contains("fshape 3 for the height, which sequences do not have; give one number"));
  CHECK_THAT(step_error("Conv: {fshape: 3, init: Kaiming}"), Contains("give nofm, or [steps, feature maps]"));
  CHECK_THAT(
      step_error("Conv: {fshape: 5, nofm: 2, dilation: 2, padding: 0, init: Kaiming}"),
      Contains("a filter of 9 steps (5 with dilation 2) does not fit in sequences of 7 steps; a smaller fshape"));
  CHECK_THAT(step_error("Conv: {fshape: 3, nofm: 2, causal: true, padding: 1, init: Kaiming}"),
             Contains("causal: true puts as many zeros before a sequence as its filters need; leave padding out"));
  CHECK_THAT(image_error("Conv: {fshape: 3, nofm: 2, causal: true, init: Kaiming}", {3, 9, 7}),
             Contains("causal: true is for sequences (T,F); the input is (3, 9, 7), leave it out"));
  CHECK_THAT(step_error("Pooling: 8"), Contains("a window of 8 steps does not fit in sequences of 7 steps"));
  CHECK_THAT(step_error("Pooling: {fshape: 2, padding: 2}"),
             Contains("padding of 2 must be less than the window of 2"));
}

TEST_CASE("sequences are as long as windows fit into them and their padding, and at least one step") {
  Graph graph;
  LayerContext context(graph, true, DType::f32, 0);
  context.layer = "L";
  Expr x(graph, graph.input("x", DType::f32, {9, 9, 4}));
  context.mark_sequence(x);
  context.set_lengths(x, graph.input("lengths", DType::i32, {9}));
  const auto layer =
      Registry<Layer>::get().create(yaml_of("Conv: {fshape: 4, nofm: 2, strides: 3, padding: 1, init: Kaiming}"));
  const Expr y = apply_layer(*layer, context, {x});
  graph.output("lengths", context.lengths(y));
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {});
  const int32_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  program->bind("lengths", lengths);
  program->run(1);
  for (int64_t i = 0; i < 9; ++i) {
    int64_t windows = 0;
    while (3 * windows + 4 <= lengths[i] + 2) ++windows;
    CHECK(program->output("lengths").at(i) == double(std::max<int64_t>(windows, 1)));
  }
}
