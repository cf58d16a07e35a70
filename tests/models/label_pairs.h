// Encoders and decoders with drawn weights, and strings for them.
#pragma once
#include "tests/models/golden_net.h"

namespace neon_test {

constexpr int64_t kStrings = 4, kLetters = 5, kEndings = 6, kLabels = 7;

inline void fill_drawn(neon::Variables& variables) {
  for (const auto& [name, tensor] : variables.all()) {
    neon::Stream stream(11, name);
    for (int64_t i = 0; i < tensor.elements(); ++i) variables.at(name).set(i, double(stream.below(64)) / 32 - 1);
  }
}

// Strings of 5, 1, 3 and 2 tokens in so many steps, and targets of up to 7 labels; all of them so many times.
inline NetData strings(int64_t steps, int64_t copies = 1) {
  constexpr int64_t kCounts[] = {5, 1, 3, 2};
  NetData out;
  out.inputs = neon::Tensor(neon::DType::i32, {copies * kStrings, steps});
  out.targets = neon::Tensor(neon::DType::i32, {copies * kStrings, kLabels});
  out.classes = kEndings, out.tokens = kLetters;
  for (int64_t i = 0; i < copies * kStrings; ++i) {
    const int64_t string = i % kStrings, count = kCounts[string];
    neon::Stream stream(5, "string", uint64_t(string));
    for (int64_t t = 0; t < steps; ++t) out.inputs.set(i * steps + t, t < count ? double(stream.below(kLetters)) : -1);
    for (int64_t t = 0; t < kLabels; ++t) out.targets.set(i * kLabels + t, t <= count ? double(string + t) : -1);
  }
  for (int64_t i = 0; i < out.targets.elements(); ++i)
    if (out.targets.at(i) >= kEndings) out.targets.set(i, 0);
  return out;
}

inline const std::string kDrawn = "init: {Uniform: {low: -1, high: 1}}";

inline std::string pair_of(const std::string& encoder, const std::string& decoder, const std::string& more = "") {
  const std::string table = "{Embedding: {embedding_dim: 4, " + kDrawn + "}}, ";
  return "[{Seq2Seq: {encoder: [" + table + encoder + "], decoder: [" + table + decoder +
         ", {Affine: {nout: classes, " + kDrawn + ", activation: Softmax}}]" + more + "}}]";
}

inline std::string layer_of(const std::string& kind, const std::string& options) {
  return "{" + kind + ": {" + kDrawn + ", " + options + "}}";
}

// Encoders and decoders of all kinds. `more` are options of Seq2Seq.
inline std::vector<std::string> pairs(const std::string& more = "") {
  const auto cells = [](const char* kind) { return layer_of(kind, "output_size: 4"); };
  const std::string attention = layer_of("MultiHeadAttention", "heads: 2, causal: true"),
                    to_encoder = layer_of("MultiHeadAttention", "heads: 2, inputs: [own, read]"),
                    positions = "{LearnedPositions: {" + kDrawn + "}}";
  const auto transformer = [&](const std::string& begin) {
    return pair_of(
        "{LayerNorm: {name: read}}",
        begin + ", {MergeSum: {layers: [SkipNode, " + attention + "], name: own}}, " + to_encoder + ", LayerNorm",
        more);
  };
  return {pair_of(cells("LSTM"), cells("LSTM"), more),
          pair_of(cells("Recurrent"), cells("Recurrent"), more),
          pair_of(cells("GRU"), cells("GRU") + ", " + layer_of("DotAttention", ""), more),
          pair_of(cells("GRU") + ", " + cells("GRU"), cells("GRU") + ", {Dropout: 0.5}, " + cells("GRU"), more),
          transformer(positions),
          transformer("SinusoidalPositions")};
}

// Checks that a decoder predicts the labels `wanted` of a golden file.
inline void predicts(const GoldenNet& example, const Arithmetic& arithmetic, const neon::Setting& wanted) {
  neon::DataLayout layout = example.data.layout();
  layout.target_steps = layout.target[0];
  const neon::StepGraph graph = evaluation_graph(example.network, nullptr, {}, layout, 8, example.options);
  neon::Variables variables;
  const auto program = compile_for_cpu(graph.graph, variables, arithmetic.options);
  example.start(variables);
  const auto samples = example.samples(0);
  program->bind("data", example.data.inputs.data());
  program->bind("indices", samples.data());
  program->run(0);
  const neon::Tensor predicted = program->output("predicted"), labels = tensor_of(wanted, neon::DType::f64);
  REQUIRE(predicted.shape() == labels.shape());
  for (int64_t i = 0; i < labels.elements(); ++i) {
    INFO(i);
    CHECK(predicted.at(i) == labels.at(i));
  }
}

// An evaluation's results for these strings: the labels that the net predicts, or its outputs for the labels given.
// Row i is sample sample_of_row(i).
inline int64_t sample_of_row(int64_t i) {
  constexpr int64_t kOrder[kStrings] = {2, 0, 3, 1};
  return i - i % kStrings + kOrder[i % kStrings];
}
inline neon::Tensor evaluated(const std::string& layers, const NetData& data, bool predicts, neon::DType dtype,
                              int64_t target_steps = kLabels) {
  const neon::Network network = network_of(yaml_of(layers));
  const auto cost = neon::Registry<neon::Cost>::get().create(yaml_of("CrossEntropyMulti"));
  neon::DataLayout layout = data.layout();
  layout.target_steps = target_steps;
  const int64_t rows = data.inputs.shape()[0];
  const neon::StepOptions options{.dtype = dtype, .batch = rows};
  const neon::StepGraph graph =
      neon::evaluation_graph(network, predicts ? nullptr : cost.get(), {}, layout, rows, options);
  neon::Variables variables;
  const auto program = compile_for_cpu(graph.graph, variables, {.threads = 1});
  fill_drawn(variables);
  std::vector<int32_t> indices;
  for (int64_t i = 0; i < rows; ++i) indices.push_back(int32_t(sample_of_row(i)));
  const std::vector<double> ones(size_t(rows), 1);
  const std::vector<float> narrow_ones(size_t(rows), 1);
  program->bind("data", data.inputs.data());
  program->bind("indices", indices.data());
  if (!predicts) {
    program->bind("targets", data.targets.data());
    program->bind("weight", dtype == neon::DType::f64 ? static_cast<const void*>(ones.data()) : narrow_ones.data());
  }
  program->run(0);
  return program->output(predicts ? "predicted" : "y").clone();
}

}  // namespace neon_test
