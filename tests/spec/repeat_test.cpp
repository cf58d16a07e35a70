#include "neon/spec/repeat.h"

#include <catch2/catch.hpp>

#include "neon/spec/spec.h"
#include "tests/spec/messages.h"

using namespace neon;
using Catch::Contains;
using Catch::Equals;

namespace {

std::string layers(const std::string& text) {
  return spec_from_text("layers: " + text, "m.yaml").root.find("layers")->to_string();
}
std::string repeat_error(const std::string& text) {
  return message_of([&] { spec_from_text("layers: " + text, "m.yaml"); });
}

}  // namespace

TEST_CASE("layers follow one another as often as said, wherever the list stands") {
  CHECK(layers("[A, Repeat: {times: 3, layers: [B, C: 1]}, D]") == "[A, B, {C: 1}, B, {C: 1}, B, {C: 1}, D]");
  CHECK(layers("[A, Repeat: {times: 0, layers: [B]}]") == "[A]");
  CHECK(layers("[MergeSum: [[Repeat: {times: 2, layers: [B]}], [SkipNode]]]") == "[{MergeSum: [[B, B], [SkipNode]]}]");
  CHECK(layers("[{type: Repeat, config: {times: 2, layers: [{type: B, config: {n: 1}}]}}]") ==
        "[{B: {n: 1}}, {B: {n: 1}}]");
  CHECK(layers("[Repeat: {times: 2, layers: [A, Repeat: {times: 2, layers: [B]}]}]") == "[A, B, B, A, B, B]");
}

TEST_CASE("names are numbered, the outer count first, and inputs follow them") {
  CHECK(layers("[Repeat: {times: 2, layers: [A: {name: a}, B: {inputs: [a, far]}]}]") ==
        "[{A: {name: a_1}}, {B: {inputs: [a_1, far]}}, {A: {name: a_2}}, {B: {inputs: [a_2, far]}}]");
  CHECK(layers("[Repeat: {times: 2, layers: [A: {name: a}, Repeat: {times: 2, layers: [B: {name: b, inputs: a}]}]}]") ==
        "[{A: {name: a_1}}, {B: {name: b_1_1, inputs: a_1}}, {B: {name: b_1_2, inputs: a_1}}, "
        "{A: {name: a_2}}, {B: {name: b_2_1, inputs: a_2}}, {B: {name: b_2_2, inputs: a_2}}]");
  CHECK(layers("[A: {name: a}]") == "[{A: {name: a}}]");
}

TEST_CASE("copies keep the place and path of what the file has") {
  const Spec s = spec_from_text("layers:\n- Repeat: {times: 2, layers: [A: {n: 1}]}\n- B: {n: 2}\n", "m.yaml");
  const auto& items = s.root.find("layers")->items;
  REQUIRE(items.size() == 3);
  CHECK(items[1].find("A")->find("n")->path == "layers[0].Repeat.layers[0].A.n");
  CHECK(items[1].find("A")->find("n")->where.to_string() == "m.yaml:2:38");
  CHECK(items[2].find("B")->find("n")->path == "layers[1].B.n");
}

TEST_CASE("a wrong Repeat is told, once, whatever stands around it") {
  CHECK_THAT(repeat_error("[Repeat: {times: 5, layers: [Repeat: {time: 2, layers: 3}]}]"),
             Contains("layers[0].Repeat.layers[0].Repeat: unknown key 'time'; did you mean times?") &&
                 Contains("'times' is missing") && Contains("expected a list of layers, found '3'"));
  CHECK_THAT(repeat_error("[Repeat: {times: 10001, layers: []}]"), Contains("10001 is not in [0, 10000]"));
  CHECK_THAT(repeat_error("[Repeat: {times: -1, layers: []}]"), Contains("-1 is not in [0, 10000]"));
  CHECK_THAT(repeat_error("[Repeat: 3]"), Contains("layers[0]: expected Repeat: {times: N, layers: [...]}, found '3'"));
  CHECK_THAT(repeat_error("[A, Repeat]"),
             Contains("layers[1]: expected Repeat: {times: N, layers: [...]}, found the bare"));
  CHECK_THAT(repeat_error("{Repeat: {times: 2, layers: [A]}}"),
             Equals("m.yaml:1:9: layers: Repeat stands here alone; it must be an item of a list"));
}

TEST_CASE("repeats within repeats cannot grow without bound") {
  CHECK_THAT(repeat_error("[Repeat: {times: 10000, layers: [Repeat: {times: 10000, layers: [A]}]}]"),
             Contains("values; at most 200000 are allowed") && !Contains("\n"));
  CHECK_THAT(repeat_error("[Repeat: {times: 10000, layers: [" + std::string(10000, 'x') + "]}]"),
             Contains("of text; at most 64.0 MiB are allowed"));
  std::string many = "[";
  for (int i = 0; i < 30; ++i) many += "Repeat: {times: 10000, layers: [A]}, ";
  CHECK_THAT(repeat_error(many + "]"), Contains("with every Repeat expanded the spec has 300002 values"));
  CHECK(repeat_error("[Repeat: {times: 10000, layers: [A]}]").empty());
}
