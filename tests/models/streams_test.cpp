// Samples that are pieces of streams: a net that carries its state computes over pieces what it computes over the
// whole.
#include <catch2/catch.hpp>

#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr int64_t kTokens = 5, kStreams = 3, kSteps = 12;

// kStreams streams of kSteps tokens and targets, in pieces of so many steps: sample s * pieces + j is piece j of stream
// s.
struct Streams {
  explicit Streams(int64_t steps) : pieces(kSteps / steps) {
    data.inputs = Tensor(DType::i32, {kStreams * pieces, steps});
    data.targets = Tensor(DType::i32, {kStreams * pieces, steps});
    data.classes = kTokens;
    Stream stream(3, "tokens");
    for (int64_t i = 0; i < kStreams * kSteps; ++i) {
      data.inputs.set(i, double(stream.below(kTokens)));
      data.targets.set(i, i % 7 == 3 ? -1 : double(stream.below(kTokens)));
    }
    layout = data.layout();
    layout.sequence = layout.streams = true;
    layout.tokens = kTokens;
    layout.label_of = LabelOf::step;
  }
  // The samples of batch j.
  std::vector<int32_t> batch(int64_t j) const {
    std::vector<int32_t> out;
    for (int64_t s = 0; s < kStreams; ++s) out.push_back(int32_t(s * pieces + j));
    return out;
  }
  const int64_t pieces;
  NetData data;
  DataLayout layout;
};

std::string net(const std::string& cell) {
  return "[{" + cell +
         ": {output_size: 4, init: {Uniform: {low: -1, high: 1}}}}, {Affine: {nout: 5, init: {Uniform: "
         "{low: -1, high: 1}}, activation: Softmax}}]";
}

// Weights of their own for each name, the same in all graphs.
void fill(Variables& variables) {
  for (const auto& [name, tensor] : variables.all()) {
    if (belongs_to_evaluation(name) || belongs_to_step(name)) continue;
    Stream stream(11, name);
    for (int64_t i = 0; i < tensor.elements(); ++i) variables.at(name).set(i, double(stream.below(64)) / 32 - 1);
  }
}

struct Sums {
  double cost = 0, count = 0, wrong = 0;
};

Sums evaluated(const std::string& cell, int64_t steps, DType dtype) {
  const Streams streams(steps);
  const Network network = network_of(yaml_of(net(cell)));
  const auto cost = Registry<Cost>::get().create(yaml_of("CrossEntropyMulti"));
  const auto metric = Registry<Metric>::get().create(yaml_of("Misclassification"));
  const StepGraph graph =
      evaluation_graph(network, cost.get(), {metric.get()}, streams.layout, kStreams * streams.pieces,
                       {.dtype = dtype, .batch = kStreams, .carried_prefix = evaluation_prefix("test")});
  Variables variables;
  const auto program = compile_for_cpu(graph.graph, variables, {.threads = 1});
  fill(variables);
  Tensor weight(dtype == DType::f64 ? DType::f64 : DType::f32, {kStreams, 1});
  for (int64_t i = 0; i < kStreams; ++i) weight.set(i, 1);
  program->bind("data", streams.data.inputs.data());
  program->bind("targets", streams.data.targets.data());
  program->bind("weight", weight.data());
  Sums out;
  for (int pass = 0; pass < 2; ++pass) {  // the second begins anew
    out = {};
    for (int64_t j = 0; j < streams.pieces; ++j) {
      const std::vector<int32_t> indices = streams.batch(j);
      program->bind("indices", indices.data());
      program->set_scalar(kStreamStart, j == 0 ? 1 : 0);
      program->run(0);
      out.cost += program->output("cost").at(0);
      out.count += program->output("count").at(0);
      out.wrong += program->output("metric/0/0").at(0);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("pieces with a carried state give what the whole gives; steps without a target count nowhere") {
  for (const char* cell : {"Recurrent", "LSTM", "GRU"})
    for (const DType dtype : {DType::f64, DType::f32}) {
      INFO(cell << " " << name_of(dtype));
      const Sums whole = evaluated(cell, kSteps, dtype);
      int64_t targets = 0;
      for (int64_t i = 0; i < kStreams * kSteps; ++i) targets += i % 7 != 3;
      CHECK(whole.count == double(targets));
      for (const int64_t steps : {1, 3, 6}) {
        const Sums pieces = evaluated(cell, steps, dtype);
        CHECK(pieces.count == whole.count);
        CHECK(pieces.wrong == whole.wrong);
        check_close(pieces.cost, whole.cost, 40 * unit_roundoff(dtype) * whole.cost);
      }
    }
}

// The state of a training step is that which the step before left, with its weights: of a rate of 0 here.
TEST_CASE("training carries the state from step to step, and streams begin at 0") {
  const Streams streams(3), whole(kSteps);
  const Network network = network_of(yaml_of(net("LSTM")));
  const auto cost = Registry<Cost>::get().create(yaml_of("CrossEntropyMulti"));
  const auto optimizer = Registry<Optimizer>::get().create(yaml_of("GradientDescentMomentum: {learning_rate: 0}"));
  const auto graph_of = [&](const Streams& of) {
    return training_graph(network, *cost, *optimizer, of.layout, {.dtype = DType::f64, .batch = kStreams});
  };
  const auto costs = [&](const Streams& of) {
    const StepGraph graph = graph_of(of);
    Variables variables;
    const auto program = compile_for_cpu(graph.graph, variables, {.threads = 1});
    fill(variables);
    program->bind("data", of.data.inputs.data());
    program->bind("targets", of.data.targets.data());
    program->set_scalar("rate/0", 0);
    program->set_scalar("update", 1);
    std::vector<double> out;
    for (int64_t number = 0; number < 2 * of.pieces; ++number) {
      const std::vector<int32_t> indices = of.batch(number % of.pieces);
      program->bind("indices", indices.data());
      program->set_scalar(kStreamStart, number % of.pieces == 0 ? 1 : 0);
      program->run(uint64_t(number));
      double count = 0;  // the cost is the mean over the targets
      for (const int32_t sample : indices)
        for (int64_t t = 0; t < of.data.targets.shape()[1]; ++t)
          count += of.data.targets.at(sample * of.data.targets.shape()[1] + t) >= 0;
      out.push_back(program->output("cost").at(0) * count);
    }
    return out;
  };
  const std::vector<double> pieces = costs(streams), at_once = costs(whole);
  double sum = 0;
  for (int64_t j = 0; j < streams.pieces; ++j) {
    CHECK(pieces[size_t(j)] == pieces[size_t(streams.pieces + j)]);
    sum += pieces[size_t(j)];
  }
  check_close(sum, at_once[0], 1e-13 * sum);
}

TEST_CASE("fewer samples than streams have the states of the first streams, and leave all as they are") {
  const Streams streams(3);
  const Network network = network_of(yaml_of(net("GRU")));
  const auto cost = Registry<Cost>::get().create(yaml_of("CrossEntropyMulti"));
  const auto optimizer = Registry<Optimizer>::get().create(yaml_of("GradientDescentMomentum: {learning_rate: 0}"));
  const auto cost_of = [&](int64_t batch, double state_of_last, Tensor& left) {
    const StepGraph graph = training_graph(network, *cost, *optimizer, streams.layout,
                                           {.dtype = DType::f64, .batch = batch, .streams = kStreams});
    Variables variables;
    const auto program = compile_for_cpu(graph.graph, variables, {.threads = 1});
    fill(variables);
    Tensor& state = variables.at("GRU_0/h/carried");
    REQUIRE(state.shape() == Shape{kStreams, 4});
    for (int64_t i = 0; i < state.elements(); ++i) state.set(i, i < 8 ? 0.25 * double(i) : state_of_last);
    std::vector<int32_t> indices(size_t(batch), 0);
    program->bind("data", streams.data.inputs.data());
    program->bind("targets", streams.data.targets.data());
    program->bind("indices", indices.data());
    program->set_scalar(kStreamStart, 0);
    program->set_scalar("update", 1);
    program->run(0);
    left = state.clone();
    return program->output("cost").at(0);
  };
  Tensor left, after;
  const double one = cost_of(2, 5, left), other = cost_of(2, -3, after);
  CHECK(one == other);
  CHECK((left.at(1) == 0.25 && left.at(8) == 5 && after.at(8) == -3));
  cost_of(3, 5, after);
  CHECK(after.at(1) != 0.25);
}
