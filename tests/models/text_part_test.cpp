// TextPart: a net of one text of a sample is the same net that was given this text alone.
#include <catch2/catch.hpp>

#include "backends/elementwise/kernels.h"
#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr int64_t kWordTokens = 4, kLineEnd = 2;  // tokens 0, 1 and 3 are words
constexpr int64_t kTextPairs = 5, kLongestText = 4;

std::vector<int32_t> drawn_text(int64_t pair, int64_t part) {
  Stream stream(7, "text", uint64_t(pair * 2 + part));
  std::vector<int32_t> out(1 + size_t(stream.below(kLongestText)));
  for (int32_t& token : out) token = std::array{0, 1, 3}[stream.below(3)];
  return out;
}

// Samples of one text, or of two where `part` is -1, in so many steps.
struct TextData {
  TextData(int64_t part, int64_t steps) {
    data.inputs = Tensor(DType::i32, {kTextPairs, steps});
    data.targets = Tensor(DType::i32, {kTextPairs, 1});
    data.classes = 3;
    std::ranges::fill(data.inputs.as<int32_t>(), -1);
    for (int64_t i = 0; i < kTextPairs; ++i) {
      std::vector<int32_t> tokens = drawn_text(i, std::max<int64_t>(part, 0));
      if (part < 0) {
        tokens.push_back(int32_t(kLineEnd));
        const std::vector<int32_t> second = drawn_text(i, 1);
        tokens.insert(tokens.end(), second.begin(), second.end());
      }
      std::ranges::copy(tokens, data.inputs.as<int32_t>().begin() + i * steps);
      data.targets.set(i, double(i % 3));
    }
    layout = data.layout();
    layout.sequence = layout.ragged = true;
    layout.tokens = kWordTokens;
    layout.vocabulary = {TextUnit::character, false, {"a", "b", "\n", "c"}};
    layout.texts = part < 0 ? 2 : 1;
  }
  NetData data;
  DataLayout layout;
};

std::map<std::string, std::vector<double>> text_gradients(const std::string& layers, int64_t part, int64_t steps) {
  const TextData texts(part, steps);
  const auto cost = Registry<Cost>::get().create(yaml_of("CrossEntropyMulti"));
  const StepGraph graph = gradient_graph(network_of(yaml_of("[" + layers + "]")), *cost, texts.layout,
                                         {.dtype = DType::f64, .batch = kTextPairs}, true);
  Variables variables;
  const auto program = compile_for_cpu(graph.graph, variables, {.threads = 1});
  for (const auto& [name, tensor] : variables.all()) {
    Stream stream(11, name);
    for (int64_t i = 0; i < tensor.elements(); ++i) variables.at(name).set(i, double(stream.below(64)) / 32 - 1);
  }
  const std::vector<int32_t> indices = {2, 0, 3, 1, 4};
  program->bind("data", texts.data.inputs.data());
  program->bind("targets", texts.data.targets.data());
  program->bind("indices", indices.data());
  program->run(1);
  std::map<std::string, std::vector<double>> out;
  for (const auto& [name, value] : graph.graph.outputs())
    if (name == "cost" || name.starts_with("grad/")) {
      const Tensor tensor = program->output(name);
      for (int64_t i = 0; i < tensor.elements(); ++i) out[name].push_back(tensor.at(i));
    }
  return out;
}

std::string text_part_error(const std::string& layers, const DataLayout& layout) {
  const auto cost = Registry<Cost>::get().create(yaml_of("CrossEntropyMulti"));
  try {
    gradient_graph(network_of(yaml_of("[" + layers + "]")), *cost, layout, {.batch = 2}, true);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

const std::string kEndOfTextNet =
    "{RecurrentLast: {name: last}}, {Affine: {name: a, nout: 3, init: Kaiming, activation: Softmax}}";

}  // namespace

TEST_CASE("a net of one of two texts is the net that is given this text alone") {
  for (const std::string& cell : {std::string("{GRU: {name: g, output_size: 3, init: Kaiming}}, "),
                                  std::string("{BiLSTM: {name: g, output_size: 3, init: Kaiming}}, "),
                                  std::string("{Conv: {name: g, fshape: 2, padding: 1, nofm: 3, init: Kaiming}}, ")})
    for (const int64_t part : {0, 1})
      for (const int64_t steps : {2 * kLongestText + 1, int64_t(17)}) {
        INFO(cell << part << " of " << steps);
        const std::string net = "{Embedding: {name: e, embedding_dim: 2, init: Kaiming}}, " + cell + kEndOfTextNet;
        const auto alone = text_gradients(net, part, kLongestText);
        const auto of_both = text_gradients(text("{TextPart: {part: ", part, "}}, ", net), -1, steps);
        REQUIRE(alone.size() == of_both.size());
        for (const auto& [name, numbers] : alone) {
          REQUIRE(of_both.at(name).size() == numbers.size());
          for (size_t i = 0; i < numbers.size(); ++i) CHECK(of_both.at(name)[i] == Approx(numbers[i]).epsilon(1e-12));
        }
      }
}

TEST_CASE("TextPart refuses samples of fewer texts") {
  const std::string net = ", {Embedding: {embedding_dim: 2, init: Kaiming}}, " + kEndOfTextNet;
  const TextData both(-1, 9), one(0, 9);
  CHECK(text_part_error("{TextPart: 1}" + net, both.layout) == "nothing");
  CHECK_THAT(text_part_error("{TextPart: 2}" + net, both.layout),
             Catch::Contains("TextPart: part is 2, but a sample has 2 texts, which count from 0"));
  CHECK_THAT(text_part_error("{TextPart: 0}" + net, one.layout),
             Catch::Contains("TextPart takes tokens of several texts, as TextClasses: {text: [premise, hypothesis]}"));
}
