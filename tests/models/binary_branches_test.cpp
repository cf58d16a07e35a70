// Dropout, branches and a binary layer: its signs are 0 where a Dropout has left numbers out.
#include <catch2/catch.hpp>

#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr int64_t kDropRows = 5, kDropNumbers = 6;

// The training outputs of these layers and behind them BinaryLinear, with weights of 1, for x (5,6) of 0.9. A sample
// has the sum of 1 / keep over the numbers that stay, and the same is the sum of its gradients.
std::vector<double> stays(const std::string& layers, bool caffe = false) {
  INFO(layers);
  const Network network = network_of(yaml_of("[" + layers + ", BinaryLinear: {nout: 1, name: last}]"));
  Graph graph;
  LayerContext context(graph, true, DType::f32, 3);
  context.caffe = caffe;
  const Expr x(graph, graph.variable("x", DType::f32, {kDropRows, kDropNumbers}));
  const Expr y = network.forward(context, x);
  graph.output("y", y);
  const Value wanted[] = {x};
  graph.output("dx", gradients(graph, y, wanted).front());
  Variables variables;
  const auto program = compile_for_cpu(graph, variables);
  for (int64_t i = 0; i < kDropRows * kDropNumbers; ++i) variables.at("x").set(i, 0.9);
  Tensor& weights = variables.at("last/W");
  for (int64_t i = 0; i < weights.elements(); ++i) weights.set(i, 1);
  program->run(1);
  std::vector<double> out;
  for (int64_t n = 0; n < kDropRows; ++n) {
    out.push_back(program->output("y").at(n));
    double slopes = 0;
    for (int64_t i = 0; i < kDropNumbers; ++i) slopes += program->output("dx").at(n * kDropNumbers + i);
    CHECK(slopes == Approx(out.back()).margin(1e-5));
  }
  return out;
}

void check_sums(const std::vector<double>& got, const std::vector<double>& a, const std::vector<double>& b) {
  for (size_t n = 0; n < got.size(); ++n) CHECK(got[n] == Approx(a[n] + b[n]).margin(1e-5));
}

// Draws go by the name.
const std::string kDropA = "Dropout: {keep: 0.7, name: a}", kDropB = "Dropout: {keep: 0.5, name: b}";

}  // namespace

TEST_CASE("joined branches have the signs of each, divided by its own share") {
  for (const bool caffe : {false, true}) {
    INFO("caffe " << caffe);
    const std::vector<double> a = stays(kDropA, caffe), b = stays(kDropB, caffe), all(kDropRows, double(kDropNumbers));
    CHECK(a != all);
    check_sums(stays("MergeConcat: [[" + kDropA + "], [" + kDropB + "]]", caffe), a, b);
    check_sums(stays("MergeConcat: [SkipNode, [" + kDropA + "]]", caffe), all, a);
    std::vector<double> both = a;
    for (double& y : both) y += double(kDropNumbers);
    check_sums(stays("MergeConcat: [[MergeConcat: [SkipNode, [" + kDropA + "]]], [" + kDropB + "]]", caffe), both, b);
    check_sums(stays(kDropA + ", MergeBroadcast: {layers: [SkipNode, SkipNode], merge: stack}", caffe), a, a);
  }
}

TEST_CASE("a sum of branches behind one Dropout has zeros where that has") {
  CHECK(stays(kDropA + ", MergeMean: [SkipNode, [Activation: Rectlin]]") == stays(kDropA));
  CHECK_THROWS_WITH(
      stays("MergeSum: [[" + kDropA + "], [" + kDropB + "]]"),
      Catch::Contains("MergeSum_0 makes a number of several, so that this layer cannot know which a left"));
}

TEST_CASE("an image that is cut has the signs of its middle, whatever gave it its size") {
  CHECK(stays("Reshape: [1, 2, 3], " + kDropA +
              ", Pooling: {fshape: all, name: small}, CropToFit: {inputs: [a, small]}") ==
        stays(kDropA + ", Slice: {begin_idx: 1, end_idx: 2}"));
}
