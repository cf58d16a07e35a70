// Every activation against PyTorch or neon's formula: values, and gradients for random cotangents.
#include <catch2/catch.hpp>

#include "backends/graph/op.h"
#include "tests/support/golden.h"
#include "transforms/activation.h"

using namespace neon;
using namespace neon_test;

namespace {

// exp and erf are a few roundings each; a softmax adds up a row and multiplies three times.
constexpr double kRoundings = 24;

void check_activation(const Setting& one, const Arithmetic& arithmetic) {
  GraphRun run(arithmetic);
  const auto activation = Registry<Activation>::get().create(object_of(at(one, "activation")));
  Expr x = run.value("x", at(one, "x")), g = run.value("g", at(one, "g"));
  Expr y = activation->apply(x);
  const Value wanted[] = {x};
  const Value dx = gradients(run.graph, y, wanted, g).front();
  REQUIRE(dx);
  run.graph.output("y", y);
  run.graph.output("dx", dx);
  run.run();
  check_close(run.output("y"), at(one, "y"), kRoundings, 1);
  check_close(run.output("dx"), at(one, "dx"), kRoundings, 1);
}

}  // namespace

TEST_CASE("activations and their gradients are those of the golden file", "[device]") {
  const Setting cases = golden("transforms/golden/activations.json");
  for (const Arithmetic& arithmetic : arithmetics())
    for (const Setting& one : cases.items) {
      INFO(at(one, "activation").to_string() << ", " << arithmetic.name);
      check_activation(one, arithmetic);
    }
}

TEST_CASE("every activation has a golden case, and reads back as written") {
  const Setting cases = golden("transforms/golden/activations.json");
  CHECK(uncovered("activation", cases, "activation") == std::vector<std::string>{});
  for (const Setting& one : cases.items) {
    const auto [first, second] = round_trip<Activation>(object_of(at(one, "activation")));
    CHECK(first == second);
  }
}

TEST_CASE("PixelwiseSoftmax takes as many channels to each class") {
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {2, 3, 3, 5}));
  CHECK_THROWS_WITH(Registry<Activation>::get().create(yaml_of("PixelwiseSoftmax: 2"))->apply(x),
                    "PixelwiseSoftmax: 5 channels do not go into c, 2 groups, evenly");
}
