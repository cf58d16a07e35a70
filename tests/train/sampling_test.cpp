// Texts that go on: draws by their definition, beams against all texts, nets token by token against the whole.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>

#include "backends/graph/flops.h"
#include "neon/train/generator.h"
#include "neon/train/token_draw.h"
#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;

namespace {

using Numbers = std::vector<double>;

void check_all(const Numbers& got, const Numbers& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) check_close(got[i], expected[i], 1e-12);
}

// The probabilities of a token depend on the token before it alone.
class MarkovChain : public TokenSource {
 public:
  explicit MarkovChain(int64_t sequences) : sequences_(sequences) {}
  Tensor next(const std::vector<int32_t>& tokens) override {
    Tensor out(DType::f64, {sequences_, kCount});
    for (int64_t n = 0; n < sequences_; ++n)
      for (int64_t k = 0; k < kCount; ++k) out.set(n * kCount + k, of(tokens[size_t(n)], k));
    return out;
  }
  void reorder(const std::vector<int64_t>&) override {}
  static double of(int64_t before, int64_t token) {
    constexpr double table[kCount][kCount] = {{0.4, 0.35, 0.25}, {0.34, 0.33, 0.33}, {0.02, 0.95, 0.03}};
    return table[before][token];
  }
  static constexpr int64_t kCount = 3;

 private:
  const int64_t sequences_;
};

}  // namespace

TEST_CASE("probabilities are narrowed by temperature, top_k and top_p") {
  const Numbers p = {0.1, 0.4, 0.2, 0.3};
  check_all(narrowed(p, {}), p);
  check_all(narrowed(p, {.temperature = 0}), {0, 1, 0, 0});
  double sum = 0;
  for (const double one : p) sum += one * one;
  check_all(narrowed(p, {.temperature = 0.5}), {0.01 / sum, 0.16 / sum, 0.04 / sum, 0.09 / sum});
  check_all(narrowed(p, {.top_k = 2}), {0, 0.4 / 0.7, 0, 0.3 / 0.7});
  check_all(narrowed(p, {.top_k = 9}), p);
  check_all(narrowed(p, {.top_p = 0.5}), {0, 0.4 / 0.7, 0, 0.3 / 0.7});
  check_all(narrowed(p, {.top_p = 0.3}), {0, 1, 0, 0});
  // Of the two that top_k leaves, the first has 4 / 7.
  check_all(narrowed(p, {.top_k = 2, .top_p = 0.5}), {0, 1, 0, 0});
  // Of equally likely tokens the lower ones stay.
  check_all(narrowed(Numbers{0.25, 0.25, 0.25, 0.25}, {.top_k = 2}), {0.5, 0.5, 0, 0});
  // Too small for a power of 1 / 0.01 without the largest as measure.
  check_all(narrowed(Numbers{1e-9, 1e-8}, {.temperature = 0.01}), {0, 1});
}

TEST_CASE("a token is drawn where its share of [0, 1) has the number") {
  const Numbers p = {0, 0.25, 0, 0.5, 0.25, 0};
  for (const auto& [uniform, token] : {std::pair{0.0, 1}, {0.24, 1}, {0.25, 3}, {0.74, 3}, {0.75, 4}, {0.9999999, 4}})
    CHECK(draw_token(p, uniform) == token);
  // Where rounding leaves the sum below the number.
  CHECK(draw_token(Numbers{0.5, 0.499999, 0}, 0.9999999) == 1);
}

TEST_CASE("a beam that is wide enough finds the likeliest of all texts; one text alone is the greedy one") {
  constexpr int64_t kLength = 4;
  const auto searched = [&](int64_t width) {
    MarkovChain chain(width);
    return beam_search(chain, chain.next(std::vector<int32_t>(size_t(width), 0)), kLength);
  };
  std::vector<int32_t> best, greedy;
  double most = 0;
  for (int64_t number = 0; number < 81; ++number) {
    std::vector<int32_t> text;
    double p = 1;
    for (int64_t i = 0, rest = number; i < kLength; ++i, rest /= 3) text.push_back(int32_t(rest % 3));
    for (size_t i = 0; i < text.size(); ++i) p *= MarkovChain::of(i == 0 ? 0 : text[i - 1], text[i]);
    if (p > most) most = p, best = text;
  }
  for (int32_t before = 0; greedy.size() < kLength; greedy.push_back(before)) {
    int32_t likeliest = 0;
    for (int32_t k = 1; k < 3; ++k)
      if (MarkovChain::of(before, k) > MarkovChain::of(before, likeliest)) likeliest = k;
    before = likeliest;
  }
  REQUIRE(best != greedy);
  CHECK(searched(27) == best);
  CHECK(searched(1) == greedy);
}

TEST_CASE("texts end with a token, and a beam compares those of different lengths") {
  constexpr int64_t kLength = 5;
  constexpr int32_t kEnd = 1;
  const auto searched = [&](int64_t width) {
    MarkovChain chain(width);
    return beam_search(chain, chain.next(std::vector<int32_t>(size_t(width), 2)), kLength, kEnd);
  };
  // Texts of the other two tokens with an end, and those of the whole length without one.
  std::vector<int32_t> best;
  double most = 0;
  for (int64_t count = 0; count <= kLength; ++count)
    for (int64_t number = 0; number < (int64_t(1) << count); ++number) {
      std::vector<int32_t> text;
      double p = 1;
      int32_t before = 2;
      for (int64_t i = 0; i < count; ++i, before = text.back()) {
        text.push_back(number >> i & 1 ? 2 : 0);
        p *= MarkovChain::of(before, text.back());
      }
      if (count < kLength) p *= MarkovChain::of(before, kEnd);
      if (p > most) most = p, best = text;
    }
  CHECK(searched(64) == best);
  CHECK(best.empty());  // the end follows token 2
  // From token 0 the greedy text does not end: 0.4^5. The best one ends at once, with 0.35, or behind token 2.
  MarkovChain chain(1);
  CHECK(beam_search(chain, chain.next({0}), kLength, kEnd) == std::vector<int32_t>(5, 0));
  MarkovChain wide(64);
  CHECK(beam_search(wide, wide.next(std::vector<int32_t>(64, 0)), kLength, kEnd).empty());
}

namespace {

constexpr int64_t kSequences = 2, kSteps = 7, kTokens = 5;

SampleMeaning meaning_of_texts(int64_t steps = kSteps) {
  SampleMeaning meaning;
  meaning.sample = {steps};
  meaning.sequence = meaning.streams = true;
  meaning.tokens = meaning.classes = kTokens;
  meaning.label_of = LabelOf::step;
  return meaning;
}

// One net, as it goes on token by token, and as it sees a whole text.
class GrowingText {
 public:
  GrowingText(const std::string& layers, DType dtype)
      : network_(network_of(yaml_of(layers))),
        options_{.dtype = dtype, .batch = kSequences},
        whole_(whole_program()),
        generator_(network_, meaning_of_texts(), options_, stepwise_, device_, kSequences) {
    for (Variables* all : {&variables_, &stepwise_})
      for (const auto& [name, tensor] : all->all()) {
        Stream stream(11, name);
        for (int64_t i = 0; i < tensor.elements(); ++i) all->at(name).set(i, double(stream.below(64)) / 32 - 1);
      }
  }
  Tensor next(const std::vector<int32_t>& tokens) { return generator_.next(tokens); }
  void reorder(const std::vector<int64_t>& from) { generator_.reorder(from); }
  // The net's outputs (N kSteps,kTokens) after each step of texts (N,kSteps).
  Tensor whole(const Tensor& texts) {
    whole_->bind("tokens", texts.data());
    whole_->set_scalar(kStreamStart, 1);
    whole_->run(0);
    return whole_->output("y").clone();
  }

 private:
  std::unique_ptr<Program> whole_program() {
    DataLayout layout;
    layout.meaning() = meaning_of_texts();
    return compile_program(generation_graph(network_, layout, {.steps = kSteps}, options_).graph, variables_, device_);
  }

  const Network network_;
  const StepOptions options_;
  const DeviceOptions device_{.program = {.threads = 1}};
  Variables variables_, stepwise_;
  const std::unique_ptr<Program> whole_;
  Generator generator_;
};

// (N,steps)
Tensor drawn_tokens(int64_t steps) {
  Tensor tokens(DType::i32, {kSequences, steps});
  Stream drawn(2, "tokens");
  for (int64_t i = 0; i < tokens.elements(); ++i) tokens.set(i, double(drawn.below(kTokens)));
  return tokens;
}

// Row of `got` (N,kTokens) of a sequence against the same sequence's step of `whole` (N kSteps,kTokens).
void check_step(const Tensor& got, int64_t row, const Tensor& whole, int64_t n, int64_t step, double tolerance) {
  for (int64_t k = 0; k < kTokens; ++k)
    check_close(got.at(row * kTokens + k), whole.at((n * kSteps + step) * kTokens + k), tolerance);
}

const std::string kInit = "init: {Uniform: {low: -1, high: 1}}",
                  kRest = ", {Affine: {nout: classes, " + kInit + ", activation: Softmax}}]";

std::string attention_net(const std::string& positions, const std::string& attention, const std::string& more = "") {
  const std::string block =
      "{MergeSum: [SkipNode, [LayerNorm, {MultiHeadAttention: {causal: true, " + kInit + ", " + attention + "}}]]}";
  return "[{Embedding: {embedding_dim: 8, " + kInit + "}}" + positions + ", " + block + ", " + block + more + kRest;
}

}  // namespace

TEST_CASE("a net that goes on token by token gives what it gives for the whole text") {
  const Tensor tokens = drawn_tokens(kSteps);
  const auto token = [&](int64_t n, int64_t t) { return int32_t(tokens.at(n * kSteps + t)); };
  std::vector<std::string> nets;
  for (const char* cell : {"Recurrent", "LSTM", "GRU"})
    nets.push_back(
        text("[{", cell, ": {output_size: 6, ", kInit, "}}, {", cell, ": {output_size: 4, ", kInit, "}}", kRest));
  // Cells that begin anew in each batch of training keep what a text had before.
  nets.push_back(text("[{LSTM: {output_size: 6, reset_cells: true, ", kInit,
                      "}}, {GRU: {output_size: 4, reset_cells: true, ", kInit, "}}", kRest));
  nets.push_back(attention_net(", {LearnedPositions: {" + kInit + "}}", "heads: 2"));
  nets.push_back(attention_net(", SinusoidalPositions", "heads: 4, kv_heads: 2"));
  nets.push_back(attention_net("", "heads: 2, rotary: true"));
  nets.push_back("[{Embedding: {embedding_dim: 8, " + kInit + "}}, {Conv: {fshape: 3, nofm: 6, causal: true, " + kInit +
                 "}}" + kRest);
  nets.push_back(attention_net("", "heads: 1", ", {LSTM: {output_size: 4, " + kInit + "}}"));
  for (const std::string& layers : nets)
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      INFO(layers << " " << name_of(dtype));
      GrowingText growing(layers, dtype);
      const Tensor expected = growing.whole(tokens);
      for (int64_t t = 0; t < kSteps; ++t) {
        // In between the sequences change places, and back.
        if (t == 3) growing.reorder({1, 0});
        const bool turned = t >= 3;
        const Tensor y = growing.next({token(turned, t), token(!turned, t)});
        for (int64_t n = 0; n < kSequences; ++n)
          check_step(y, n, expected, turned ? 1 - n : n, t, 32 * unit_roundoff(dtype));
      }
    }
}

TEST_CASE("attention to a text longer than the net was trained with goes on from the newer half") {
  constexpr int64_t kLong = 13;
  const Tensor tokens = drawn_tokens(kLong);
  for (const std::string& net : {attention_net(", {LearnedPositions: {" + kInit + "}}", "heads: 2"),
                                 attention_net("", "heads: 1", ", {LSTM: {output_size: 4, " + kInit + "}}")}) {
    INFO(net);
    GrowingText growing(net, DType::f64);
    for (int64_t t = 0; t < kLong; ++t) {
      // The three newest of seven steps stay before the eighth and before the twelfth.
      const int64_t first = t < 7 ? 0 : t < 11 ? 4 : 8;
      Tensor seen(DType::i32, {kSequences, kSteps});
      for (int64_t n = 0; n < kSequences; ++n)
        for (int64_t i = first; i <= t; ++i) seen.set(n * kSteps + i - first, tokens.at(n * kLong + i));
      const Tensor y = growing.next({int32_t(tokens.at(t)), int32_t(tokens.at(kLong + t))});
      const Tensor expected = growing.whole(seen);
      for (int64_t n = 0; n < kSequences; ++n) check_step(y, n, expected, n, t - first, 1e-12);
    }
  }
}

TEST_CASE("a net that sees the steps to come goes on with no text") {
  const std::string two = "{DotAttention: {inputs: [x, x], " + kInit + "}}";
  for (const std::string& layer : {"{MultiHeadAttention: {heads: 2, " + kInit + "}}",
                                   "{BiLSTM: {output_size: 4, " + kInit + "}}", two, std::string("{GroupNorm: 2}"),
                                   std::string("InstanceNorm"), std::string("{Reshape: [-1]}, {Reshape: [7, 8]}")}) {
    INFO(layer);
    std::string said;
    try {
      GrowingText("[{Embedding: {name: x, embedding_dim: 8, " + kInit + "}}, " + layer + kRest, DType::f32);
    } catch (const Error& error) {
      said = error.what();
    }
    CHECK_THAT(said, Catch::Contains("_0 sees the steps that follow"));
  }
}

namespace {

// The cost of one more token in a net that sees texts of so many steps.
struct TokenCost {
  double flops = 0;
  int64_t carried = 0;  // numbers that layers keep from token to token
};

TokenCost cost_of_token(const std::string& layers, int64_t window) {
  const Network network = network_of(yaml_of(layers));
  DataLayout layout;
  layout.meaning() = meaning_of_texts(window);
  const GenerationSteps steps{.steps = 1, .places = network.sight() == Sight::kept ? window : 0};
  const Graph graph = generation_graph(network, layout, steps, {.dtype = DType::f32, .batch = 1}).graph;
  TokenCost out{.flops = flops_of(graph, 0, graph.node_count())};
  for (const Value value : graph.leaves(LeafKind::variable))
    if (graph.producer(value).attributes.string("name").starts_with(kGenerationPrefix))
      out.carried += graph.shape(value).elements();
  return out;
}

}  // namespace

TEST_CASE("a token costs the same after any text in recurrent nets, and grows by its places in attention") {
  for (const char* cell : {"Recurrent", "LSTM", "GRU"}) {
    INFO(cell);
    const std::string net = text("[{", cell, ": {output_size: 16, ", kInit, "}}", kRest);
    const TokenCost near = cost_of_token(net, 64), far = cost_of_token(net, 4096);
    CHECK(near.flops == far.flops);
    CHECK(near.carried == (cell == std::string("LSTM") ? 32 : 16));
    CHECK(far.carried == near.carried);
  }
  // A token's query meets each key, and each value gets its weight: 2 products of the width for each place. Both are
  // kept, those of groups once. 8 heads share 8 / kv_heads of them.
  constexpr double kWidth = 32, kBlocks = 2;
  for (const double groups : {8.0, 2.0}) {
    const auto block = text("{MultiHeadAttention: {causal: true, heads: 8, kv_heads: ", groups, ", ", kInit, "}}");
    const auto net = text("[{Embedding: {embedding_dim: 32, ", kInit, "}}, ", block, ", ", block, kRest);
    const TokenCost one = cost_of_token(net, 256), two = cost_of_token(net, 512), four = cost_of_token(net, 1024);
    INFO(one.flops << " " << two.flops << " " << four.flops);
    CHECK(two.carried - one.carried == int64_t(256 * kBlocks * 2 * kWidth * groups / 8));
    CHECK(four.carried - two.carried == 2 * (two.carried - one.carried));
    CHECK(four.flops - two.flops == 2 * (two.flops - one.flops));
    const double products = 256 * kBlocks * 2 * 2 * kWidth;
    CHECK(two.flops - one.flops >= products);
    CHECK(two.flops - one.flops <= 2 * products);  // softmax, mask
  }
}

TEST_CASE("the hundredth part of a text takes as long as the first in a recurrent net") {
  GrowingText growing("[{LSTM: {output_size: 64, " + kInit + "}}" + kRest, DType::f32);
  constexpr int kParts = 100, kTokensOfPart = 50;
  Numbers seconds;
  for (int part = 0; part < kParts; ++part) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kTokensOfPart; ++i) growing.next({int32_t(i % kTokens), 0});
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  // The least of several parts is free of what else runs. Running the text again would take 20 times as long or more.
  const double first = *std::min_element(seconds.begin(), seconds.begin() + 5);
  CHECK(*std::min_element(seconds.end() - 5, seconds.end()) < 5 * first);
}
