// The golden nets, PyTorch's in f64, on a GPU in each type: costs, the gradient of every parameter in the first step,
// and how far each parameter has gone after the last.
//
// What rounding does to a net is not known beforehand: a relu or maximum near its bend takes the other side, and batch
// norm over four samples divides by what is hardly there. The CPU makes the same net in that type, and the GPU may be
// apart from PyTorch some times as far as it, beside what a bend or two do. TF32 is no type of the CPU's, and kernels
// cut operands, which is off to one side, or round them: of the nets in which that matters, PyTorch has carried out
// such products, too.
#include <cmath>
#include <map>

#include "tests/backends/cuda/part.h"
#include "tests/models/golden_net.h"

using namespace neon;
using namespace neon_test;

namespace {

struct Type {
  const char* name;
  DType dtype, of_cpu;
  bool tf32;
  double unit;  // half the distance of 1 to the next number, of operands
};
constexpr Type kTypes[] = {{"f32", DType::f32, DType::f32, false, 0x1p-24},
                           {"TF32", DType::f32, DType::f16, true, 0x1p-11},
                           {"f16", DType::f16, DType::f16, false, 0x1p-11},
                           {"bf16", DType::bf16, DType::bf16, false, 0x1p-8}};
constexpr double kLossScale = 1024;  // of f16
// A cost is a mean of what each layer has rounded a few times.
constexpr double kRoundingsOfCost = 4;
constexpr double kTimesAsOther = 3;

// From PyTorch: of costs, relative; of arrays, |got - expected| over |expected|, as vectors.
struct Distances {
  std::vector<double> costs;
  std::map<std::string, double> gradients, ways;
};

// Of the arrays less `start`; of {shape, every: n, values} every nth element counts.
double apart(const Tensor& got, const Setting& expected, const Tensor* start = nullptr) {
  const std::vector<double> want = numbers(at(expected, "values"));
  const int64_t every = expected.find("every") ? int64_t(number_of(at(expected, "every"))) : 1;
  REQUIRE(int64_t(want.size()) == (got.elements() + every - 1) / every);
  double error = 0, size = 0;
  for (int64_t i = 0; i < got.elements(); i += every) {
    const double x = want[size_t(i / every)];
    error += std::pow(got.at(i) - x, 2);
    size += std::pow(x - (start ? start->at(i) : 0), 2);
  }
  return error == 0 ? 0 : std::sqrt(error / size);
}

void first_step(Distances& out, const GoldenNet& example, const DeviceOptions& device) {
  const StepGraph graph = gradient_graph(example.network, *example.cost, example.data.layout(), example.options, true);
  Variables variables;
  const auto program = compile_program(graph.graph, variables, device);
  example.start(variables);
  variables.to_device();
  const auto samples = example.samples(0);
  program->bind("data", example.data.inputs.data());
  program->bind("targets", example.data.targets.data());
  program->bind("indices", samples.data());
  program->set_scalar(kStreamStart, 1);
  program->run(1);
  for (const auto& entry : at(example.setting, "gradients").entries)
    out.gradients[entry.key] = apart(program->output("grad/" + entry.key), entry.value);
}

void all_steps(Distances& out, const GoldenNet& example, const DeviceOptions& device) {
  TrainingRun run(example.network, *example.cost, *example.optimizer, example.data, example.options, device);
  if (example.options.dtype == DType::f16) run.loss_scale = kLossScale;
  example.start(run.variables);
  run.variables.to_device();
  for (double expected : numbers(at(example.setting, "costs"))) {
    const auto step = int64_t(out.costs.size());
    run.streams_begin = example.streams_begin(step);
    const double cost = run.step(example.samples(step), {});
    out.costs.push_back(std::fabs(cost / expected - 1));
    CHECK(run.finite());
  }
  run.variables.to_host();
  for (const auto& entry : at(example.setting, "after").entries) {
    const Tensor start = tensor_of(at(at(example.setting, "parameters"), entry.key), DType::f64);
    out.ways[entry.key] = apart(run.variables.at(entry.key), entry.value, &start);
  }
}

Distances distances(const Setting& net, DType dtype, const DeviceOptions& device) {
  const GoldenNet example(net, dtype);
  Distances out;
  first_step(out, example, device);
  all_steps(out, example, device);
  return out;
}

// What the type does to the net, by another device.
Distances expected_distances(const Setting& net, const Type& type) {
  const Setting* tf32 = net.find("tf32");
  if (!type.tf32 || !tf32) return distances(net, type.of_cpu, {.program = {.threads = 1}});
  Distances out;
  for (const auto& entry : at(*tf32, "gradients").entries) out.gradients[entry.key] = number_of(entry.value);
  for (const auto& entry : at(*tf32, "ways").entries) out.ways[entry.key] = number_of(entry.value);
  return out;
}

void check(const std::map<std::string, double>& gpu, const std::map<std::string, double>& other, double allowed) {
  for (const auto& [name, off] : gpu) {
    INFO(name << ", the other device is off by " << other.at(name));
    CHECK(off <= allowed + kTimesAsOther * other.at(name));
  }
}

}  // namespace

TEST_CASE("the golden nets train on a GPU in every type as in PyTorch in f64", "[parts]") {
  const Setting net = GENERATE(from_range(neon::test::part_of(golden_nets())));
  const Setting* title = net.find("title");
  const double layers = GoldenNet(net, DType::f32).layers();
  for (const Type& type : kTypes) {
    INFO((title ? title->value : at(net, "layers").to_string()) << ", " << type.name);
    const Distances other = expected_distances(net, type);
    const Distances gpu = distances(net, type.dtype, {.gpu = true, .tf32 = type.tf32});
    for (double off : gpu.costs) CHECK(off <= kRoundingsOfCost * layers * type.unit);
    // Of the units of a layer so large a share lies so near to its bend that rounding turns it.
    const double bends = std::sqrt(layers * type.unit);
    check(gpu.gradients, other.gradients, 2 * bends);
    check(gpu.ways, other.ways, 4 * bends);  // later steps begin from weights that are apart already
  }
}
