#include "tests/backends/kept_casts.h"

#include <cmath>
#include <cstring>

namespace neon::test {

namespace {

constexpr int kRuns = 12, kNotFinite = 4, kSetByHost = 8;
constexpr int64_t kBatch = 32, kShortBatch = 12;

// A net's programs as a run has them: of a whole batch, of the short last one, and of the cost of one batch.
struct Training {
  Training(const Net& whole_net, const Net& short_net, const DeviceOptions& options)
      : whole(whole_net.compile(variables, options)), ragged(short_net.compile(variables, options)) {
    cost = compile_program(whole_net.gradients.graph, variables, options);
    for (const auto& [name, data] : whole_net.inputs) cost->bind(name, data.data());
    cost->set_scalar("loss_scale", 1);
  }
  // As if the host had written the weights that are there.
  void cast_anew() {
    variables.to_host();
    variables.to_device();
  }
  // Costs of the step, and of a batch after it: with weights that are new to the program, and again with what it kept.
  struct Costs {
    double of_step, after, again;
    bool operator==(const Costs&) const = default;
  };
  Costs step(int number) {
    Program& program = number % 3 == 2 ? *ragged : *whole;
    program.set_scalar("loss_scale", number == kNotFinite ? HUGE_VAL : 8);
    program.run(uint64_t(number));
    Costs out{program.recorded("cost"), 0, 0};
    program.go_on();
    for (double* of_batch : {&out.after, &out.again}) {
      cost->run(0);
      *of_batch = cost->recorded("cost");
    }
    return out;
  }
  void halve(const std::string& name) {
    variables.to_host();
    Tensor& weights = variables.at(name);
    for (int64_t i = 0; i < weights.elements(); ++i) weights.set(i, weights.at(i) / 2);
    variables.to_device();
  }
  Variables variables;
  std::unique_ptr<Program> whole, ragged, cost;
};

}  // namespace

std::string kept_difference(Net (*make)(DType dtype, int64_t batch), DType dtype, const DeviceOptions& options) {
  const Net whole = make(dtype, kBatch), ragged = make(dtype, kShortBatch);
  Training kept(whole, ragged, options), cast(whole, ragged, options);
  double last_cost = NAN;
  for (int number = 0; number < kRuns; ++number) {
    if (number == kSetByHost)
      for (Training* training : {&kept, &cast}) training->halve(whole.step.parameters[0].name);
    const auto a = kept.step(number);
    cast.cast_anew();
    const auto b = cast.step(number);
    if (a != b || a.after != a.again)
      return text("step ", number, ": costs ", a.of_step, ", ", a.after, ", ", a.again, ", with casts ", b.of_step,
                  ", ", b.after, ", ", b.again);
    if ((a.after == last_cost) != (number == kNotFinite)) return text("step ", number, ": the cost is ", a.after);
    last_cost = a.after;
  }
  for (Training* training : {&kept, &cast}) training->variables.to_host();
  for (const auto& [name, tensor] : kept.variables.all())
    if (std::memcmp(tensor.data(), cast.variables.at(name).data(), tensor.bytes()) != 0) return name;
  return "";
}

}  // namespace neon::test
