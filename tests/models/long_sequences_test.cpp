// Long sequences of different lengths: sums over steps are cut into blocks of rows, and padding changes no bit of them.
#include <catch2/catch.hpp>

#include "backends/elementwise/kernels.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr int64_t kLongest = 700, kSequenceClasses = 3;
// Around the sizes at which kernels cut sums.
const std::vector<int64_t> kLongLengths = {700, 1, 513, 256, 699, 300, 512, 40};

// Two numbers and a class for each step, up to the lengths, held with so many steps.
struct LongSequences {
  LongSequences(const std::vector<int64_t>& lengths, int64_t steps, bool of_steps) {
    const auto samples = int64_t(lengths.size());
    data.inputs = Tensor(DType::f32, {samples, steps, 2});
    data.targets = Tensor(DType::i32, {samples, of_steps ? steps : 1});
    data.classes = kSequenceClasses;
    for (int64_t i = 0; i < samples; ++i) {
      Stream stream(5, "sample", uint64_t(i));
      for (int64_t t = 0; t < steps; ++t) {
        const bool padding = t >= lengths[size_t(i)];
        for (int64_t k = 0; k < 2; ++k)
          data.inputs.set((i * steps + t) * 2 + k, padding ? std::nan("") : double(stream.below(1000)) / 300 - 1.6);
        const double label = double(stream.below(kSequenceClasses));
        if (of_steps || t == 0) data.targets.set(of_steps ? i * steps + t : i, padding ? -1 : label);
      }
    }
    layout = data.layout();
    layout.sequence = layout.ragged = true;
    layout.label_of = of_steps ? LabelOf::step : LabelOf::sample;
  }
  NetData data;
  DataLayout layout;
};

std::map<std::string, std::vector<double>> long_results(const std::string& layers, const std::vector<int64_t>& lengths,
                                                        int64_t steps, bool of_steps, DType dtype, int threads) {
  const LongSequences sequences(lengths, steps, of_steps);
  const auto samples = int64_t(lengths.size());
  const Network network = network_of(yaml_of(layers));
  const auto cost = Registry<Cost>::get().create(yaml_of("CrossEntropyMulti"));
  const StepGraph graph = gradient_graph(network, *cost, sequences.layout, {.dtype = dtype, .batch = samples}, true);
  Variables variables;
  const auto program = compile_for_cpu(graph.graph, variables, {.threads = threads});
  for (const auto& [name, tensor] : variables.all()) {
    Stream stream(11, name);
    for (int64_t i = 0; i < tensor.elements(); ++i) variables.at(name).set(i, double(stream.below(640)) / 320 - 1);
  }
  std::vector<int32_t> indices(static_cast<size_t>(samples));
  for (int64_t i = 0; i < samples; ++i) indices[size_t(i)] = int32_t(samples - 1 - i);
  program->bind("data", sequences.data.inputs.data());
  program->bind("targets", sequences.data.targets.data());
  program->bind("indices", indices.data());
  program->run(1);
  std::map<std::string, std::vector<double>> out;
  for (const auto& [name, value] : graph.graph.outputs()) {
    const Tensor tensor = program->output(name);
    for (int64_t i = 0; i < tensor.elements(); ++i) out[name].push_back(tensor.at(i));
  }
  return out;
}

const std::string kNarrow = "init: {Uniform: {low: -1, high: 1}}";

std::string affine_of(int64_t units, const std::string& options) {
  return "{Affine: {nout: " + std::to_string(units) + ", " + kNarrow + ", " + options + "}}";
}

const std::string kNarrowEnd = affine_of(kSequenceClasses, "bias: {Constant: 0}, activation: Softmax") + "]";

struct PaddedCase {
  std::string layers;
  bool of_steps;
  int64_t longest, padded;
};

void check_padded(const PaddedCase& c) {
  std::vector<int64_t> lengths = kLongLengths;
  for (int64_t& length : lengths) length = std::min(length, c.longest);
  for (const DType dtype : {DType::f64, DType::f32})
    for (const int threads : {1, 3}) {
      // Without AVX-512 the order of a product's sums in f32 depends on its number of rows.
      if (dtype == DType::f32 && elementwise::active_level().name != std::string_view("v4")) continue;
      const auto little = long_results(c.layers, lengths, c.longest, c.of_steps, dtype, threads);
      const auto more = long_results(c.layers, lengths, c.padded, c.of_steps, dtype, threads);
      for (const auto& [name, values] : little) {
        INFO(c.layers << " " << name_of(dtype) << " " << name << ", threads: " << threads << ", steps: " << c.longest
                      << " and " << c.padded);
        const bool is_product = name.find("/W") != name.npos;  // the order of those in f32 is oneDNN's
        if (!is_product || dtype == DType::f64) CHECK(more.at(name) == values);
      }
    }
}

}  // namespace

TEST_CASE("padding of long sequences changes no bit of sums over their steps") {
  const std::string tanh = "activation: Tanh", wide = affine_of(300, tanh), narrow = affine_of(9, tanh);
  const std::vector<std::string> nets = {affine_of(9, "bias: {Constant: 0.5}, activation: Rectlin"),
                                         affine_of(9, "batch_norm: true, activation: Rectlin"),
                                         wide + ", BatchNorm",
                                         narrow + ", LayerNorm",
                                         narrow + ", RMSNorm",
                                         narrow + ", {Activation: PReLU}",
                                         narrow + ", {Activation: {transform: {PReLU: {shared: true}}}}"};
  for (const std::string& net : nets) {
    std::vector<std::string> tails = {""};
    for (const char* over : {"RecurrentSum, ", "RecurrentMean, ", "RecurrentMax, "}) tails.push_back(over);
    for (const std::string& tail : tails) {
      const std::string layers = "[" + net + ", " + tail + kNarrowEnd;
      check_padded({layers, tail.empty(), 200, 300});
      check_padded({layers, tail.empty(), kLongest, 1100});
    }
  }
}

// Kernels are grouped in another way there.
TEST_CASE("padding to arrays that caches do not hold changes no bit either") {
  const std::string layers = "[" + affine_of(300, "activation: Tanh") + ", BatchNorm, RecurrentSum, " + kNarrowEnd;
  check_padded({layers, false, 200, 2500});
}
