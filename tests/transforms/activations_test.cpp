// Every activation against PyTorch or neon's formula: values, and gradients for random cotangents.
#include <catch2/catch.hpp>
#include <map>

#include "backends/graph/op.h"
#include "tests/support/golden.h"
#include "tests/transforms/no_context.h"
#include "transforms/activation.h"

using namespace neon;
using namespace neon_test;

namespace {

// exp and erf are a few roundings each; a softmax adds up a row and multiplies three times.
constexpr double kRoundings = 24;

// Learned numbers of a golden case; in an evaluation.
class Given : public ActivationContext {
 public:
  Given(GraphRun& run, const Setting& one) : run_(run), learned_(one.find("learned")) {}
  bool training() const override { return false; }
  Expr learned(const LearnedNumbers& numbers) override {
    REQUIRE(learned_);
    const Expr value = run_.value(numbers.name, at(*learned_, numbers.name));
    CHECK(value.shape() == numbers.shape);
    made[numbers.name] = value;
    return value;
  }
  Expr draw(const std::string&, const Shape&) override {
    FAIL("an evaluation draws nothing");
    return {};
  }
  std::map<std::string, Expr> made;

 private:
  GraphRun& run_;
  const Setting* learned_;
};

void check_activation(const Setting& one, const Arithmetic& arithmetic) {
  GraphRun run(arithmetic);
  const auto activation = Registry<Activation>::get().create(object_of(at(one, "activation")));
  Expr x = run.value("x", at(one, "x")), g = run.value("g", at(one, "g"));
  Given given(run, one);
  Expr y = activation->apply(given, x);
  std::vector<Value> wanted = {x};
  for (const auto& [name, value] : given.made) wanted.push_back(value);
  const std::vector<Value> slopes = gradients(run.graph, y, wanted, g);
  REQUIRE(slopes[0]);
  run.graph.output("y", y);
  run.graph.output("dx", slopes[0]);
  size_t next = 1;
  for (const auto& [name, value] : given.made) run.graph.output("d" + name, slopes[next++]);
  run.run();
  check_close(run.output("y"), at(one, "y"), kRoundings, 1);
  check_close(run.output("dx"), at(one, "dx"), kRoundings, 1);
  // Sums over all that share a slope.
  for (const auto& [name, value] : given.made)
    check_close(run.output("d" + name), at(at(one, "gradients"), name), kRoundings + double(x.shape().elements()), 100);
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

TEST_CASE("an activation says whether an output is made of several inputs") {
  const Arithmetic arithmetic = arithmetics().front();
  for (const Setting& one : golden("transforms/golden/activations.json").items) {
    INFO(at(one, "activation").to_string());
    const auto activation = Registry<Activation>::get().create(object_of(at(one, "activation")));
    GraphRun run(arithmetic);
    const Expr x = run.value("x", at(one, "x"));
    const Expr place(run.graph, iota(run.graph, {x.shape().elements()}, 0));
    const Expr number = cast(reshape(place, x.shape()), x.dtype());
    const Expr other = x + cast(apply("equal", number, number.constant(0)), x.dtype());
    Given given(run, one);
    run.graph.output("y", activation->apply(given, x));
    run.graph.output("other", activation->apply(given, other));
    run.run();
    int64_t changed = 0;  // of the outputs but the first
    for (int64_t i = 1; i < x.shape().elements(); ++i) changed += run.output("y").at(i) != run.output("other").at(i);
    CHECK((changed > 0) == activation->mixes());
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

TEST_CASE("the slopes that RReLU draws have an order") {
  CHECK(complaint<Activation>("RReLU: {lower: 0.2, upper: 0.2}") == "");
  CHECK_THAT(complaint<Activation>("RReLU: {lower: 0.5, upper: 0.25}"),
             Catch::Contains("lower 0.5 is above upper 0.25; exchange the two"));
}

TEST_CASE("PixelwiseSoftmax takes as many channels to each class") {
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {2, 3, 3, 5}));
  NoContext none;
  CHECK_THROWS_WITH(Registry<Activation>::get().create(yaml_of("PixelwiseSoftmax: 2"))->apply(none, x),
                    "PixelwiseSoftmax: 5 channels do not go into c, 2 groups, evenly");
}
