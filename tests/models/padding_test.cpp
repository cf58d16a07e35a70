// Sequences of different lengths: padding changes no result, however much of it there is.
#include <catch2/catch.hpp>

#include "backends/elementwise/kernels.h"
#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr int64_t kRaggedTokens = 6, kRaggedSamples = 4, kRaggedClasses = 3;
constexpr int64_t kLengths[kRaggedSamples] = {5, 1, 3, 4};

// Tokens or numbers in so many steps, of which those behind a sample's length are padding; a class for each sample, or
// for each step.
struct Ragged {
  Ragged(int64_t steps, bool tokens, bool of_steps) {
    const int64_t numbers = tokens ? 1 : 2;
    data.inputs = Tensor(tokens ? DType::i32 : DType::f32,
                         tokens ? Shape{kRaggedSamples, steps} : Shape{kRaggedSamples, steps, 2});
    data.targets = Tensor(DType::i32, of_steps ? Shape{kRaggedSamples, steps} : Shape{kRaggedSamples, 1});
    data.classes = kRaggedClasses;
    for (int64_t i = 0; i < kRaggedSamples; ++i) {
      Stream stream(5, "sample", uint64_t(i));
      data.targets.set(of_steps ? i * steps : i, double(stream.below(kRaggedClasses)));
      for (int64_t t = 0; t < steps; ++t) {
        const bool padding = t >= kLengths[i];
        for (int64_t k = 0; k < numbers; ++k) {
          const double drawn = tokens ? double(stream.below(kRaggedTokens)) : double(stream.below(64)) / 16 - 2;
          data.inputs.set((i * steps + t) * numbers + k, !padding ? drawn : tokens ? -1 : std::nan(""));
        }
        const double label = double(stream.below(kRaggedClasses));
        if (of_steps) data.targets.set(i * steps + t, padding ? -1 : label);
      }
    }
    layout = data.layout();
    layout.sequence = layout.ragged = true;
    layout.tokens = tokens ? kRaggedTokens : 0;
    layout.label_of = of_steps ? LabelOf::step : LabelOf::sample;
  }
  NetData data;
  DataLayout layout;
};

struct Result {
  double cost = 0;
  std::map<std::string, std::vector<double>> gradients;
};

// `cut_to`: the steps of the batch, where they are fewer than those that samples are held with.
Result result_of(const std::string& layers, int64_t steps, bool tokens, bool of_steps, DType dtype, int64_t cut_to = 0,
                 int threads = 1) {
  const Ragged ragged(steps, tokens, of_steps);
  const DataLayout layout = cut_to > 0 ? ragged.layout.with_steps(cut_to) : ragged.layout;
  const Network network = network_of(yaml_of(layers));
  const auto cost = Registry<Cost>::get().create(yaml_of("CrossEntropyMulti"));
  const StepGraph graph = gradient_graph(network, *cost, layout, {.dtype = dtype, .batch = kRaggedSamples}, true);
  Variables variables;
  const auto program = compile_for_cpu(graph.graph, variables, {.threads = threads});
  for (const auto& [name, tensor] : variables.all()) {
    Stream stream(11, name);
    for (int64_t i = 0; i < tensor.elements(); ++i) variables.at(name).set(i, double(stream.below(64)) / 32 - 1);
  }
  const std::vector<int32_t> indices = {2, 0, 3, 1};
  program->bind("data", ragged.data.inputs.data());
  program->bind("targets", ragged.data.targets.data());
  program->bind("indices", indices.data());
  program->run(1);
  Result out;
  out.cost = program->output("cost").at(0);
  for (const auto& [name, value] : graph.graph.outputs())
    if (name.starts_with("grad/")) {
      const Tensor tensor = program->output(name);
      for (int64_t i = 0; i < tensor.elements(); ++i) out.gradients[name].push_back(tensor.at(i));
    }
  return out;
}

const std::string kInit = "init: {Uniform: {low: -1, high: 1}}";

std::string cell(const std::string& name) { return "{" + name + ": {output_size: 4, " + kInit + "}}"; }

std::string convolution(const std::string& options) {
  return "{Conv: {fshape: 3, nofm: 4, bias: {Constant: 0.5}, " + kInit + ", " + options + "}}";
}

// Windows over steps that keep their number.
std::vector<std::string> windows_by_step() {
  const std::string three = "{Affine: {nout: 6, bias: {Constant: 0.5}, " + kInit + "}}";
  return {convolution("padding: 1, activation: Tanh"),
          three + ", {GroupNorm: {groups: 3}}, " + convolution("padding: 1"),
          three + ", InstanceNorm, {Activation: Tanh}",
          convolution("causal: true, dilation: 2") + ", {Pooling: {fshape: 3, strides: 1, padding: 1, op: avg}}",
          "{Affine: {nout: 4, batch_norm: true, " + kInit + "}}, BatchNorm, " +
              convolution("padding: 1, activation: Rectlin"),
          "{BiBNRNN: {output_size: 3, " + kInit + "}}"};
}

// Layers that draw random numbers for steps.
std::vector<std::string> draws_by_step() {
  const std::string relu = "activation: RReLU", affine = "{Affine: {nout: 4, " + kInit + ", ";
  return {
      "{Dropout: {keep: 0.5}}, " + cell("GRU") + ", {Dropout: {keep: 0.75}}",
      "{GaussianNoise: 0.5}, " + cell("GRU") + ", {GaussianNoise: 0.25}",
      affine + relu + "}}, {Activation: RReLU}, {Dropout: {keep: 0.5}}",
      convolution("padding: 1, " + relu) + ", " + convolution("padding: 1, shared_bias: true, " + relu),
      "{GatedMLP: {hidden: 5, " + kInit + ", " + relu + "}}",
      affine + "activation: Tanh}}, {MultiHeadAttention: {heads: 2, dropout: 0.5, " + kInit + "}}",
      affine + "activation: Tanh}}, {MultiHeadAttention: {heads: 4, causal: true, dropout: 0.25, " + kInit + "}}",
      affine + "activation: Tanh}}, {MergeSum: [SkipNode, [" + cell("LSTM") + ", {StochasticDepth: {keep: 0.5}}]]}"};
}

// Windows that leave fewer steps, some none of a sample's own, and what makes one row of them.
std::vector<std::string> windows_to_rows() {
  const std::string conv = convolution("activation: Rectlin"), strided = convolution("strides: 2, padding: 1");
  std::vector<std::string> out = {conv + ", {Pooling: {fshape: all}}", strided + ", {Pooling: {fshape: all, op: avg}}",
                                  strided + ", BatchNorm, {LSTM: {output_size: 3, " + kInit + "}}, RecurrentLast"};
  for (const char* op : {"max", "avg", "l2"})
    for (const char* over : {"RecurrentMax", "RecurrentMean", "RecurrentLast"})
      out.push_back(convolution("padding: 1") + ", {Pooling: {fshape: 2, op: " + op + "}}, " + over);
  return out;
}

// Branches of which one has lengths of its own, and layers behind them that read the lengths.
std::vector<std::string> merges() {
  const std::string windows = "[" + convolution("padding: 1") + "]",
                    affine = "{Affine: {nout: 4, bias: {Constant: 0.5}, " + kInit + "}}",
                    weights = "[RecurrentMean, " + affine + "]";
  return {affine + ", {MergeSum: [" + windows + ", SkipNode]}, " + cell("LSTM"),
          affine + ", {MergeMean: [SkipNode, " + windows + "]}, {MultiHeadAttention: {heads: 2, " + kInit + "}}",
          "{MergeConcat: [" + windows + ", [" + affine + "]]}, " + cell("BiGRU"),
          "{MergeProduct: [" + weights + ", [" + affine + "]]}, " + affine + ", " + cell("GRU"),
          "{MergeProduct: [[" + affine + "], " + weights + "]}, " + affine + ", " + cell("GRU")};
}

std::vector<std::string> nets(bool tokens, bool of_steps) {
  const std::string end = "{Affine: {nout: 3, " + kInit + ", activation: Softmax}}]";
  const std::string begin = tokens ? "[{Embedding: {embedding_dim: 3, " + kInit + "}}, " : "[";
  std::vector<std::string> out;
  for (const char* name : {"Recurrent", "LSTM", "GRU", "BiRNN", "BiLSTM", "BiGRU", "DeepBiLSTM"}) {
    if (of_steps) out.push_back(begin + cell(name) + ", " + end);
    else
      for (const char* over : {"RecurrentLast", "RecurrentSum", "RecurrentMean", "RecurrentMax"})
        out.push_back(begin + cell(name) + ", " + over + ", " + end);
  }
  if (!of_steps) out.push_back(begin + "RecurrentLast, " + end);
  for (const std::string& windows : of_steps ? windows_by_step() : windows_to_rows())
    out.push_back(begin + windows + ", " + end);
  for (const std::string& merge : merges())
    out.push_back(begin + merge + (of_steps ? ", " : ", RecurrentLast, ") + end);
  for (const std::string& draws : draws_by_step())
    out.push_back(begin + draws + (of_steps ? ", " : ", RecurrentMean, {Dropout: {keep: 0.5}}, ") + end);
  return out;
}

}  // namespace

TEST_CASE("padding changes no cost and no gradient, however much of it there is") {
  for (const bool tokens : {true, false})
    for (const bool of_steps : {true, false})
      for (const std::string& net : nets(tokens, of_steps))
        for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
          INFO(net << " " << name_of(dtype) << (of_steps ? ", a class a step" : ", a class a sample"));
          const Result little = result_of(net, 5, tokens, of_steps, dtype),
                       more = result_of(net, 12, tokens, of_steps, dtype);
          CHECK(std::isfinite(little.cost));
          CHECK(more.cost == little.cost);
          REQUIRE(more.gradients.size() == little.gradients.size());
          for (const auto& [name, gradient] : little.gradients)
            for (size_t i = 0; i < gradient.size(); ++i) {
              INFO(name << " " << i);
              // oneDNN's products may add up steps in another order where the batch has more of them.
              check_close(more.gradients.at(name)[i], gradient[i], 64 * unit_roundoff(dtype));
            }
        }
}

namespace {

// Layers whose gradients are sums over the steps of all samples.
std::vector<std::string> sums_over_steps() {
  const std::string units = "nout: 9, " + kInit, affine = "{Affine: {" + units + ", activation: Tanh}}",
                    one = "{Affine: {nout: 1, bias: {Constant: 0.5}, " + kInit + ", activation: Tanh}}";
  return {"{Affine: {" + units + ", bias: {Constant: 0.5}, activation: Tanh}}",
          "{Affine: {" + units + ", batch_norm: true, activation: Rectlin}}",
          affine + ", BatchNorm",
          affine + ", LayerNorm",
          affine + ", RMSNorm",
          affine + ", {GroupNorm: {groups: 3}}",
          affine + ", InstanceNorm",
          affine + ", {Activation: PReLU}",
          affine + ", {LearnedPositions: {steps: 700}}",
          one,
          one + ", BatchNorm",
          one + ", {MergeSum: [SkipNode, [InstanceNorm]]}",
          one + ", {Activation: PReLU}",
          convolution("padding: 1, activation: Tanh"),
          cell("GRU"),
          cell("BiLSTM"),
          "{BiBNRNN: {output_size: 3, " + kInit + "}}"};
}

}  // namespace

TEST_CASE("sums over steps are made sample by sample, so padding changes no bit") {
  const std::string end = ", {Affine: {nout: 3, " + kInit + ", bias: {Constant: 0}, activation: Softmax}}]";
  for (const std::string& layers : sums_over_steps())
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16})
      for (const int threads : {1, 3}) {
        // Without AVX-512 oneDNN shares products in f32 among threads by the number of rows.
        const bool other_products =
            threads > 1 && dtype != DType::f64 && elementwise::active_level().name != std::string_view("v4");
        INFO(layers << " " << name_of(dtype) << ", threads: " << threads);
        const Result little = result_of("[" + layers + end, 5, false, true, dtype, 0, threads);
        for (const int64_t steps : {6, 8, 15, 64, 700}) {
          INFO(steps);
          const Result more = result_of("[" + layers + end, steps, false, true, dtype, 0, threads);
          const double allowed = 64 * unit_roundoff(dtype);
          if (other_products) check_close(more.cost, little.cost, allowed);
          else CHECK(more.cost == little.cost);
          for (const auto& [name, gradient] : little.gradients) {
            INFO(name);
            // The order of other products is oneDNN's.
            const bool is_product = name.find("/W") != name.npos;
            const std::vector<double>& got = more.gradients.at(name);
            if (other_products)
              for (size_t i = 0; i < gradient.size(); ++i) check_close(got[i], gradient[i], allowed);
            else if (!is_product || dtype == DType::f64) CHECK(got == gradient);
          }
        }
      }
}

namespace {

// Numbers for the steps of the ragged samples, whose padding is NaN and has targets that must not count.
struct Numbers {
  explicit Numbers(int64_t steps) : ragged(steps, false, false) {
    targets = Tensor(DType::f32, {kRaggedSamples, steps, 2});
    for (int64_t i = 0; i < kRaggedSamples; ++i) {
      Stream stream(6, "numbers", uint64_t(i));
      for (int64_t k = 0; k < 2 * steps; ++k)
        targets.set(2 * steps * i + k, k < 2 * kLengths[i] ? double(stream.below(64)) / 16 - 2 : 1e6);
    }
    layout = ragged.layout;
    layout.classes = 0, layout.target_dtype = DType::f32, layout.target = {steps, 2};
  }
  Ragged ragged;
  Tensor targets;
  DataLayout layout;
};

double cost_of_numbers(const std::string& layers, int64_t steps, int64_t cut_to) {
  const Numbers numbers(steps);
  const DataLayout layout = cut_to > 0 ? numbers.layout.with_steps(cut_to) : numbers.layout;
  const Network network = network_of(yaml_of(layers));
  const auto cost = Registry<Cost>::get().create(yaml_of("MeanSquared"));
  const StepGraph graph = gradient_graph(network, *cost, layout, {.dtype = DType::f64, .batch = kRaggedSamples}, false);
  Variables variables;
  const auto program = compile_for_cpu(graph.graph, variables, {.threads = 1});
  for (const auto& [name, tensor] : variables.all())
    for (int64_t i = 0; i < tensor.elements(); ++i) variables.at(name).set(i, i % 3 == 0 ? 0.5 : 0);
  const std::vector<int32_t> indices = {2, 0, 3, 1};
  program->bind("data", numbers.ragged.data.inputs.data());
  program->bind("targets", numbers.targets.data());
  program->bind("indices", indices.data());
  program->run(1);
  return program->output("cost").at(0);
}

}  // namespace

TEST_CASE("numbers for steps count where a sequence has steps") {
  // The layer halves both features.
  const std::string halves = "[{Affine: {nout: 2, " + kInit + "}}]";
  const Numbers numbers(5);
  double sum = 0, count = 0;
  for (int64_t i = 0; i < kRaggedSamples; ++i)
    for (int64_t k = 0; k < 2 * kLengths[i]; ++k, ++count)
      sum += std::pow(numbers.ragged.data.inputs.at(10 * i + k) / 2 - numbers.targets.at(10 * i + k), 2);
  check_close(cost_of_numbers(halves, 5, 0), sum / count / 2, 1e-14);  // MeanSquared is half the mean
  for (const std::string& net : {halves, "[" + cell("GRU") + ", {Affine: {nout: 2, " + kInit + "}}]"}) {
    INFO(net);
    const double cost = cost_of_numbers(net, 5, 0);
    CHECK(cost_of_numbers(net, 12, 0) == cost);
    CHECK(cost_of_numbers(net, 12, 5) == cost);
  }
}

TEST_CASE("a batch that is cut to the length of its longest sequence has the bits of sequences held so") {
  for (const bool tokens : {true, false})
    for (const bool of_steps : {true, false})
      for (const std::string& net : nets(tokens, of_steps)) {
        INFO(net << (of_steps ? ", a class a step" : ", a class a sample"));
        const Result held = result_of(net, 5, tokens, of_steps, DType::f32),
                     cut = result_of(net, 12, tokens, of_steps, DType::f32, 5);
        CHECK(cut.cost == held.cost);
        CHECK(cut.gradients == held.gradients);
      }
}

// One sample alone has the cost that it has in a batch with longer ones.
TEST_CASE("batches of fewer steps have fewer targets, where targets are known at all") {
  DataLayout layout;
  layout.sample = {9, 2}, layout.target = {9}, layout.label_of = LabelOf::step, layout.ragged = true;
  const DataLayout shorter = layout.with_steps(4);
  CHECK((shorter.sample == Shape{4, 2} && shorter.target == Shape{4} && shorter.held_steps == 9));
  layout.target = {};
  const DataLayout predicted = layout.with_steps(4);
  CHECK((predicted.sample == Shape{4, 2} && predicted.target == Shape{} && predicted.held_steps == 9));
}

TEST_CASE("the cost of padded steps is that of the steps alone") {
  for (const char* over : {"RecurrentLast", "RecurrentSum", "RecurrentMean", "RecurrentMax"}) {
    INFO(over);
    const std::string net =
        "[" + cell("LSTM") + ", " + over + ", {Affine: {nout: 3, " + kInit + ", activation: Softmax}}]";
    const Ragged all(7, false, false);
    const Network network = network_of(yaml_of(net));
    const auto cost = Registry<Cost>::get().create(yaml_of("CrossEntropyMulti"));
    double sum = 0;
    for (int64_t i = 0; i < kRaggedSamples; ++i) {
      DataLayout layout = all.layout;
      layout.ragged = false;
      layout.sample = {kLengths[i], 2};
      Tensor inputs(DType::f32, {kRaggedSamples, kLengths[i], 2});
      for (int64_t k = 0; k < 2 * kLengths[i]; ++k) inputs.set(i * 2 * kLengths[i] + k, all.data.inputs.at(i * 14 + k));
      const StepGraph graph = gradient_graph(network, *cost, layout, {.dtype = DType::f64, .batch = 1}, false);
      Variables variables;
      const auto program = compile_for_cpu(graph.graph, variables, {.threads = 1});
      for (const auto& [name, tensor] : variables.all()) {
        Stream stream(11, name);
        for (int64_t k = 0; k < tensor.elements(); ++k) variables.at(name).set(k, double(stream.below(64)) / 32 - 1);
      }
      const std::vector<int32_t> indices = {int32_t(i)};
      program->bind("data", inputs.data());
      program->bind("targets", all.data.targets.data());
      program->bind("indices", indices.data());
      program->run(1);
      sum += program->output("cost").at(0) / double(kRaggedSamples);
    }
    check_close(result_of(net, 7, false, false, DType::f64).cost, sum, 1e-14);
  }
}
