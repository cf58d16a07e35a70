// What is said about optimizers and schedules that are written wrong.
#include <catch2/catch.hpp>

#include "optimizers/optimizer.h"
#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

namespace {

std::string rule(const std::string& yaml) { return complaint<Optimizer>(yaml); }
std::string schedule(const std::string& yaml) { return complaint<Schedule>(yaml); }

}  // namespace

TEST_CASE("neon 1.x's stochastic_round may be off, and says where it is set today") {
  CHECK(rule("Adam: {stochastic_round: False}") == "");
  CHECK(
      rule("Adam: {stochastic_round: True}") ==
      "spec.yaml:1:26: Adam.stochastic_round: expected false, found 'True'; updates of the whole run are rounded with "
      "-u BITS");
}

TEST_CASE("a wrong optimizer is one line with value, bound and nearest name") {
  CHECK_THAT(rule("Adma"), Contains("unknown optimizer 'Adma'; did you mean Adam"));
  CHECK_THAT(rule("GradientDescentMomentum"), Contains("'learning_rate' is missing: Size of a step."));
  CHECK(rule("SGD: {learning_rate: -1}") == "spec.yaml:1:22: SGD.learning_rate: -1 is not at least 0");
  CHECK(rule("SGD: {learning_rate: 0.1, momentum: 1}") == "spec.yaml:1:37: SGD.momentum: 1 is not in [0, 1)");
  CHECK(rule("SGD: {learning_rate: 0.1, wdecay: -1}") == "spec.yaml:1:35: SGD.wdecay: -1 is not at least 0");
  CHECK(rule("SGD: {learning_rate: 0.1, nesterov: true}") ==
        "spec.yaml:1:6: SGD: nesterov needs momentum_coef above 0, found 0");
  CHECK(rule("RMSProp: {decay_rate: 1}") == "spec.yaml:1:23: RMSProp.decay_rate: 1 is not in [0, 1)");
  CHECK(rule("RMSProp: {epsilon: 0}") == "spec.yaml:1:20: RMSProp.epsilon: 0 is not above 0");
  CHECK(rule("Adagrad: {epsilon: 0}") == "spec.yaml:1:20: Adagrad.epsilon: 0 is not above 0");
  CHECK(rule("Adadelta: {decay: 2}") == "spec.yaml:1:19: Adadelta.decay: 2 is not in [0, 1)");
  CHECK(rule("Adam: {beta_2: 1}") == "spec.yaml:1:16: Adam.beta_2: 1 is not in [0, 1)");
  CHECK(rule("AdamW: {wdecay: -1}") == "spec.yaml:1:17: AdamW.wdecay: -1 is not at least 0");
  CHECK(rule("ShiftAdaMax: {beta_1: -1}") == "spec.yaml:1:23: ShiftAdaMax.beta_1: -1 is not in [0, 1)");
}

TEST_CASE("parameters that all optimizers share are checked, and known to spelling") {
  CHECK(rule("Adam: {gradient_clip_norm: -1}") == "spec.yaml:1:28: Adam.gradient_clip_norm: -1 is not at least 0");
  CHECK(rule("Adam: {gradient_clip_value: x}") ==
        "spec.yaml:1:29: Adam.gradient_clip_value: expected a finite number, found 'x'");
  CHECK(rule("Adam: {param_clip_value: -1}") == "spec.yaml:1:26: Adam.param_clip_value: -1 is not at least 0");
  CHECK_THAT(rule("Adam: {gradient_clip_nrom: 1}"), Contains("did you mean gradient_clip_norm"));
  CHECK_THAT(rule("Adam: {schedule: Cosin}"),
             Contains("spec.yaml:1:18: Adam.schedule: unknown schedule 'Cosin'; did you mean Cosine"));
}

TEST_CASE("everything wrong with an optimizer is said at once") {
  CHECK(rule("Adam: {beta_1: 1, epsilon: 0, schedule: {Warmup: 0}}") ==
        "spec.yaml:1:16: Adam.beta_1: 1 is not in [0, 1)\n"
        "spec.yaml:1:28: Adam.epsilon: 0 is not above 0\n"
        "spec.yaml:1:50: Adam.schedule.Warmup.warmup: 0 is not above 0");
}

TEST_CASE("the optimizers of a MultiOptimizer stand under mapping, as in neon, or for themselves") {
  const auto made = [](const std::string& yaml) {
    const auto optimizer = Registry<Optimizer>::get().create(yaml_of(yaml));
    return text(optimizer->serving("Affine_0", "Linear").learning_rate(), " ",
                optimizer->serving("Affine_0_bias", "Bias").learning_rate());
  };
  const std::string two = "{default: {Adam: {learning_rate: 0.25}}, Bias: {Adam: {learning_rate: 0.5}}}";
  CHECK(made("MultiOptimizer: " + two) == "0.25 0.5");
  CHECK(made("MultiOptimizer: {mapping: " + two + "}") == "0.25 0.5");
  CHECK(made("MultiOptimizer: {optimizer_mapping: " + two + "}") == "0.25 0.5");
  CHECK(made("MultiOptimizer: {default: {SGD: {learning_rate: 1}}, mapping: {Bias: Adagrad}}") == "1 0.01");
  CHECK_THAT(rule("MultiOptimizer: {Bias: Adam, mapping: {default: Adam, Bias: SGD}}"),
             Contains("'Bias' is given twice: in 'mapping' and beside it"));
  CHECK_THAT(rule("MultiOptimizer: {mapping: Adam}"), Contains("MultiOptimizer.mapping: expected a map, found 'Adam'"));
  CHECK_THAT(rule("MultiOptimizer"), Contains("'mapping' is missing"));
}

TEST_CASE("a MultiOptimizer shows no parameter that it does not take") {
  for (const auto& entry : Registry<Optimizer>::get().entries())
    CHECK((entry->common == nullptr) == (entry->name == "MultiOptimizer"));
}

TEST_CASE("a MultiOptimizer needs a default and whole optimizers, and has no clipping of its own") {
  CHECK_THAT(rule("MultiOptimizer: {Bias: Adam}"), Contains("'default' is missing"));
  CHECK_THAT(rule("MultiOptimizer: {default: Adam, Bias: }"), Contains("'Bias' has no optimizer"));
  CHECK_THAT(rule("MultiOptimizer: {default: }"), Contains("'default' has no optimizer"));
  CHECK_THAT(rule("MultiOptimizer: {default: Adam, Bias: {Adam: {beta_1: 1}}}"),
             Contains("Bias.Adam.beta_1: 1 is not in [0, 1)"));
  CHECK_THAT(rule("MultiOptimizer: {default: Adam, gradient_clip_norm: 5}"),
             Contains("'gradient_clip_norm' does nothing here; give it to the optimizers listed"));
  CHECK_THAT(rule("MultiOptimizer: {default: Adam, schedule: Cosine}"), Contains("'schedule' does nothing here"));
}

TEST_CASE("a wrong schedule is one line with value, bound and nearest name") {
  CHECK_THAT(schedule("StepShedule"), Contains("unknown schedule 'StepShedule'; did you mean StepSchedule"));
  CHECK_THAT(schedule("StepSchedule: {step_config: [1, 2], change: [0.1]}"),
             Contains("step_config lists 2 epochs, change 1 rates"));
  CHECK_THAT(schedule("StepSchedule: {step_config: [2, 1], change: [0.1, 0.2]}"),
             Contains("step_config must increase, but 2 stands before 1"));
  CHECK_THAT(schedule("StepSchedule: {step_config: [1], change: [0]}"), Contains("0 is not above 0"));
  CHECK_THAT(schedule("PowerSchedule: {step_config: 0, change: 0.5}"),
             Contains("PowerSchedule.step_config: 0 is not at least 1"));
  CHECK_THAT(schedule("ExpSchedule"), Contains("'decay' is missing"));
  CHECK_THAT(schedule("PolySchedule: {power: 0}"), Contains("PolySchedule.power: 0 is not above 0"));
  CHECK_THAT(schedule("ShiftSchedule: {interval: 1.5}"),
             Contains("ShiftSchedule.interval: expected an integer, found '1.5'"));
  CHECK_THAT(schedule("Cosine: {floor: 1}"), Contains("Cosine.floor: 1 is not in [0, 1)"));
  CHECK_THAT(schedule("Warmup: {warmup: 1, then: Stepp}"), Contains("Warmup.then: unknown schedule 'Stepp'"));
}

TEST_CASE("the four forms of Schedule are told apart, and mixtures are refused") {
  CHECK(schedule("Schedule: {step_config: 0}") == "spec.yaml:1:25: Schedule.step_config: 0 is not at least 1");
  CHECK_THAT(schedule("Schedule: {step_config: [1, -2]}"), Contains("-2 is not at least 0"));
  CHECK(schedule("Schedule: {step_config: 2, change: [0.1, 0.2]}") ==
        "spec.yaml:1:11: Schedule: change lists rates, and step_config is a number; list the epochs, or give a factor");
  CHECK_THAT(schedule("Schedule: {step_config: [1, 2, 3], change: [0.1, 0.2]}"),
             Contains("change lists 2 rates, step_config 3 epochs"));
  CHECK_THAT(schedule("Schedule: {change: 0.1}"), Contains("change is given, but not when: step_config is missing"));
  CHECK_THAT(schedule("Schedule: {step_config: [1], change: []}"),
             Contains("change: is an empty list; give a factor or rates"));
  CHECK_THAT(schedule("Schedule: {step_config: [3, 3], change: 0.1}"),
             Contains("step_config must increase, but 3 stands before 3"));
}
