// Every update rule over 20 steps against PyTorch or neon's formula, with clipping and schedules, run as the trainer
// runs it: on a layer with one input 2, weights W (6,1) and biases b (6), and a cost whose gradient by b is given.
#include <catch2/catch.hpp>

#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;

namespace {

// Twenty steps of about ten roundings each, that pass on with the weights.
constexpr double kRoundings = 200;

// Its gradient by y is t.
struct InnerProduct : Cost {
  const void* params_address() const override { return nullptr; }
  Expr each(Expr y, Expr t) const override { return sum(y * t, {1}); }
};

Network layer() { return network_of(yaml_of("[Linear: {nout: 6, init: {Constant: 0}}, Bias: {init: {Constant: 0}}]")); }

NetData gradient_rows(const Setting& start, DType dtype) {
  NetData out;
  out.targets = tensor_of(at(start, "gradients"), dtype);
  out.inputs = Tensor(dtype, {out.targets.shape()[0], 1});
  for (int64_t i = 0; i < out.inputs.elements(); ++i) out.inputs.set(i, 2);
  return out;
}

void set(Tensor& to, const Setting& array) {
  const Tensor values = tensor_of(array, to.dtype());
  REQUIRE(values.shape() == to.shape());
  std::memcpy(to.data(), values.data(), values.bytes());
}

void check_case(const Setting& start, const Setting& one, const Arithmetic& arithmetic) {
  const auto optimizer = Registry<Optimizer>::get().create(object_of(at(one, "optimizer")));
  const NetData data = gradient_rows(start, arithmetic.dtype);
  TrainingRun run(layer(), InnerProduct(), *optimizer, data, {.dtype = arithmetic.dtype, .batch = 1},
                  {.gpu = arithmetic.gpu, .program = arithmetic.options});
  set(run.variables.at("Linear_0/W"), at(start, "W"));
  set(run.variables.at("Bias_0/b"), at(start, "b"));
  run.variables.to_device();
  const int64_t steps = data.targets.shape()[0], steps_per_epoch = int64_t(number_of(at(start, "steps_per_epoch")));
  for (int64_t step = 0; step < steps; ++step) {
    run.step({int32_t(step)}, {step / steps_per_epoch, step, steps_per_epoch, steps / steps_per_epoch});
    if (const Setting* saved = at(one, "saved").find(std::to_string(step + 1))) {
      INFO("step " << step + 1);
      run.variables.to_host();
      check_close(run.variables.at("Linear_0/W"), at(*saved, "W"), kRoundings);
      check_close(run.variables.at("Bias_0/b"), at(*saved, "b"), kRoundings);
    }
  }
}

}  // namespace

TEST_CASE("weights after 1, 2, 10 and 20 steps are those of the golden file", "[device]") {
  const Setting cases = golden("optimizers/golden/rules.json");
  for (const Arithmetic& arithmetic : arithmetics())
    for (size_t i = 1; i < cases.items.size(); ++i) {
      INFO(at(cases.items[i], "optimizer").to_string() << ", " << arithmetic.name);
      check_case(cases.items[0], cases.items[i], arithmetic);
    }
}

TEST_CASE("every optimizer has a golden case, and reads back as written") {
  const Setting cases = golden("optimizers/golden/rules.json");
  CHECK(uncovered("optimizer", cases, "optimizer") == std::vector<std::string>{});
  for (size_t i = 1; i < cases.items.size(); ++i) {
    const auto [first, second] = round_trip<Optimizer>(object_of(at(cases.items[i], "optimizer")));
    CHECK(first == second);
  }
}

TEST_CASE("a gradient that is not finite leaves weights and state as they are") {
  const auto optimizer = Registry<Optimizer>::get().create(yaml_of("Adam"));
  NetData data = gradient_rows(golden("optimizers/golden/rules.json").items[0], DType::f32);
  TrainingRun run(layer(), InnerProduct(), *optimizer, data, {.batch = 1});
  run.step({0}, {});
  CHECK(run.finite());
  std::map<std::string, Tensor> before;
  for (const auto& [name, tensor] : run.variables.all()) before[name] = tensor.clone();
  CHECK(before.size() == 6);  // two parameters, and for each a mean and a square
  data.targets.set(6 * 1 + 3, HUGE_VAL);
  run.step({1}, {});
  CHECK(!run.finite());
  for (const auto& [name, tensor] : run.variables.all()) {
    INFO(name);
    CHECK(std::memcmp(tensor.data(), before.at(name).data(), tensor.bytes()) == 0);
  }
}
