// Nets against PyTorch (of three layers, and with branches) and NumPy (of images): the cost and every gradient of the
// first step, the costs of some steps of training, the weights after them.
#include "tests/support/net.h"

#include <catch2/catch.hpp>

#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;

namespace {

// Of each layer: a step passes a product of up to 400 terms, two statistics and their gradients, of convolutions sums
// over all pixels; ten steps pass errors on.
constexpr double kRoundings = 50, kRoundingsOfTraining = 250;

std::vector<Setting> nets() {
  std::vector<Setting> all = golden("models/golden/mlp.json").items;
  for (const char* file : {"models/golden/images.json", "models/golden/nets.json"})
    for (Setting& one : golden(file).items) all.push_back(std::move(one));
  return all;
}

struct GoldenNet {
  GoldenNet(const Setting& setting, const Arithmetic& arithmetic)
      : setting(setting),
        network(network_of(object_of(at(setting, "layers")))),
        cost(Registry<Cost>::get().create(object_of(at(setting, "cost")))),
        optimizer(Registry<Optimizer>::get().create(object_of(at(setting, "optimizer")))) {
    data.inputs = tensor_of(at(setting, "data"), arithmetic.dtype);
    const Tensor labels = tensor_of(at(setting, "labels"), DType::i32);
    data.targets = labels.reshaped({labels.shape()[0], 1});
    data.classes = 4;
    options.dtype = arithmetic.dtype;
    options.batch = int64_t(number_of(at(setting, "batch")));
  }
  void start(Variables& variables) const {
    for (const auto& entry : at(setting, "parameters").entries) {
      Tensor& to = variables.at(entry.key);
      const Tensor from = tensor_of(entry.value, to.dtype());
      REQUIRE(from.shape() == to.shape());
      std::memcpy(to.data(), from.data(), to.bytes());
    }
  }
  double layers() const { return double(std::max<int64_t>(network.layer_count(), 4)); }
  // The samples of a step, from the first on, around the end.
  std::vector<int32_t> samples(int64_t step) const {
    std::vector<int32_t> out;
    for (int64_t i = 0; i < options.batch; ++i)
      out.push_back(int32_t((options.batch * step + i) % data.inputs.shape()[0]));
    return out;
  }
  Setting setting;
  Network network;
  std::unique_ptr<Cost> cost;
  std::unique_ptr<Optimizer> optimizer;
  NetData data;
  StepOptions options;
};

}  // namespace

TEST_CASE("the first step's cost and gradients are those of the golden file") {
  const Setting net = GENERATE(from_range(nets()));
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(at(net, "layers").to_string() << ", " << arithmetic.name);
    const GoldenNet example(net, arithmetic);
    const StepGraph graph =
        gradient_graph(example.network, *example.cost, example.data.layout(), example.options, true);
    Variables variables;
    const auto program = compile_for_cpu(graph.graph, variables, arithmetic.options);
    example.start(variables);
    const auto samples = example.samples(0);
    program->bind("data", example.data.inputs.data());
    program->bind("targets", example.data.targets.data());
    program->bind("indices", samples.data());
    program->run(1);
    const double u = unit_roundoff(arithmetic.dtype);
    check_close(program->output("cost").at(0), numbers(at(example.setting, "costs"))[0],
                kRoundings * example.layers() * u);
    const auto& gradients = at(example.setting, "gradients").entries;
    CHECK(graph.parameters.size() == gradients.size());
    for (const auto& entry : gradients) {
      INFO(entry.key);
      check_close(program->output("grad/" + entry.key), entry.value, kRoundings * example.layers());
    }
  }
}

TEST_CASE("steps of training go the golden file's way") {
  const Setting net = GENERATE(from_range(nets()));
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(at(net, "layers").to_string() << ", " << arithmetic.name);
    const GoldenNet example(net, arithmetic);
    TrainingRun run(example.network, *example.cost, *example.optimizer, example.data, example.options,
                    arithmetic.options);
    example.start(run.variables);
    const std::vector<double> costs = numbers(at(example.setting, "costs"));
    const double allowed = kRoundingsOfTraining * example.layers() * unit_roundoff(arithmetic.dtype);
    for (size_t step = 0; step < costs.size(); ++step) {
      INFO("step " << step);
      check_close(run.step(example.samples(int64_t(step)), {}), costs[step], allowed);
      CHECK(run.finite());
    }
    for (const auto& entry : at(example.setting, "after").entries) {
      INFO(entry.key);
      check_close(run.variables.at(entry.key), entry.value, kRoundingsOfTraining * example.layers(), 1);
    }
  }
}
