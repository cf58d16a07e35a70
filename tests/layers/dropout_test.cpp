// Dropout while training: what is random can't be in a golden file, so its laws are checked.
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/graph/op.h"
#include "layers/layer.h"
#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr double kKeep = 0.7;
constexpr int64_t kElements = 64 * 128;

// y and dy/dx of ones.
struct Dropped {
  Dropped(const Arithmetic& arithmetic, uint64_t seed, bool caffe = false, const char* name = "L",
          const Shape& shape = {64, 128})
      : arithmetic(arithmetic) {
    const auto layer = Registry<Layer>::get().create(yaml_of(text("Dropout: ", kKeep)));
    Expr x(graph, graph.variable("x", arithmetic.dtype, shape));
    LayerContext context(graph, true, arithmetic.dtype, seed);
    context.layer = name;
    context.caffe = caffe;
    Expr y = layer->forward(context, x);
    const Value wanted[] = {x};
    graph.output("y", y);
    graph.output("dx", gradients(graph, y, wanted).front());
    program = compile_for_cpu(graph, variables, arithmetic.options);
    for (int64_t i = 0; i < kElements; ++i) variables.at("x").set(i, 1);
  }
  std::vector<double> run(uint64_t step) {
    program->run(step);
    const Tensor y = program->output("y"), dx = program->output("dx");
    std::vector<double> out;
    for (int64_t i = 0; i < kElements; ++i) {
      out.push_back(y.at(i));
      same = same && y.at(i) == dx.at(i);
    }
    return out;
  }
  const Arithmetic& arithmetic;
  Graph graph;
  Variables variables;
  std::unique_ptr<Program> program;
  bool same = true;  // the gradient passes where the input did, by the same factor
};

double kept(const std::vector<double>& y) { return double(kElements - std::ranges::count(y, 0.0)); }

}  // namespace

TEST_CASE("dropout keeps its share, by a mask of 0 and 1 that is new in each step and the same on each run") {
  std::vector<double> plain;
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(arithmetic.name);
    Dropped dropped(arithmetic, 7);
    const auto first = dropped.run(1), second = dropped.run(2), again = dropped.run(1);
    CHECK(dropped.same);
    for (double y : first) REQUIRE((y == 0 || y == 1));
    // Within five standard deviations of a binomial count.
    const double deviation = std::sqrt(double(kElements) * kKeep * (1 - kKeep));
    CHECK(std::fabs(kept(first) - kKeep * double(kElements)) < 5 * deviation);
    CHECK(std::fabs(kept(second) - kKeep * double(kElements)) < 5 * deviation);
    // Two independent masks agree in a share k^2 + (1-k)^2 of places.
    double agree = 0;
    for (size_t i = 0; i < first.size(); ++i) agree += first[i] == second[i];
    CHECK(std::fabs(agree / double(kElements) - (kKeep * kKeep + (1 - kKeep) * (1 - kKeep))) < 0.03);
    CHECK(first == again);
    CHECK(Dropped(arithmetic, 8).run(1) != first);
    CHECK(Dropped(arithmetic, 7, false, "M").run(1) != first);
    CHECK(Dropped(arithmetic, 7, false, "L", {4, 16, 16, 8}).run(1) == first);  // by element, images too
    if (plain.empty()) plain = first;
    CHECK(first == plain);  // whatever the arithmetic
  }
}

TEST_CASE("with --caffe what is kept is scaled while training, so that the mean stays") {
  for (const Arithmetic& arithmetic : arithmetics()) {
    Dropped dropped(arithmetic, 7, true), masked(arithmetic, 7);
    const auto scaled = dropped.run(1), mask = masked.run(1);
    for (size_t i = 0; i < scaled.size(); ++i)
      REQUIRE(std::fabs(scaled[i] - mask[i] / kKeep) <= 2 * unit_roundoff(arithmetic.dtype) / kKeep);
    CHECK(dropped.same);
  }
  Graph graph;
  LayerContext context(graph, false, DType::f32, 0);
  context.caffe = true;
  Expr x(graph, graph.input("x", DType::f32, {2, 3}));
  CHECK(Registry<Layer>::get().create(Setting::scalar("Dropout"))->forward(context, x).value() == x.value());
}

namespace {

// Dropout, and behind it a binary layer of four outputs, of x (5,1,1,6) or (5,6) whose numbers are 1, 0 and -1.
struct BinaryBehindDropout {
  BinaryBehindDropout(const std::string& spec, const Shape& shape, bool training, bool caffe) {
    const auto drop = Registry<Layer>::get().create(yaml_of(text("Dropout: ", kKeep)));
    const auto layer = Registry<Layer>::get().create(yaml_of(spec));
    Expr x(graph, graph.variable("x", DType::f32, shape));
    LayerContext context(graph, training, DType::f32, 3);
    context.layer = "D";
    context.caffe = caffe;
    const Expr left = drop->forward(context, x);
    context.layer = "L";
    const Expr y = layer->forward(context, left);
    const Value wanted[] = {x};
    if (training) graph.output("mask", context.dropped.at(left).mask);
    graph.output("y", y);
    if (training) graph.output("dx", gradients(graph, y, wanted).front());
    program = compile_for_cpu(graph, variables);
    for (int64_t i = 0; i < 30; ++i) variables.at("x").set(i, i * i % 7 < 3 ? 1 : i % 3 - 1);
    for (int64_t i = 0; i < 24; ++i) variables.at("L/W").set(i, i % 5 < 2 ? 0.5 : -0.25);
    program->run(1);
  }
  double sign_of_weight(int64_t k, int64_t j) { return variables.at("L/W").at(k * 6 + j) > 0 ? 1 : -1; }
  Graph graph;
  Variables variables;
  std::unique_ptr<Program> program;
};

}  // namespace

TEST_CASE("binary layers take 0 for what dropout left out, and the mean of all signs") {
  const std::pair<const char*, Shape> cases[] = {{"BinaryLinear: 4", {5, 6}},
                                                 {"BinaryConv: {fshape: 1, nofm: 4}", {5, 1, 1, 6}}};
  for (const auto& [spec, shape] : cases)
    for (const bool caffe : {false, true}) {
      INFO(spec << ", caffe " << caffe);
      BinaryBehindDropout training(spec, shape, true, caffe), evaluation(spec, shape, false, caffe);
      int64_t zeros = 0;
      for (int64_t n = 0; n < 5; ++n) {
        double of_input[6] = {};
        for (int64_t k = 0; k < 4; ++k) {
          double some = 0, all = 0;
          for (int64_t j = 0; j < 6; ++j) {
            // The sign of 0 is 1.
            const double x = training.variables.at("x").at(n * 6 + j) < 0 ? -1 : 1,
                         sign = training.sign_of_weight(k, j);
            const bool stays = training.program->output("mask").at(n * 6 + j) != 0;
            zeros += !stays;
            some += stays ? x * sign / kKeep : 0;
            of_input[j] += stays ? sign / kKeep : 0;
            all += x * sign;
          }
          CHECK(training.program->output("y").at(n * 4 + k) == Approx(some).margin(1e-5));
          CHECK(evaluation.program->output("y").at(n * 4 + k) == Approx(all));
        }
        for (int64_t j = 0; j < 6; ++j)
          CHECK(training.program->output("dx").at(n * 6 + j) == Approx(of_input[j]).margin(1e-5));
      }
      CHECK(zeros > 8);
    }
}

namespace {

// The training output of a net of these layers for x (5, 6) = 1, whose last layer is BinaryLinear with weights of 1.
std::vector<double> signs_behind(const std::vector<const char*>& specs) {
  Graph graph;
  LayerContext context(graph, true, DType::f32, 3);
  Expr x(graph, graph.variable("x", DType::f32, {5, 6}));
  for (size_t i = 0; i < specs.size(); ++i) {
    context.layer = text("L", i);
    x = apply_layer(*Registry<Layer>::get().create(yaml_of(specs[i])), context, {x});
  }
  graph.output("y", x);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables);
  for (int64_t i = 0; i < 30; ++i) variables.at("x").set(i, 1);
  Tensor& weights = variables.at(text("L", specs.size() - 1, "/W"));
  for (int64_t i = 0; i < weights.elements(); ++i) weights.set(i, 1);
  program->run(1);
  std::vector<double> out;
  for (int64_t i = 0; i < program->output("y").elements(); ++i) out.push_back(program->output("y").at(i));
  return out;
}

// Products multiply and add in an order of their own.
auto near(const std::vector<double>& expected) { return Catch::Matchers::Approx(expected).margin(1e-5); }

}  // namespace

TEST_CASE("binary layers find what dropout left out behind layers that move numbers or change each by itself") {
  const std::vector<double> plain = signs_behind({"Dropout: 0.7", "BinaryLinear: 1"});
  CHECK(std::ranges::count(plain, 0) < 5);
  for (const std::vector<const char*>& specs : std::vector<std::vector<const char*>>{
           {"Dropout: 0.7", "Activation: Tanh", "BinaryLinear: 1"},
           {"Dropout: 0.7", "Activation: PReLU", "BinaryLinear: 1"},
           {"Dropout: 0.7", "Activation: RReLU", "BinaryLinear: 1"},
           {"Dropout: 0.7", "StochasticDepth: 0.5", "BinaryLinear: 1"},
           {"Dropout: 0.7", "Reshape: [2, 3]", "BinaryLinear: 1"},
           {"Dropout: 0.7", "Reshape: [3, 2, 1]", "Activation: Tanh", "BinaryLinear: 1"},
           {"Dropout: 0.7", "Reshape: [3, 2, 1]", "BinaryConv: {fshape: [2, 1], nofm: 1}"}}) {
    INFO(join(std::vector<std::string>(specs.begin(), specs.end()), ", "));
    CHECK_THAT(signs_behind(specs), near(plain));  // L0 draws the same mask
  }
  // Each step has signs of its own, and the steps of a sample are those of its numbers.
  const std::vector<double> steps = signs_behind({"Dropout: 0.7", "AsSequence: {steps: 3}", "BinaryLinear: 1"});
  REQUIRE(steps.size() == 15);
  for (size_t n = 0; n < 5; ++n)
    CHECK(steps[3 * n] + steps[3 * n + 1] + steps[3 * n + 2] == Approx(plain[n]).margin(1e-5));
  CHECK_THAT(signs_behind({"Dropout: 0.7", "AsSequence: {steps: 3}", "SinusoidalPositions", "BinaryLinear: 1"}),
             near(steps));
  // Slices of the sample, the last of them is the last step; and each number in the places of four.
  const std::vector<double> before = signs_behind({"Dropout: 0.7", "Slice: 4", "BinaryLinear: 1"}),
                            behind =
                                signs_behind({"Dropout: 0.7", "Slice: {begin_idx: 4, end_idx: 6}", "BinaryLinear: 1"}),
                            larger = signs_behind(
                                {"Dropout: 0.7", "Reshape: [1, 2, 3]", "Upsample: {scale: 2}", "BinaryLinear: 1"});
  CHECK_THAT(signs_behind({"Dropout: 0.7", "AsSequence: {steps: 3}", "RecurrentLast", "BinaryLinear: 1"}),
             near(behind));
  for (size_t n = 0; n < 5; ++n) {
    CHECK(before[n] + behind[n] == Approx(plain[n]).margin(1e-5));
    CHECK(behind[n] == Approx(steps[3 * n + 2]).margin(1e-5));
    CHECK(larger[n] == Approx(4 * plain[n]).margin(1e-5));
  }
  // A number stays where both stay: each is 0, or 1 / (0.7 * 0.5).
  const double once = 1 / (0.7 * 0.5);
  const std::vector<double> twice = signs_behind({"Dropout: 0.7", "Dropout: 0.5", "BinaryLinear: 1"});
  double all = 0;
  for (const double y : twice) {
    CHECK(std::remainder(y, once) == Approx(0).margin(1e-4));
    all += y / once;
  }
  CHECK(all > 2);
  CHECK(all < 20);  // of 30, about 10; with the zeros as signs, all 30
  // Both masks are of steps.
  CHECK(signs_behind({"AsSequence: {steps: 3}", "Dropout: 0.7", "Dropout: 0.5", "RecurrentLast", "BinaryLinear: 1"})
            .size() == 5);
}

TEST_CASE("binary layers refuse zeros of dropout that another layer has mixed") {
  CHECK_THROWS_WITH(
      signs_behind({"Dropout: 0.7", "Reshape: [1, 2, 3]", "Pooling: {fshape: 2, strides: 1}",
                    "BinaryConv: {fshape: 1, nofm: 1}"}),
      Catch::Contains("L2 makes a number of several, so that this layer cannot know which L0 left out, and would take "
                      "zeros of Dropout as signs; put the Dropout behind L2"));
  for (const char* mixing : {"Activation: Softmax", "Activation: {PixelwiseSoftmax: 3}", "DataTransform: Softmax"})
    CHECK_THROWS_WITH(signs_behind({"Dropout: 0.7", mixing, "BinaryLinear: 1"}),
                      Catch::Contains("L1 makes a number of several"));
  CHECK_THROWS_WITH(
      signs_behind({"Dropout: 0.7", "Reshape: [1, 2, 3]", "Upsample: {scale: 2, mode: linear}", "BinaryLinear: 1"}),
      Catch::Contains("L2 makes a number of several"));
  // Weights mix the numbers, and a layer that takes the numbers themselves is right about zeros.
  CHECK(signs_behind({"Dropout: 0.7", "Affine: {nout: 4, init: {Constant: 1}}", "BinaryLinear: 1"}).size() == 5);
  CHECK(signs_behind({"Dropout: 0.7", "Reshape: [1, 2, 3]", "Pooling: {fshape: 2, strides: 1}",
                      "BinaryLinear: {nout: 1, binary_input: false}"})
            .size() == 5);
}

TEST_CASE("stochastic depth keeps its share of samples, each whole, by new draws in each step") {
  constexpr int64_t kSamples = 4096;
  for (const bool caffe : {false, true})
    for (const Arithmetic& arithmetic : arithmetics()) {
      INFO(arithmetic.name << ", caffe " << caffe);
      Graph graph;
      Variables variables;
      LayerContext context(graph, true, arithmetic.dtype, 7);
      context.layer = "L";
      context.caffe = caffe;
      const Expr x(graph, graph.variable("x", arithmetic.dtype, {kSamples, 2, 1, 3}));
      graph.output("y", Registry<Layer>::get().create(yaml_of("StochasticDepth: 0.75"))->forward(context, x));
      const auto program = compile_for_cpu(graph, variables, arithmetic.options);
      for (int64_t i = 0; i < x.shape().elements(); ++i) variables.at("x").set(i, 3);
      const auto run = [&](uint64_t step) {
        program->run(step);
        const Tensor y = program->output("y");
        std::vector<double> first;  // number of each sample
        for (int64_t n = 0; n < kSamples; ++n) {
          first.push_back(y.at(6 * n));
          for (int64_t k = 1; k < 6; ++k) REQUIRE(y.at(6 * n + k) == first.back());
        }
        return first;
      };
      const std::vector<double> once = run(1);
      double stay = 0;
      for (const double y : once) {
        if (y == 0) continue;
        REQUIRE(y == Approx(caffe ? 4 : 3).epsilon(1e-6));
        ++stay;
      }
      CHECK(std::abs(stay - 0.75 * double(kSamples)) < 5 * std::sqrt(0.75 * 0.25 * double(kSamples)));
      CHECK(run(2) != once);
      CHECK(run(1) == once);
    }
}

TEST_CASE("attention drops its share of weights while training, and divides the others by the share that stays") {
  constexpr int64_t kSequences = 4096, kHeadCount = 2;
  const auto layer =
      Registry<Layer>::get().create(yaml_of("MultiHeadAttention: {heads: 2, init: Gaussian, dropout: 0.25}"));
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(arithmetic.name);
    Graph graph;
    Variables variables;
    LayerContext context(graph, true, arithmetic.dtype, 7);
    context.layer = "L";
    const Expr x(graph, graph.variable("x", arithmetic.dtype, {kSequences, 1, kHeadCount}));
    context.mark_sequence(x);
    graph.output("y", layer->forward(context, x));
    const auto program = compile_for_cpu(graph, variables, arithmetic.options);
    for (const char* part : {"q", "k", "v", "out"})  // each head sees one number, and gives it
      for (int64_t i = 0; i < 4; ++i) variables.at(text("L/W_", part)).set(i, i % 3 == 0);
    for (int64_t i = 0; i < x.shape().elements(); ++i) variables.at("x").set(i, 3);
    const auto run = [&](uint64_t step) {
      program->run(step);
      const Tensor y = program->output("y");
      std::vector<double> out;
      for (int64_t i = 0; i < y.elements(); ++i) out.push_back(y.at(i));
      return out;
    };
    const std::vector<double> first = run(1), second = run(2);
    CHECK(first != second);
    CHECK(first == run(1));
    double stay = 0;
    for (const double y : first) {
      if (y == 0) continue;
      REQUIRE(y == Approx(4).epsilon(1e-6));  // 3 / 0.75
      ++stay;
    }
    const double count = double(first.size());
    CHECK(std::abs(stay - 0.75 * count) < 5 * std::sqrt(0.75 * 0.25 * count));
  }
}
