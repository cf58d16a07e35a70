// Whole nets: a training on the GPU in f32 is that of the CPU in f64, loss by loss and gradient by gradient; and two
// trainings on the GPU are one.
#include "tests/backends/nets.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/backends/kept_casts.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr int kSteps = 20;
constexpr int64_t kSamples = 500;
// A sum of L terms in f32 errs by about sqrt(L) * 2^-24 of itself: with the longest, of 128 * 784 terms, 2e-5; a loss
// is a mean, whose errors cancel. What is wrong in a kernel moves a gradient by all of it, the loss by what a step
// does.
constexpr double kGradientTolerance = 1e-4, kLossTolerance = 1e-5;
// A relu or a maximum at its bend may take the other side by such an error, and moves a gradient by one sample's share:
// seldom, and by a pixel of some thousands.
constexpr double kBentTolerance = 1e-2;
constexpr int kBentSteps = 2;

// A net's programs on one device, with variables of their own.
struct Training {
  Training(const Net& net, const DeviceOptions& device)
      : net(net),
        step(net.compile(variables, device)),
        gradients(compile_program(net.gradients.graph, variables, device)) {
    for (const auto& [name, data] : net.inputs) gradients->bind(name, data.data());
    gradients->set_scalar("loss_scale", 1);
  }
  // Another batch each step.
  void take_batch(int number) {
    const int64_t batch = net.inputs.at("indices").elements();
    indices = Tensor(DType::i32, {batch});
    for (int64_t i = 0; i < batch; ++i) indices.set(i, double((i * 37 + number * 11) % kSamples));
    for (Program* program : {step.get(), gradients.get()}) program->bind("indices", indices.data());
  }
  void take_variables(Training& other) {
    other.variables.to_host();
    for (const auto& [name, tensor] : other.variables.all()) variables.at(name).copy_from(tensor);
    variables.to_device();
  }

  const Net& net;
  Variables variables;
  std::unique_ptr<Program> step, gradients;
  Tensor indices;
};

// |a - b| over |b|, as vectors
double distance(const Tensor& a, const Tensor& b) {
  double apart = 0, size = 0;
  for (int64_t i = 0; i < b.elements(); ++i) {
    apart += std::pow(a.at(i) - b.at(i), 2);
    size += std::pow(b.at(i), 2);
  }
  return std::sqrt(apart / size);
}

struct NetCase {
  const char* name;
  Net (*make)(DType dtype);
};

const NetCase kNets[] = {
    {"784-100-10, relu", [](DType dtype) { return mnist_small(dtype); }},
    {"40-30-20-10, batch norm, tanh, dropout", [](DType dtype) { return three_layers(dtype); }},
    {"40-30-20-10, learned and drawn slopes", [](DType dtype) { return slopes(dtype); }},
    {"convolutions, pooling, batch norm", [](DType dtype) { return images(dtype, 3); }},
    {"modules of branches", [](DType dtype) { return modules(dtype); }},
};

}  // namespace

TEST_CASE("whole nets train on the GPU in f32 as on the CPU in f64: every loss and every gradient") {
  for (const NetCase& c : kNets) {
    INFO(c.name);
    const Net narrow = c.make(DType::f32), wide = c.make(DType::f64);
    Training gpu(narrow, {.gpu = true}), cpu(wide, {}), follower(wide, {});
    cpu.take_variables(gpu);
    std::map<std::string, Tensor> untrained;
    for (const Parameter& p : narrow.step.parameters) untrained[p.name] = cpu.variables.at(p.name).clone();
    std::map<std::string, int> apart;  // steps in which the gradient of a parameter is another
    for (int number = 0; number < kSteps; ++number) {
      INFO("step " << number);
      follower.take_variables(gpu);  // gradients of the same weights
      for (Training* training : {&gpu, &cpu, &follower}) training->take_batch(number);
      for (Training* training : {&gpu, &follower}) training->gradients->run(uint64_t(number));
      int compared = 0;
      for (const auto& [name, value] : narrow.gradients.graph.outputs()) {
        if (!name.starts_with("grad/")) continue;
        INFO(name);
        const double off = distance(gpu.gradients->output(name), follower.gradients->output(name));
        CHECK(off < kBentTolerance);
        apart[name] += off >= kGradientTolerance;
        ++compared;
      }
      CHECK(compared == int(narrow.step.parameters.size()));
      for (Training* training : {&gpu, &cpu}) training->step->run(uint64_t(number));
      const double cost = cpu.step->recorded("cost");
      CHECK(gpu.step->recorded("cost") == Approx(cost).epsilon(kLossTolerance));
    }
    for (const auto& [name, steps] : apart) {
      INFO(name);
      CHECK(steps <= kBentSteps);
    }
    for (const auto& [name, tensor] : untrained) {
      INFO(name);
      CHECK(distance(tensor, cpu.variables.at(name)) > 100 * kLossTolerance);  // it was trained
    }
  }
}

TEST_CASE("one broken weight is noticed on the GPU, whatever relu a library puts behind it") {
  for (const NetCase& c : kNets)
    for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const Net net = c.make(dtype);
      for (const Parameter& p : net.step.parameters) {
        INFO(c.name << " in " << std::string(name_of(dtype)) << ", " << p.name);
        Variables variables;
        const auto program = net.compile(variables, DeviceOptions{.gpu = true});
        variables.to_host();
        variables.at(p.name).set(0, std::numeric_limits<double>::quiet_NaN());
        variables.to_device();
        program->run(0);
        CHECK(program->recorded("finite") == 0);
      }
    }
}

TEST_CASE("two trainings on the GPU have the same bits") {
  for (const NetCase& c : kNets)
    for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      const Net net = c.make(dtype);
      Training once(net, {.gpu = true}), again(net, {.gpu = true});
      for (Training* training : {&once, &again})
        for (int number = 0; number < kSteps; ++number) {
          training->take_batch(number);
          training->step->run(uint64_t(number));
        }
      for (int back = 0; back < std::min(kSteps, once.step->depth("cost")); ++back)
        CHECK(once.step->recorded("cost", 0, back) == again.step->recorded("cost", 0, back));
      for (Training* training : {&once, &again}) training->variables.to_host();
      for (const auto& [name, tensor] : once.variables.all()) {
        INFO(name);
        CHECK(std::memcmp(tensor.data(), again.variables.at(name).data(), tensor.bytes()) == 0);
      }
    }
}

TEST_CASE(
    "a training on the GPU that keeps its weights in 16 bits has the bits of one that casts them before every step") {
  const auto two_convolutions = [](DType dtype, int64_t batch) { return images(dtype, 3, batch); };
  for (const DType dtype : {DType::bf16, DType::f16}) {
    INFO(std::string(name_of(dtype)));
    CHECK(kept_difference(three_layers, dtype, {.gpu = true}) == "");
    CHECK(kept_difference(two_convolutions, dtype, {.gpu = true}) == "");
    CHECK(kept_difference(modules, dtype, {.gpu = true}) == "");
  }
}
