// Activations with a context: slopes that are learned, or drawn while training.
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/device/device.h"
#include "backends/graph/op.h"
#include "layers/layer.h"
#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr int64_t kRows = 40, kFeatures = 30;

// x (40,30) through one layer in f64; "total" is the sum of seed times y.
class OneLayer {
 public:
  OneLayer(const std::string& yaml, bool training, uint64_t seed = 7, const std::string& name = "L") {
    Graph graph;
    LayerContext context(graph, training, DType::f64, seed);
    context.layer = name;
    const Expr x(graph, graph.input("x", DType::f64, {kRows, kFeatures})),
        weights(graph, graph.input("seed", DType::f64, {kRows, kFeatures}));
    const Expr y = Registry<Layer>::get().create(yaml_of(yaml))->forward(context, x);
    std::vector<Value> wanted = {x};
    for (const Parameter& p : context.parameters) wanted.push_back(graph.variable(p.name, DType::f64, p.shape));
    const std::vector<Value> slopes = gradients(graph, y, wanted, weights);
    graph.output("y", y);
    graph.output("total", sum(y * weights, {0, 1}));
    graph.output("dx", slopes[0]);
    if (slopes.size() > 1) graph.output("dslope", slopes[1]);
    program_ = compile_for_cpu(graph, variables_, {.plain = true});
    for (const Parameter& p : context.parameters) {
      slope = &variables_.at(p.name);
      for (int64_t i = 0; i < slope->elements(); ++i) slope->set(i, p.fill);
    }
    variables_.to_device();
    Stream stream(1, "data");
    for (int64_t i = 0; i < xs.elements(); ++i) {
      const double size = 0.1 + stream.uniform();  // off the bend
      xs.set(i, stream.uniform() < 0.6 ? -size : size);
      weights_.set(i, stream.normal());
    }
    program_->bind("seed", weights_.data());
  }
  double total(uint64_t step = 3) {
    variables_.to_device();
    program_->bind("x", xs.data());
    program_->run(step);
    return output("total").at(0);
  }
  Tensor output(const char* name) const { return program_->output(name); }

  Tensor xs{DType::f64, {kRows, kFeatures}};
  Tensor* slope = nullptr;

 private:
  Tensor weights_{DType::f64, {kRows, kFeatures}};
  Variables variables_;
  std::unique_ptr<Program> program_;
};

// Of the total by one number, by central differences; the function is linear on either side of its bend.
double difference(OneLayer& layer, Tensor& varied, int64_t i) {
  constexpr double h = 1e-3;
  const double before = varied.at(i);
  varied.set(i, before + h);
  const double above = layer.total();
  varied.set(i, before - h);
  const double below = layer.total();
  varied.set(i, before);
  return (above - below) / (2 * h);
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(b)); }

// Of the slopes of all negative inputs.
std::vector<double> slopes(OneLayer& layer, uint64_t step) {
  layer.total(step);
  const Tensor y = layer.output("y");
  std::vector<double> out;
  for (int64_t i = 0; i < y.elements(); ++i) {
    if (layer.xs.at(i) < 0) out.push_back(y.at(i) / layer.xs.at(i));
    else CHECK(y.at(i) == layer.xs.at(i));
  }
  return out;
}

}  // namespace

TEST_CASE("gradients through learned and drawn slopes are those that differences give") {
  for (const char* yaml : {"Activation: PReLU", "Activation: {PReLU: {shared: true}}", "Activation: RReLU"}) {
    INFO(yaml);
    OneLayer layer(yaml, true);
    layer.total();
    const Tensor dx = layer.output("dx");
    for (int64_t i = 0; i < dx.elements(); i += 37) CHECK(close(difference(layer, layer.xs, i), dx.at(i)));
    if (!layer.slope) continue;
    layer.total();
    const Tensor dslope = layer.output("dslope");
    REQUIRE(dslope.elements() == layer.slope->elements());
    for (int64_t i = 0; i < dslope.elements(); ++i) CHECK(close(difference(layer, *layer.slope, i), dslope.at(i)));
  }
}

TEST_CASE("RReLU draws a slope for each number and step, uniformly between its bounds") {
  OneLayer layer("Activation: {RReLU: {lower: 0.2, upper: 0.6}}", true);
  const std::vector<double> first = slopes(layer, 1), next = slopes(layer, 2), again = slopes(layer, 1);
  REQUIRE(first.size() > 500);
  double mean = 0, square = 0, together = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    CHECK((first[i] >= 0.2 - 1e-12 && first[i] < 0.6 + 1e-12));
    const double off = first[i] - 0.4;
    mean += off / double(first.size());
    square += off * off / double(first.size());
    together += off * (next[i] - 0.4) / double(first.size());
  }
  // A uniform distribution of width w has the variance w^2 / 12. Over 4 deviations of their means are allowed.
  const double variance = 0.4 * 0.4 / 12, deviations = 4 / std::sqrt(double(first.size()));
  CHECK(std::abs(mean) < deviations * std::sqrt(variance));
  CHECK(std::abs(square - variance) < deviations * variance);
  CHECK(std::abs(together) < deviations * variance);
  CHECK(first == again);
  OneLayer other("Activation: {RReLU: {lower: 0.2, upper: 0.6}}", true, 7, "M"),
      seeded("Activation: {RReLU: {lower: 0.2, upper: 0.6}}", true, 8);
  CHECK(first != slopes(other, 1));
  CHECK(first != slopes(seeded, 1));
}

TEST_CASE("RReLU takes the mean of its bounds in an evaluation") {
  OneLayer layer("Activation: {RReLU: {lower: 0.2, upper: 0.6}}", false);
  for (const double slope : slopes(layer, 1)) CHECK(close(slope, 0.4));
}
