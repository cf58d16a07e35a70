// Ranges for a search: how a spec writes them, what takes their place, what is wrong with them.
#include <catch2/catch.hpp>

#include "neon/core/error.h"
#include "neon/spec/spec.h"

using namespace neon;

namespace {

constexpr const char* kSpec = R"(layers:
  - Affine: {nout: {search: {int: [10, 101], name: units}}}
  - Affine: {nout: 3, activation: {search: {choice: [Tanh, {ELU: {alpha: {search: {linear: [0, 1]}}}}]}}}
optimizer:
  search:
    choice:
      - Adam: {learning_rate: &rate {search: {log: [1e-4, 1e-2]}}}
      - GradientDescentMomentum: {learning_rate: {search: {linear: [0.1, 0.3]}}, momentum_coef: 0.5}
ema: *rate
)";

std::vector<std::string> names(const std::vector<SearchRange>& ranges) {
  std::vector<std::string> out;
  for (const SearchRange& range : ranges) out.push_back(range.name);
  return out;
}

std::string problem_of(const std::string& value, const RangeUse& use = {}) {
  try {
    spec_from_text("layers: [Affine]\nepochs: " + value + "\n", "a.yaml", {}, use);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("ranges have names, kinds, ends and conditions", "[spec]") {
  const Spec spec = spec_from_text(kSpec, "a.yaml");
  REQUIRE(names(spec.ranges) ==
          std::vector<std::string>{"units", "layers[1].activation", "layers[1].activation.ELU.alpha", "optimizer",
                                   "optimizer.Adam.learning_rate", "optimizer.GradientDescentMomentum.learning_rate"});
  CHECK(spec.ranges[0].kind == SearchRange::Kind::integer);
  CHECK(spec.ranges[0].low == 10);
  CHECK(spec.ranges[0].high == 101);
  CHECK(spec.ranges[0].where.to_string() == "a.yaml:2:20");
  CHECK(spec.ranges[1].options == std::vector<std::string>{"Tanh", "ELU"});
  CHECK(spec.ranges[2].parent == "layers[1].activation");
  CHECK(spec.ranges[2].option == 1);
  CHECK(spec.ranges[5].parent == "optimizer");
  CHECK(spec.ranges[4].parent.empty());  // the alias counts whatever is chosen
}

TEST_CASE("ranges of one name and the same ends are one range", "[spec]") {
  const std::string text =
      "layers: [Affine]\nepochs: {search: {int: [1, 9], name: a}}\nema: {search: {int: [1, 9], name: a}}\n";
  const Spec spec = spec_from_text(text, "a.yaml", {}, {{{"a", "7"}}});
  CHECK(names(spec.ranges) == std::vector<std::string>{"a"});
  CHECK((spec.root.find("epochs")->value == "7" && spec.root.find("ema")->value == "7"));
  CHECK(names(spec_from_text(text, "a.yaml").unset) == std::vector<std::string>{"a"});
}

TEST_CASE("a run takes the middles, and a warning names each", "[spec]") {
  const Spec spec = spec_from_text(kSpec, "a.yaml");
  CHECK(spec.root.find("layers")->to_string() ==
        "[{Affine: {nout: 55}}, {Affine: {nout: 3, activation: Tanh}}]");               // floor of 55.5
  CHECK(spec.root.find("optimizer")->to_string() == "{Adam: {learning_rate: 0.001}}");  // the geometric mean
  CHECK(spec.root.find("ema")->to_string() == "0.001");
  REQUIRE(names(spec.unset) ==
          std::vector<std::string>{"units", "layers[1].activation", "optimizer", "optimizer.Adam.learning_rate"});
  REQUIRE(spec.conversion.warnings.size() == 4);
  CHECK(spec.conversion.warnings[0].text ==
        "range units: a run does not search; it takes 55, the middle of 10 to 101; neon search SPEC searches");
}

TEST_CASE("given values take the places of ranges", "[spec]") {
  const RangeUse use{{{"units", "20"},
                      {"layers[1].activation", "ELU"},
                      {"layers[1].activation.ELU.alpha", "0.25"},
                      {"optimizer", "GradientDescentMomentum"},
                      {"optimizer.GradientDescentMomentum.learning_rate", "0.125"},
                      {"optimizer.Adam.learning_rate", "0.002"}}};
  const Spec spec = spec_from_text(kSpec, "a.yaml", {"batch_size=7"}, use);
  CHECK(spec.unset.empty());
  CHECK(spec.conversion.warnings.empty());
  CHECK(spec.root.find("layers")->to_string() ==
        "[{Affine: {nout: 20}}, {Affine: {nout: 3, activation: {ELU: {alpha: 0.25}}}}]");
  CHECK(spec.root.find("optimizer")->to_string() ==
        "{GradientDescentMomentum: {learning_rate: 0.125, momentum_coef: 0.5}}");
  CHECK(spec.root.find("ema")->to_string() == "0.002");
}

TEST_CASE("options of one class go by the whole of them", "[spec]") {
  const Spec spec = spec_from_text(
      "layers: [Affine]\noptimizer: {search: {choice: [Adam: {beta_1: 0.8}, Adam: {beta_1: 0.9}, RMSProp: {}]}}\n",
      "a.yaml", {}, {{{"optimizer", "{Adam: {beta_1: 0.9}}"}}});
  CHECK(spec.ranges[0].options ==
        std::vector<std::string>{"{Adam: {beta_1: 0.8}}", "{Adam: {beta_1: 0.9}}", "RMSProp"});
  CHECK(spec.root.find("optimizer")->to_string() == "{Adam: {beta_1: 0.9}}");
}

TEST_CASE("ranges of neon 0.9 are kept in today's notation, or take a value", "[spec]") {
  const std::string old =
      "!obj:experiments.FitExperiment {\n  dataset: !obj:datasets.Iris {},\n"
      "  model: !obj:models.MLP {num_epochs: !hyperopt epochs INT 100 201, batch_size: 30,\n"
      "    layers: [&d !obj:layers.DataLayer {nout: 4},\n"
      "      !obj:layers.FCLayer {nout: 3, lrule_init: {type: gradient_descent,\n"
      "        lr_params: {learning_rate: !hyperopt lr FLOAT 0.01 0.11}},\n"
      "        weight_init: !obj:params.UniformValGen {}, activation: !obj:transforms.Logistic {}},\n"
      "      !obj:layers.CostLayer {ref_layer: *d, cost: !obj:transforms.CrossEntropy {}}]}}\n";
  const Spec middle = spec_from_text(old, "o.yaml");
  CHECK(middle.root.find("epochs")->to_string() == "150");
  CHECK(middle.conversion.warnings.size() == 2);
  CHECK(spec_from_text(old, "o.yaml", {}, {{{"epochs", "101"}}}).root.find("epochs")->to_string() == "101");
  const std::string broken = std::string(old).replace(old.find("INT 100"), 7, "INT 1.5");
  CHECK_THROWS_WITH(
      spec_from_text(broken, "o.yaml"),
      Catch::Contains("o.yaml:3:39: epochs: INT has whole numbers as its ends, found !hyperopt epochs INT "
                      "1.5 201; FLOAT takes any"));
  const Spec kept = spec_from_text(old, "o.yaml", {}, {.keep = true});
  CHECK(kept.root.find("epochs")->to_string() == "{search: {int: [100, 201], name: epochs}}");
  CHECK(kept.root.find("optimizer")->to_string().find("{search: {linear: [0.01, 0.11], name: lr}}") !=
        std::string::npos);
}

TEST_CASE("wrong ranges and values are errors with their places", "[spec]") {
  using Catch::Contains;
  CHECK_THAT(problem_of("{search: {log: [0, 1]}}"),
             Contains("a.yaml:2:24: epochs: a log range begins above 0, found 0"));
  CHECK_THAT(problem_of("{search: {linear: [3, 1]}}"), Contains("begins with 3, above its end 1"));
  CHECK_THAT(problem_of("{search: {int: [1, 2.5]}}"), Contains("whole numbers as its ends, found 1 and 2.5"));
  CHECK_THAT(problem_of("{search: {choice: []}}"), Contains("a choice is a list of one option or more"));
  CHECK_THAT(problem_of("{search: {choice: [1, 2, 1]}}"), Contains("the option '1' twice"));
  CHECK_THAT(problem_of("{search: {linear: [1]}}"), Contains("expected two numbers, linear: [LOW, HIGH]"));
  CHECK_THAT(problem_of("{search: {uniform: [1, 2]}}"), Contains("no place for 'uniform'; expected one of {log:"));
  CHECK_THAT(problem_of("{search: 3}"), Contains("a range of a search: expected one of"));
  CHECK_THAT(problem_of("{search: {int: [1, 2], name: a}}\nbatch_size: {search: {int: [1, 3], name: a}}"),
             Contains("a.yaml:3:13: a second range, of other ends, is called 'a'"));
  CHECK_THAT(problem_of("{search: {choice: [1, 2], name: a}}\nbatch_size: {search: {choice: [1, 2], name: a}}"),
             Contains("a.yaml:3:13: a second range"));
  CHECK_THAT(problem_of("{search: {int: [1, 9]}}", {{{"epoch", "3"}}}),
             Contains("no range of a search is called 'epoch'; did you mean epochs?"));
  CHECK_THAT(problem_of("{search: {int: [1, 9]}}", {{{"epochs", "10"}}}),
             Contains("a.yaml:2:9: epochs: '10' is outside the range: expected a whole number from 1 to 9"));
  CHECK_THAT(problem_of("{search: {int: [1, 9]}}", {{{"epochs", "2.5"}}}), Contains("expected a whole number"));
  CHECK_THAT(problem_of("{search: {choice: [1, 2]}}", {{{"epochs", "3"}}}), Contains("'3' is not an option"));
  CHECK_THROWS_WITH(spec_from_text("layers: [Affine]\n", "a.yaml", {"epochs={search: {int: [1, 2]}}"}),
                    Contains("a range of a search stands in the spec itself"));
}
