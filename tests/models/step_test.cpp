// What a training step adds to an update rule: accumulated gradients, running means of weights, frozen layers, scaled
// costs and losses, optimizers by layer, gradients that are not finite, updates rounded by chance.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/models/trained_net.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

TEST_CASE("gradients accumulated over K batches update as one batch K times as large") {
  const char* optimizer = GENERATE("SGD: {learning_rate: 0.5, momentum: 0.5, wdecay: 0.125, gradient_clip_norm: 0.25}",
                                   "Adam: {learning_rate: 0.0625}", "RMSProp: {gradient_clip_value: 0.03125}");
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(optimizer << ", " << arithmetic.name);
    const NetData data = drawn_data(arithmetic.dtype);
    Trained large(optimizer, data, {.dtype = arithmetic.dtype, .batch = 12, .ema_decay = 0.5}, kLayers,
                  "CrossEntropyMulti", arithmetic.options);
    Trained small(optimizer, data, {.dtype = arithmetic.dtype, .batch = 4, .ema_decay = 0.5, .accumulate = 3}, kLayers,
                  "CrossEntropyMulti", arithmetic.options);
    const auto start = small.copy();
    for (int update = 0; update < 4; ++update) {
      const Progress at{.epoch = update / 2, .step = update, .steps_per_epoch = 2};
      const double cost = large.run.step(range(12 * update, 12), at);
      double mean = 0;
      for (int part = 0; part < 3; ++part) {
        mean += small.run.step(range(12 * update + 4 * part, 4), at, part == 2) / 3;
        if (update == 0 && part < 2) CHECK(same(small.run.variables.at("one/W"), start.at("one/W")));
      }
      const double u = unit_roundoff(arithmetic.dtype);
      check_close(mean, cost, 200 * u * (update + 1));
      // A mean of gradients of 12 samples, four updates; RMSProp and Adam divide by gradients as small as 1/50.
      for (const auto& [name, tensor] : large.run.variables.all()) {
        INFO("update " << update << ", " << name);
        CHECK(distance(tensor, small.run.variables.at(name)) < 5000 * u);
      }
      for (const Parameter& p : small.run.graph.parameters) {
        const Tensor& sum = small.run.variables.at(p.name + "/sum");
        for (int64_t i = 0; i < sum.elements(); ++i) CHECK(sum.at(i) == 0);
      }
    }
    CHECK(distance(small.run.variables.at("one/W"), start.at("one/W")) > 0.01);
  }
}

TEST_CASE("a step of half a batch adds half of its mean gradient") {
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(arithmetic.name);
    const NetData data = drawn_data(arithmetic.dtype);
    const auto sums = [&](double weight) {
      Trained trained("SGD: {learning_rate: 1}", data,
                      {.dtype = arithmetic.dtype, .batch = 4, .accumulate = 2, .weight = weight}, kLayers,
                      "CrossEntropyMulti", arithmetic.options);
      trained.run.step(range(0, 4), {}, false);
      return trained.copy();
    };
    const auto whole = sums(1), half = sums(0.5);
    int found = 0;
    for (const auto& [name, sum] : whole) {
      if (!name.ends_with("/sum")) continue;
      INFO(name);
      for (int64_t i = 0; i < sum.elements(); ++i) CHECK(half.at(name).at(i) == sum.at(i) / 2);
      CHECK(distance(sum, half.at(name)) > 0.001);
      ++found;
    }
    CHECK(found == 4);
  }
}

TEST_CASE("a batch that is not finite spoils the update it would have been part of, and no later one") {
  for (const Arithmetic& arithmetic : arithmetics()) {
    const int bad = GENERATE(0, 1);
    INFO(arithmetic.name << ", bad batch " << bad);
    NetData data = drawn_data(arithmetic.dtype);
    data.inputs.set(5 * 20, HUGE_VAL);  // sample 20
    Trained trained("Adam", data, {.dtype = arithmetic.dtype, .batch = 4, .accumulate = 2}, kLayers,
                    "CrossEntropyMulti", arithmetic.options);
    const auto before = trained.copy();
    for (int part = 0; part < 2; ++part) {
      trained.run.step(range(part == bad ? 20 : 4 * part, 4), {}, part == 1);
      CHECK(trained.run.finite() == (part != bad));
    }
    for (const auto& [name, tensor] : trained.run.variables.all()) {
      INFO(name);
      CHECK(same(tensor, before.at(name)));
    }
    trained.run.step(range(0, 4), {}, false);
    trained.run.step(range(4, 4), {}, true);
    CHECK(!same(trained.run.variables.at("one/W"), before.at("one/W")));
    CHECK(std::isfinite(trained.run.variables.at("one/W").at(0)));
  }
}

TEST_CASE("spoilt batches are counted until the update that they spoil") {
  NetData data = drawn_data(DType::f32);
  data.inputs.set(5 * 20, HUGE_VAL);  // sample 20
  Trained trained("Adam", data, {.batch = 4, .accumulate = 4});
  const double expected[] = {1, 2, 2, 0};
  for (int part = 0; part < 4; ++part) {
    trained.run.step(range(part < 2 ? 20 : 0, 4), {}, part == 3);
    CHECK(trained.run.variables.at("accumulate_spoilt").at(0) == expected[part]);
  }
}

TEST_CASE("a cost that is not finite stops the update, whatever is counted beside it") {
  // One number is the whole net, so that there is one gradient that is not finite, and the cost.
  NetData data;
  data.inputs = Tensor(DType::f32, {1, 1});
  data.targets = Tensor(DType::f32, {1, 1});
  data.targets.set(0, HUGE_VAL);
  Trained trained("SGD: {learning_rate: 1}", data, {.batch = 1}, "[Bias: {name: one, init: {Constant: 3}}]",
                  "SumSquared");
  trained.run.step({0}, {});
  CHECK(!trained.run.finite());
  CHECK(trained.run.variables.at("one/b").at(0) == 3);
}

TEST_CASE("the loss scale carries gradients through 16 bits, and is taken off again") {
  // The gradient 2^-26 is 0 in f16, whose least number is 2^-24; times 2^10 it is not. In bf16 it is exact either way.
  NetData data;
  data.inputs = Tensor(DType::f32, {1, 1});
  data.targets = Tensor(DType::f32, {1, 1});
  data.inputs.set(0, 1);
  data.targets.set(0, -std::ldexp(1, -26));
  const auto weight_after_step = [&](DType dtype, double loss_scale) {
    Trained trained("SGD: {learning_rate: 0.5}", data, {.dtype = dtype, .batch = 1},
                    "[Linear: {name: one, nout: 1, init: {Constant: 0}}]", "SumSquared");
    trained.run.loss_scale = loss_scale;
    trained.run.step({0}, {});
    return trained.run.variables.at("one/W").at(0);
  };
  CHECK(weight_after_step(DType::f16, 1) == 0);
  CHECK(weight_after_step(DType::f16, 1024) == -std::ldexp(1, -27));
  CHECK(weight_after_step(DType::bf16, 1) == -std::ldexp(1, -27));
  CHECK(weight_after_step(DType::bf16, 1024) == -std::ldexp(1, -27));
}

TEST_CASE("running means of weights and statistics follow each update, and keep more the more updates there were") {
  const NetData data = drawn_data(DType::f64);
  const char* layers =
      "[Affine: {name: one, nout: 6, init: Kaiming, batch_norm: true, activation: Tanh},"
      " Affine: {name: two, nout: 3, init: Kaiming, bias: {Constant: 0}, activation: Softmax}]";
  constexpr double kMostKept = 0.25;  // so much is kept from update 2 on
  Trained trained("SGD: {learning_rate: 0.5}", data, {.dtype = DType::f64, .batch = 8, .ema_decay = kMostKept}, layers);
  std::map<std::string, Tensor> running;
  for (const auto& [name, tensor] : trained.copy())
    if (trained.run.variables.has(name + "/ema")) running[name] = trained.run.variables.at(name + "/ema").clone();
  CHECK(running.size() == trained.run.graph.parameters.size() + 2);
  REQUIRE((running.count("one_bnorm/gmean") && running.count("one_bnorm/gvar")));
  for (int step = 0; step < 5; ++step) {
    trained.run.step(range(8 * step, 8), {});
    const double kept = step == 0 ? 2.0 / 11 : kMostKept;  // (1 + t) / (10 + t), as TensorFlow's num_updates makes it
    for (auto& [name, mean] : running) {
      const Tensor& weight = trained.run.variables.at(name);
      for (int64_t i = 0; i < mean.elements(); ++i) mean.set(i, kept * mean.at(i) + (1 - kept) * weight.at(i));
      INFO(name << ", step " << step);
      CHECK(distance(trained.run.variables.at(name + "/ema"), mean) < 1e-15);
      CHECK(distance(weight, mean) > 1e-4);
    }
  }
}

TEST_CASE("layer_decay takes a layer's steps by its power of the layers behind it") {
  const char* layers =
      "[Affine: {name: a, nout: 4, init: Kaiming, bias: {Constant: 0}, activation: Tanh},"
      " Affine: {name: b, nout: 4, init: Kaiming, activation: Tanh}, Affine: {name: c, nout: 4, init: Kaiming, "
      "activation: Tanh}, Affine: {name: d, nout: 3, init: Kaiming, activation: Softmax}]";
  const NetData data = drawn_data(DType::f64);
  const StepOptions options{.dtype = DType::f64, .batch = 8};
  Trained plain("SGD: {learning_rate: 0.5}", data, options, layers);
  Trained decayed("SGD: {learning_rate: 0.5, layer_decay: 0.25}", data, options, layers);
  const auto start = plain.copy();
  for (Trained* trained : {&plain, &decayed}) trained->run.step(range(0, 8), {});
  // A bias is of the layer whose weights it follows.
  const std::pair<const char*, double> factors[] = {{"a/W", 3}, {"a_bias/b", 3}, {"b/W", 2}, {"c/W", 1}, {"d/W", 0}};
  for (const auto& [name, behind] : factors) {
    const Tensor &from = start.at(name), &to = plain.run.variables.at(name), &slow = decayed.run.variables.at(name);
    for (int64_t i = 0; i < from.elements(); ++i) {
      INFO(name << ", element " << i);
      check_close(slow.at(i) - from.at(i), std::pow(0.25, behind) * (to.at(i) - from.at(i)), 1e-15);
    }
    CHECK(distance(from, to) > 1e-4);
  }
}

TEST_CASE("layer_decay counts depth: branches begin at one, and a layer behind them follows the longest") {
  const char* layers =
      "[Affine: {name: a, nout: 4, init: Kaiming, activation: Tanh}, MergeSum: {layers: ["
      "[Affine: {name: long1, nout: 4, init: Kaiming, activation: Tanh}, Affine: {name: long2, nout: 4, init: "
      "Kaiming}],"
      " [Affine: {name: short, nout: 4, init: Kaiming, bias: {Constant: 0}}], [SkipNode]]},"
      " MergeConcat: {layers: [Affine: {name: left, nout: 2, init: Kaiming}, Affine: {name: right, nout: 3, init: "
      "Kaiming}]},"
      " Affine: {name: behind, nout: 4, init: Kaiming}, Affine: {name: aside, inputs: a, nout: 4, init: Kaiming},"
      " MergeSum: {inputs: [behind, aside]}, Affine: {name: end, nout: 3, init: Kaiming, activation: Softmax}]";
  const NetData data = drawn_data(DType::f64);
  const StepOptions options{.dtype = DType::f64, .batch = 8};
  Trained plain("SGD: {learning_rate: 0.5}", data, options, layers);
  Trained decayed("SGD: {learning_rate: 0.5, layer_decay: 0.5}", data, options, layers);
  const auto start = plain.copy();
  for (Trained* trained : {&plain, &decayed}) trained->run.step(range(0, 8), {});
  // By depth: a 1; long1, short and aside 2; long2 3; left and right 4; behind 5; end 6.
  const std::pair<const char*, double> factors[] = {
      {"a/W", 5},     {"long1/W", 4}, {"short/W", 4}, {"short_bias/b", 4}, {"aside/W", 4},
      {"long2/W", 3}, {"left/W", 2},  {"right/W", 2}, {"behind/W", 1},     {"end/W", 0}};
  for (const auto& [name, behind] : factors) {
    const Tensor &from = start.at(name), &to = plain.run.variables.at(name), &slow = decayed.run.variables.at(name);
    for (int64_t i = 0; i < from.elements(); ++i) {
      INFO(name << ", element " << i);
      check_close(slow.at(i) - from.at(i), std::pow(0.5, behind) * (to.at(i) - from.at(i)), 1e-15);
    }
    CHECK(distance(from, to) > 1e-4);
  }
}

TEST_CASE("running statistics follow each batch, and stand still with one that is not finite") {
  constexpr double kRho = 0.75;
  const char* layers =
      "[BatchNorm: {name: norm, rho: 0.75}, Affine: {name: two, nout: 3, init: Kaiming, activation: Softmax}]";
  NetData data = drawn_data(DType::f64);
  data.inputs.set(5 * 20, HUGE_VAL);  // sample 20
  Trained trained("SGD: {learning_rate: 0.5}", data, {.dtype = DType::f64, .batch = 8}, layers);
  Tensor &mean = trained.run.variables.at("norm/gmean"), &variance = trained.run.variables.at("norm/gvar");
  REQUIRE(mean.shape() == Shape{5});
  for (int64_t feature = 0; feature < 5; ++feature) mean.set(feature, double(feature)), variance.set(feature, 2);
  for (const int32_t first : {0, 8, 16}) {
    const Tensor mean_before = mean.clone(), variance_before = variance.clone();
    const std::vector<int32_t> batch = range(first, 8);
    trained.run.step(batch, {});
    REQUIRE(trained.run.finite() == (first != 16));
    for (int64_t feature = 0; feature < 5; ++feature) {
      INFO("batch from " << first << ", feature " << feature);
      double sum = 0, squares = 0;
      for (int32_t sample : batch) sum += data.inputs.at(5 * sample + feature) / 8;
      for (int32_t sample : batch) squares += std::pow(data.inputs.at(5 * sample + feature) - sum, 2) / 8;
      const double old_mean = mean_before.at(feature), old_variance = variance_before.at(feature);
      if (first == 16) {
        CHECK(mean.at(feature) == old_mean);
        CHECK(variance.at(feature) == old_variance);
      } else {
        check_close(mean.at(feature), kRho * old_mean + (1 - kRho) * sum, 1e-14);
        check_close(variance.at(feature), kRho * old_variance + (1 - kRho) * squares, 1e-14);
      }
    }
  }
}

TEST_CASE("with rounding, weights are the update's neighbours of few bits, and all else is exact") {
  const NetData data = drawn_data(DType::f32);
  const StepOptions exact{.batch = 8, .seed = 5, .ema_decay = 0.5};
  StepOptions rounding = exact;
  rounding.rounding = 6;
  Trained reference("Adam: {learning_rate: 0.0625}", data, exact),
      trained("Adam: {learning_rate: 0.0625}", data, rounding);
  reference.run.step(range(0, 8), {});
  trained.run.step(range(0, 8), {});
  int changed = 0;
  for (const Parameter& p : trained.run.graph.parameters) {
    INFO(p.name);
    Stream draws(5, p.name + "/round", 1);
    const Tensor &updated = reference.run.variables.at(p.name), &weight = trained.run.variables.at(p.name);
    for (int64_t i = 0; i < weight.elements(); ++i) {
      const double x = updated.at(i), step = std::ldexp(1, std::ilogb(x) - 6), below = std::floor(std::fabs(x) / step);
      const bool up = double(uniform_from_bits(draws.bits())) >= 1 - (std::fabs(x) / step - below);
      CHECK(weight.at(i) == std::copysign((below + up) * step, x));
      changed += weight.at(i) != x;
    }
    CHECK(same(trained.run.variables.at(p.name + "/mean"), reference.run.variables.at(p.name + "/mean")));
  }
  CHECK(changed > 30);
}

TEST_CASE("with rounding, weights stay below their clip value, though its neighbour of few bits is above it") {
  StepOptions options{.batch = 8, .seed = 5};
  options.rounding = 1;  // 0.25 and 0.375 are 0.3's neighbours
  const NetData data = drawn_data(DType::f32);
  Trained trained("Adam: {learning_rate: 0.0625, param_clip_value: 0.3}", data, options);
  for (int64_t step = 0; step < 8; ++step) trained.run.step(range(0, 8), {});
  double largest = 0;
  for (const Parameter& p : trained.run.graph.parameters)
    for (int64_t i = 0; i < trained.run.variables.at(p.name).elements(); ++i)
      largest = std::max(largest, std::fabs(trained.run.variables.at(p.name).at(i)));
  CHECK(largest == 0.25);
}

TEST_CASE("with rounding, 16-bit weights have no masters, and follow updates too small for the nearest") {
  // One weight w from 1 on, and the cost (w + 1023)^2 / 2: in f16 its slope stays 1024, and a step of 2^-13 is a
  // quarter of the distance of numbers below 1.
  NetData data;
  data.inputs = Tensor(DType::f32, {1, 1});
  data.targets = Tensor(DType::f32, {1, 1});
  data.inputs.set(0, 1);
  data.targets.set(0, -1023);
  const StepOptions options{.dtype = DType::f16, .batch = 1, .rounding = 10, .ema_decay = 0.5};
  Trained trained(text("SGD: {learning_rate: ", std::ldexp(1, -23), "}"), data, options,
                  "[Linear: {name: one, nout: 1, init: {Constant: 1}}]", "SumSquared");
  const Variables& variables = trained.run.variables;
  CHECK(variables.at("one/W").dtype() == DType::f16);
  CHECK(variables.at("one/W/ema").dtype() == DType::f32);
  constexpr int kSteps = 400;
  for (int step = 0; step < kSteps; ++step) trained.run.step({0}, {});
  // The number of steps down is binomial; five deviations.
  const double down = (1 - variables.at("one/W").at(0)) * 2048;
  CHECK(std::fabs(down - kSteps * 0.25) < 5 * std::sqrt(kSteps * 0.25 * 0.75));
}

TEST_CASE("a frozen layer stays as it is and has no state, others learn") {
  const NetData data = drawn_data(DType::f32);
  Trained trained("Adam: {learning_rate: 0.0625}", data, {.batch = 8, .ema_decay = 0.5},
                  "[Linear: {name: kept, nout: 5, init: IdentityInit},"
                  " Affine: {name: out, nout: 3, init: Kaiming, activation: Softmax}]");
  const auto before = trained.copy();
  for (int step = 0; step < 3; ++step) trained.run.step(range(8 * step, 8), {});
  CHECK(same(trained.run.variables.at("kept/W"), before.at("kept/W")));
  for (int64_t i = 0; i < 25; ++i) CHECK(trained.run.variables.at("kept/W").at(i) == (i % 6 == 0 ? 1 : 0));
  CHECK(!trained.run.variables.has("kept/W/mean"));
  CHECK(trained.run.variables.has("out/W/mean"));
  CHECK(!same(trained.run.variables.at("out/W"), before.at("out/W")));
}

TEST_CASE("a cost's scale changes the step, not what is reported") {
  const NetData data = drawn_data(DType::f64);
  const StepOptions options{.dtype = DType::f64, .batch = 8};
  Trained plain("SGD: {learning_rate: 0.5}", data, options),
      scaled("SGD: {learning_rate: 0.25}", data, options, kLayers, "CrossEntropyMulti: {scale: 2}");
  for (int step = 0; step < 3; ++step)
    check_close(scaled.run.step(range(8 * step, 8), {}), plain.run.step(range(8 * step, 8), {}), 1e-14);
  CHECK(distance(plain.run.variables.at("one/W"), scaled.run.variables.at("one/W")) < 1e-14);
}

TEST_CASE("layers are served by name before class before default, each with its own rate") {
  const NetData data = drawn_data(DType::f64);
  Trained trained(
      "MultiOptimizer: {default: {SGD: {learning_rate: 0}}, Bias: {SGD: {learning_rate: 0.5}},"
      " two_bias: {SGD: {learning_rate: 0.25, momentum: 0.5}}, one: {Adam: {schedule: {ExpSchedule: 1}}}}",
      data, {.dtype = DType::f64, .batch = 8});
  const auto before = trained.copy();
  CHECK(trained.run.graph.optimizers.size() == 4);
  trained.run.step(range(0, 8), {});
  const Variables& after = trained.run.variables;
  CHECK(!same(after.at("one/W"), before.at("one/W")));
  CHECK(!same(after.at("one_bias/b"), before.at("one_bias/b")));
  CHECK(!same(after.at("two_bias/b"), before.at("two_bias/b")));
  CHECK(same(after.at("two/W"), before.at("two/W")));
  CHECK((after.has("one/W/mean") && !after.has("two/W/mean")));
  CHECK((after.has("two_bias/b/velocity") && !after.has("one_bias/b/velocity")));
}

TEST_CASE("a MultiOptimizer that names no layer with parameters is told the nearest") {
  const NetData data = drawn_data(DType::f32);
  const auto error = [&](const char* name) {
    try {
      Trained(text("MultiOptimizer: {default: Adam, ", name, ": Adam}"), data, {.batch = 8});
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::config);
      return std::string(e.what());
    }
    return std::string();
  };
  for (const char* name : {"one", "two_bias", "Linear", "Bias"}) CHECK(error(name) == "");
  CHECK(error("onne") ==
        "optimizer: no layer with parameters is named or of class 'onne'; did you mean one? (known: one, Linear, "
        "one_bias, Bias, two, two_bias)");
  CHECK_THAT(error("Liner"), Contains("did you mean Linear"));
  CHECK_THAT(error("Affine"), Contains("no layer with parameters is named or of class 'Affine'"));
}

TEST_CASE("label smoothing trains towards the smoothed targets") {
  // With one input of 0 only the biases learn; at the optimum softmax equals the smoothed target: log odds of
  // (1 - 0.3 + 0.1) to 0.1.
  NetData data;
  data.inputs = Tensor(DType::f64, {1, 1});
  data.targets = Tensor(DType::i32, {1, 1});
  data.targets.set(0, 1);
  data.classes = 3;
  Trained trained("SGD: {learning_rate: 2}", data, {.dtype = DType::f64, .batch = 1},
                  "[Affine: {name: out, nout: 3, init: {Constant: 0}, bias: {Constant: 0}, activation: Softmax}]",
                  "CrossEntropyMulti: {smoothing: 0.3}");
  for (int step = 0; step < 400; ++step) trained.run.step({0}, {});
  const Tensor& bias = trained.run.variables.at("out_bias/b");
  check_close(bias.at(1) - bias.at(0), std::log(0.8 / 0.1), 1e-12);
  check_close(bias.at(2) - bias.at(0), 0, 1e-12);
}
