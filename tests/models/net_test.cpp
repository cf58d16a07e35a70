// Nets against PyTorch (of three layers, with branches, of sequences) and NumPy (of images): outputs, the cost and
// every gradient of the first step, the costs of some steps of training, the weights after them.
#include "tests/models/golden_net.h"

using namespace neon;
using namespace neon_test;

namespace {

// Of each layer: a step passes a product of up to 400 terms, two statistics and their gradients, of convolutions sums
// over all pixels; ten steps pass errors on.
constexpr double kRoundings = 50, kRoundingsOfTraining = 250;

}  // namespace

TEST_CASE("the first step's cost and gradients are those of the golden file") {
  const Setting net = GENERATE(from_range(golden_nets()));
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(at(net, "layers").to_string() << ", " << arithmetic.name);
    const GoldenNet example(net, arithmetic.dtype);
    const StepGraph graph =
        gradient_graph(example.network, *example.cost, example.data.layout(), example.options, true);
    Variables variables;
    const auto program = compile_for_cpu(graph.graph, variables, arithmetic.options);
    example.start(variables);
    const auto samples = example.samples(0);
    program->bind("data", example.data.inputs.data());
    program->bind("targets", example.data.targets.data());
    program->bind("indices", samples.data());
    program->set_scalar(kStreamStart, 1);
    program->run(1);
    const double u = unit_roundoff(arithmetic.dtype);
    const double cost = numbers(at(example.setting, "costs"))[0];
    check_close(program->output("cost").at(0), cost, kRoundings * example.layers() * u * std::max(1.0, cost));
    const auto& gradients = at(example.setting, "gradients").entries;
    CHECK(graph.parameters.size() == gradients.size());
    for (const auto& entry : gradients) {
      INFO(entry.key);
      check_close(program->output("grad/" + entry.key), entry.value, kRoundings * example.layers());
    }
  }
}

TEST_CASE("a first evaluation gives the golden file's outputs") {
  int64_t seen = 0;
  for (const Setting& net : golden_nets())
    for (const Arithmetic& arithmetic : arithmetics()) {
      const Setting* outputs = net.find("outputs");
      if (!outputs) continue;  // NumPy's files have none
      INFO(at(net, "layers").to_string() << ", " << arithmetic.name);
      const GoldenNet example(net, arithmetic.dtype);
      const StepGraph graph = evaluation_graph(example.network, nullptr, {}, example.data.layout(),
                                               example.data.inputs.shape()[0], example.options);
      Variables variables;
      const auto program = compile_for_cpu(graph.graph, variables, arithmetic.options);
      example.start(variables, true);
      for (const LayerState& state : graph.states)
        for (int64_t i = 0; i < state.shape.elements(); ++i) variables.at(state.name).set(i, state.fill);
      const auto samples = example.samples(0);
      program->bind("data", example.data.inputs.data());
      program->bind("indices", samples.data());
      program->run(0);
      check_close(program->output("y"), *outputs, kRoundingsOfTraining * example.layers());
      ++seen;
    }
  CHECK(seen >= 15 * int64_t(arithmetics().size()));
}

TEST_CASE("steps of training go the golden file's way") {
  const Setting net = GENERATE(from_range(golden_nets()));
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(at(net, "layers").to_string() << ", " << arithmetic.name);
    const GoldenNet example(net, arithmetic.dtype);
    TrainingRun run(example.network, *example.cost, *example.optimizer, example.data, example.options,
                    {.program = arithmetic.options});
    example.start(run.variables);
    const std::vector<double> costs = numbers(at(example.setting, "costs"));
    const double allowed = kRoundingsOfTraining * example.layers() * unit_roundoff(arithmetic.dtype);
    for (size_t step = 0; step < costs.size(); ++step) {
      INFO("step " << step);
      run.streams_begin = example.streams_begin(int64_t(step));
      check_close(run.step(example.samples(int64_t(step)), {}), costs[step], allowed);
      CHECK(run.finite());
    }
    for (const auto& entry : at(example.setting, "after").entries) {
      INFO(entry.key);
      check_close(run.variables.at(entry.key), entry.value, kRoundingsOfTraining * example.layers(), 1);
    }
  }
}
