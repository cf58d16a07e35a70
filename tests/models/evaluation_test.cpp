// The graph of an evaluation against plain loops: outputs, and sums of cost and metrics over the samples that count.
#include <catch2/catch.hpp>

#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr int64_t kSamples = 7, kBatch = 4, kFeatures = 3;

struct Unequal {
  explicit Unequal(DType dtype) : weight(dtype, {kBatch, 1}) {
    data.inputs = Tensor(DType::u8, {kSamples, kFeatures});
    data.targets = Tensor(DType::f32, {kSamples, kFeatures});
    Stream stream(3, "data");
    for (int64_t i = 0; i < data.inputs.elements(); ++i) data.inputs.set(i, double(stream.below(256)));
    for (int64_t i = 0; i < data.targets.elements(); ++i) data.targets.set(i, double(stream.below(64)) / 16 - 2);
    for (int64_t i = 0; i < kBatch; ++i) weight.set(i, i < 3 ? 1 : 0);
    layout = data.layout();
    layout.scale = 1 / 64.0f, layout.shift = -2;
  }
  // What a net that changes nothing gives for feature j of the i-th of a batch.
  double output(int64_t i, int64_t j) const { return data.inputs.at(indices[size_t(i)] * kFeatures + j) / 64 - 2; }
  double target(int64_t i, int64_t j) const { return data.targets.at(indices[size_t(i)] * kFeatures + j); }
  std::unique_ptr<Program> compile(const StepGraph& graph, const ProgramOptions& options) {
    auto program = compile_for_cpu(graph.graph, variables, options);
    program->bind("data", data.inputs.data());
    program->bind("indices", indices.data());
    return program;
  }
  NetData data;
  DataLayout layout;
  Tensor weight;
  Variables variables;
  std::vector<int32_t> indices = {6, 2, 0, 0};  // the last one fills the batch up
  Network network = network_of(yaml_of("[Activation: Identity]"));
};

}  // namespace

TEST_CASE("an evaluation adds up cost and metrics of the samples that count") {
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(arithmetic.name);
    Unequal example(arithmetic.dtype);
    const auto cost = Registry<Cost>::get().create(yaml_of("SumSquared"));
    const auto metric = Registry<Metric>::get().create(yaml_of("SSE"));
    const StepGraph graph = evaluation_graph(example.network, cost.get(), {metric.get()}, example.layout, kSamples,
                                             {.dtype = arithmetic.dtype, .batch = kBatch});
    const auto program = example.compile(graph, arithmetic.options);
    program->bind("targets", example.data.targets.data());
    program->bind("weight", example.weight.data());
    program->run(1);
    double squares = 0;
    for (int64_t i = 0; i < kBatch; ++i)
      for (int64_t j = 0; j < kFeatures; ++j) {
        const double y = example.output(i, j), t = example.target(i, j);
        CHECK(program->output("y").at(i * kFeatures + j) == y);  // exact: few bits
        if (i < 3) squares += (y - t) * (y - t);
      }
    check_close(program->output("cost").at(0), squares / 2, 20 * unit_roundoff(arithmetic.dtype) * squares);
    check_close(program->output("metric/0/0").at(0), squares, 20 * unit_roundoff(arithmetic.dtype) * squares);
  }
}

TEST_CASE("without cost and metrics an evaluation asks for neither targets nor weights") {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    INFO(name_of(dtype));
    Unequal example(dtype);
    const StepGraph graph =
        evaluation_graph(example.network, nullptr, {}, example.layout, kSamples, {.dtype = dtype, .batch = kBatch});
    const auto program = example.compile(graph, {.threads = 1});
    program->run(1);
    const Tensor y = program->output("y");
    CHECK(y.dtype() == (dtype == DType::f64 ? DType::f64 : DType::f32));
    // Numbers from -2 to 2 are rounded to the net's type.
    for (int64_t i = 0; i < kBatch * kFeatures; ++i)
      check_close(y.at(i), example.output(i / kFeatures, i % kFeatures), 2 * unit_roundoff(dtype));
  }
}

TEST_CASE("a training step sees the data as scaled and shifted") {
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(arithmetic.name);
    Unequal example(arithmetic.dtype);
    const auto cost = Registry<Cost>::get().create(yaml_of("SumSquared"));
    const StepGraph graph =
        gradient_graph(example.network, *cost, example.layout, {.dtype = arithmetic.dtype, .batch = kBatch}, false);
    const auto program = example.compile(graph, arithmetic.options);
    program->bind("targets", example.data.targets.data());
    program->run(1);
    double squares = 0;
    for (int64_t i = 0; i < kBatch; ++i)
      for (int64_t j = 0; j < kFeatures; ++j) squares += std::pow(example.output(i, j) - example.target(i, j), 2);
    check_close(program->output("cost").at(0), squares / 2 / kBatch, 20 * unit_roundoff(arithmetic.dtype) * squares);
  }
}
