// Every cost against PyTorch: the value of each sample, and gradients through the activation before it.
#include <catch2/catch.hpp>

#include "backends/graph/op.h"
#include "backends/graph/passes.h"
#include "tests/support/golden.h"
#include "tests/transforms/no_context.h"
#include "transforms/activation.h"
#include "transforms/cost.h"

using namespace neon;
using namespace neon_test;

namespace {

// A row of up to five terms, each a logarithm of an exponential or a product or two.
constexpr double kRoundingsOfCosts = 32;

// The cost of each row, or of each sequence of labels.
Expr cost_of_case(const Setting& one, GraphRun& run, const Cost& cost, const Activation& activation) {
  NoContext none;
  const Expr y = activation.apply(none, run.value("x", at(one, "x")));
  if (!one.find("labels")) return cost.apply_all({y}, run.value("t", at(one, "t")));
  const auto integers = [&](const char* key) { return cast(run.value(key, at(one, key)), DType::i32); };
  return cost.of_sequence(y, integers("labels"), one.find("lengths") ? integers("lengths").value() : Value());
}

void check_cost(const Setting& one, const Arithmetic& arithmetic) {
  GraphRun run(arithmetic);
  const auto cost = Registry<Cost>::get().create(object_of(at(one, "cost")));
  const auto activation = Registry<Activation>::get().create(object_of(at(one, "activation")));
  Expr x = run.value("x", at(one, "x")), g = run.value("g", at(one, "g"));
  const Expr each(run.graph, on_logits(run.graph, cost_of_case(one, run, *cost, *activation)));
  const Value wanted[] = {x};
  const Value dx = gradients(run.graph, each, wanted, g).front();
  REQUIRE(dx);
  run.graph.output("y", each);
  run.graph.output("dx", dx);
  run.run();
  // Gradients of sequences are exponentials of sums and differences of numbers of the size of the cost.
  double size = 1;
  const Tensor y = run.output("y");
  if (one.find("labels"))
    for (int64_t i = 0; i < y.elements(); ++i) size = std::max(size, y.at(i));
  check_close(y, at(one, "y"), kRoundingsOfCosts);
  check_close(run.output("dx"), at(one, "dx"), kRoundingsOfCosts * size);
}

Expr input(Graph& graph, const char* name, const Shape& shape) { return {graph, graph.input(name, DType::f32, shape)}; }

std::string objection(const char* cost, int64_t outputs, int64_t classes, const char* last) {
  return Registry<Cost>::get().create(Setting::scalar(cost))->objection(outputs, classes, last);
}

}  // namespace

TEST_CASE("costs and their gradients are those of the golden file", "[device]") {
  const Setting cases = golden("transforms/golden/costs.json");
  for (const Arithmetic& arithmetic : arithmetics())
    for (const Setting& one : cases.items) {
      INFO(at(one, "cost").to_string() << " after " << at(one, "activation").to_string() << ", " << arithmetic.name);
      check_cost(one, arithmetic);
    }
}

TEST_CASE("every cost has a golden case, and reads back as written") {
  const Setting cases = golden("transforms/golden/costs.json");
  CHECK(uncovered("cost", cases, "cost", {"MBox"}) == std::vector<std::string>{});  // mbox_test.cpp
  for (const Setting& one : cases.items) {
    const auto [first, second] = round_trip<Cost>(object_of(at(one, "cost")));
    CHECK(first == second);
  }
}

TEST_CASE("softmax and logistic before their costs become the forms on logits") {
  for (const auto& [cost, activation, op] :
       {std::tuple{"CrossEntropyMulti", "Softmax", "softmax"}, {"CrossEntropyBinary", "Logistic", "logistic"}}) {
    Graph graph;
    Expr x = input(graph, "x", {3, 4}), t = input(graph, "t", {3, 4});
    NoContext none;
    Expr y = Registry<Activation>::get().create(Setting::scalar(activation))->apply(none, x);
    graph.output("cost", on_logits(graph, Registry<Cost>::get().create(Setting::scalar(cost))->apply(y, t)));
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, {.threads = 1, .fuse = false});
    for (int i = 0; i < program->lowered().graph.node_count(); ++i)
      CHECK(program->lowered().graph.node(i).op->name != op);
  }
}

TEST_CASE("labels that no path gives cost infinitely much, and pass no gradient on") {
  for (const Arithmetic& arithmetic : arithmetics()) {
    if (arithmetic.dtype != DType::f64) continue;
    INFO(arithmetic.name);
    Graph graph;
    const Expr x(graph, graph.input("x", DType::f64, {4, 3, 3}));
    const Expr labels = cast(input(graph, "labels", {4, 2}), DType::i32);
    const auto cost = Registry<Cost>::get().create(Setting::scalar("CTC"));
    const Expr each = cost->of_sequence(x, labels, cast(input(graph, "lengths", {4}), DType::i32));
    const Value wanted[] = {x};
    graph.output("cost", each);
    graph.output("dx", gradients(graph, each, wanted).front());
    Variables variables;
    const auto program = compiled(graph, variables, arithmetic);
    const double scores[36] = {};
    // Two equal labels take three steps; no steps give no label, and that alone.
    const float given[] = {1, 1, 2, -1, 1, -1, -1, -1}, lengths[] = {2, 3, 0, 0};
    program->bind("x", scores);
    program->bind("labels", given);
    program->bind("lengths", lengths);
    program->run(1);
    // Of 27 paths, 6 have the label once: at one place of three, at two neighbours of three, and at all three.
    CHECK(program->output("cost").at(0) == HUGE_VAL);
    CHECK(program->output("cost").at(1) == Approx(-std::log(6.0 / 27)).epsilon(1e-14));
    CHECK(program->output("cost").at(2) == HUGE_VAL);
    CHECK(program->output("cost").at(3) == 0);
    for (int64_t i = 0; i < 36; ++i) {
      if (i < 9 || i >= 18) CHECK(program->output("dx").at(i) == 0);
    }
  }
}

TEST_CASE("CTC objects to a softmax, and to a blank that is no output") {
  CHECK(objection("CTC", 5, 5, "add") == "");
  CHECK(objection("CTC", 5, 5, "softmax") ==
        "CTC takes scores and makes a softmax of them itself; leave activation: Softmax of the last layer out");
  CHECK(objection("CTC", 4, 5, "add") == "the last layer has 4 outputs, the data set 5 classes");
  const auto cost = Registry<Cost>::get().create(yaml_of("CTC: {blank: 5}"));
  CHECK(cost->objection(5, 5, "add") == "CTC: blank is 5, but the 5 outputs count from 0 to 4");
}

TEST_CASE("a cost of outputs and targets of different shapes is an error that shows both") {
  for (const Setting& one : golden("transforms/golden/costs.json").items) {
    Graph graph;
    Expr y = input(graph, "y", {3, 4}), t = input(graph, "t", {3, 1});
    const auto cost = Registry<Cost>::get().create(object_of(at(one, "cost")));
    CHECK_THROWS_WITH(cost->apply(y, t), Catch::Contains("outputs (3, 4) with targets (3, 1)"));
  }
}

TEST_CASE("a cost with a mask says what it takes") {
  const char* yaml = "GeneralizedCostMask: SumSquared";
  const auto cost = Registry<Cost>::get().create(yaml_of(yaml));
  CHECK(cost->objection(4, 0, "") == "");
  CHECK_THAT(cost->objection(4, 4, ""), Catch::Contains("labels of classes have none"));
  Graph graph;
  Expr y = input(graph, "y", {3, 4}), t = input(graph, "t", {3, 8});
  CHECK(cost->apply_all({y}, t).shape() == Shape{3, 1});
  CHECK_THROWS_WITH(cost->apply_all({y}, y), Catch::Contains("found 1 (first (3, 4)) and (3, 4)"));
  CHECK_THROWS_WITH(cost->apply_all({y, y}, t), Catch::Contains("takes one output"));
  CHECK_THAT(complaint<Cost>("Multicost: [{GeneralizedCostMask: SumSquared}]"), Catch::Contains("stands alone"));
  CHECK_THAT(complaint<Cost>("GeneralizedCostMask: {costfunc: {GeneralizedCostMask: SumSquared}}"),
             Catch::Contains("has a mask already"));
}

TEST_CASE("scale acts on the gradient, not on the reported cost") {
  for (const char* name : {"CrossEntropyMulti", "CrossEntropyBinary", "SumSquared"}) {
    CHECK(Registry<Cost>::get().create(Setting::scalar(name))->gradient_scale() == 1);
    const auto scaled = Registry<Cost>::get().create(yaml_of(text(name, ": {scale: 2.5}")));
    CHECK(scaled->gradient_scale() == 2.5);
  }
}

TEST_CASE("several outputs need a cost each") {
  const auto made = [](const char* yaml) { return Registry<Cost>::get().create(yaml_of(yaml)); };
  const std::vector<OutputForm> two = {{4, "softmax"}, {4, "logistic"}};
  CHECK(made("Multicost: [CrossEntropyMulti, CrossEntropyBinary]")->objection(two, 4) == "");
  CHECK_THAT(made("Multicost: [CrossEntropyMulti, CrossEntropyMulti]")->objection(two, 4),
             Catch::Contains("costs[1]: CrossEntropyMulti takes the outputs of Softmax"));
  CHECK_THAT(made("Multicost: [CrossEntropyMulti]")->objection(two, 4),
             Catch::Contains("Multicost has 1 cost and the net 2 outputs"));
  Graph graph;
  Expr y = input(graph, "y", {3, 4});
  CHECK_THROWS_WITH(made("SumSquared")->apply_all({y, y}, y), Catch::Contains("Multicost has a cost for each"));
  CHECK_THAT(complaint<Cost>("Multicost: {costs: [SumSquared], weights: [1, 2]}"),
             Catch::Contains("Multicost has 1 cost and 2 weights"));
  CHECK_THAT(complaint<Cost>("Multicost: [CrossEntropyMulti: {scale: 2}]"), Catch::Contains("give weights"));
  CHECK_THAT(complaint<Cost>("Multicost: []"), Catch::Contains("at least one cost"));
}

TEST_CASE("GeneralizedCost is the cost in it, and no cost of the whole net stands among others") {
  const auto made = [](const std::string& yaml) { return Registry<Cost>::get().create(yaml_of(yaml)); };
  const auto wrapped = [&](const std::string& name) { return made("GeneralizedCost: {costfunc: " + name + "}"); };
  CHECK(wrapped("{CTC: {blank: 2}}")->of_sequences());
  CHECK(wrapped("{CTC: {blank: 2}}")->blank() == 2);
  CHECK(wrapped("MBox")->of_objects());
  CHECK(wrapped("{GeneralizedCostMask: SumSquared}")->masks());
  CHECK(wrapped("{Multicost: {costs: [SumSquared, SumSquared], weights: [1, 3]}}")->weight_of(1) == 3);
  CHECK(!wrapped("SumSquared")->of_sequences());
  for (const char* of : {"Multicost: [CTC]", "GeneralizedCostMask: CTC"})
    CHECK_THAT(complaint<Cost>(of), Catch::Contains("compares sequences of labels with all that a net predicts"));
  for (const char* of : {"Multicost: [MBox]", "GeneralizedCostMask: MBox"})
    CHECK_THAT(complaint<Cost>(of), Catch::Contains("compares boxes of objects with all that a net predicts"));
}

TEST_CASE("outputs that do not suit a cost are told, with a way to mend it") {
  CHECK(objection("CrossEntropyMulti", 10, 10, "softmax") == "");
  CHECK_THAT(objection("CrossEntropyMulti", 10, 10, "relu"), Catch::Contains("activation: Softmax"));
  CHECK(objection("CrossEntropyBinary", 3, 3, kPartOfSoftmax) == "");
  CHECK_THAT(objection("CTC", 3, 3, kPartOfSoftmax),
             Catch::Contains("leave activation: Softmax of the last layer out"));
  for (const char* const cost : {"CrossEntropyMulti", "Focal"}) {
    CHECK_THAT(objection(cost, 3, 3, kPartOfSoftmax),
               Catch::Contains("only some of them, which do not add up to 1; put Slice before Activation: Softmax"));
    CHECK_THAT(objection(cost, 1, 2, "softmax"), Catch::EndsWith("the last layer has 1 output; give it nout: 2"));
    CHECK_THAT(objection(cost, 1, 0, "none"), Catch::Contains("the targets are values: MeanSquared suits values"));
  }
  CHECK(objection("CrossEntropyMulti", 7, 10, "softmax") == "the last layer has 7 outputs, the data set 10 classes");
  CHECK(objection("CrossEntropyBinary", 10, 10, "logistic") == "");
  CHECK_THAT(objection("CrossEntropyBinary", 10, 10, "tanh"), Catch::Contains("activation: Logistic"));
  CHECK(objection("SumSquared", 7, 0, "tanh") == "");
}
