// Frozen parameters: they keep their bits, and the rest learns as if they were numbers of the data.
#include <catch2/catch.hpp>

#include "backends/graph/ops.h"
#include "tests/models/trained_net.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

namespace {

constexpr const char* kNormed =
    "[Affine: {name: one, nout: 6, init: Kaiming, batch_norm: true, activation: Tanh},"
    " Affine: {name: two, nout: 3, init: Kaiming, bias: {Constant: 0}, activation: Softmax}]";
constexpr const char* kHead = "[Affine: {name: two, nout: 3, init: Kaiming, bias: {Constant: 0}, activation: Softmax}]";

Freeze frozen(const std::vector<std::string>& patterns) { return {.patterns = patterns}; }

// Sets an array of a net to different numbers above 0.
void spread(Tensor& values, double least) {
  for (int64_t i = 0; i < values.elements(); ++i) values.set(i, least + 0.125 * double(i));
}

// tanh of the batch norm of W x, by the running statistics.
NetData features_of(const NetData& data, const Variables& net) {
  const Tensor &w = net.at("one/W"), &mean = net.at("one_bnorm/gmean"), &variance = net.at("one_bnorm/gvar"),
               &gamma = net.at("one_bnorm/gamma"), &beta = net.at("one_bnorm/beta");
  NetData out = data;
  const int64_t samples = data.inputs.shape()[0], width = data.inputs.shape()[1], units = w.shape()[0];
  out.inputs = Tensor(DType::f64, {samples, units});
  for (int64_t n = 0; n < samples; ++n)
    for (int64_t u = 0; u < units; ++u) {
      double sum = 0;
      for (int64_t i = 0; i < width; ++i) sum += w.at(u * width + i) * data.inputs.at(n * width + i);
      const double scaled = (sum - mean.at(u)) / std::sqrt(variance.at(u) + 1e-3);
      out.inputs.set(n * units + u, std::tanh(gamma.at(u) * scaled + beta.at(u)));
    }
  return out;
}

int products(const Graph& graph) {
  int out = 0;
  for (int i = 0; i < graph.node_count(); ++i) out += graph.node(i).op->is(ops::matmul);
  return out;
}

std::string refusal(const std::vector<std::string>& patterns) {
  const NetData data = drawn_data(DType::f32);
  try {
    Trained("Adam", data, {.batch = 8, .freeze = frozen(patterns)}, kNormed);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("layers above frozen ones learn as on the features that those make") {
  const char* optimizer =
      GENERATE("SGD: {learning_rate: 0.5, momentum: 0.5, gradient_clip_norm: 0.125}", "Adam: {learning_rate: 0.0625}");
  INFO(optimizer);
  const NetData data = drawn_data(DType::f64);
  const StepOptions options{.dtype = DType::f64, .batch = 8, .ema_decay = 0.5};
  StepOptions with_frozen = options;
  with_frozen.freeze = frozen({"one"});
  Trained whole(optimizer, data, with_frozen, kNormed);
  spread(whole.run.variables.at("one_bnorm/gmean"), -0.25);
  spread(whole.run.variables.at("one_bnorm/gvar"), 0.5);
  spread(whole.run.variables.at("one_bnorm/gamma"), 0.75);
  spread(whole.run.variables.at("one_bnorm/beta"), -0.5);
  const NetData features = features_of(data, whole.run.variables);
  Trained head(optimizer, features, options, kHead);
  const auto before = whole.copy();
  for (int step = 0; step < 4; ++step)
    check_close(whole.run.step(range(8 * step, 8), {}), head.run.step(range(8 * step, 8), {}), 1e-13);
  for (const auto& [name, tensor] : head.run.variables.all()) {
    INFO(name);
    CHECK(distance(whole.run.variables.at(name), tensor) < 1e-13);
  }
  for (const char* name : {"one/W", "one_bnorm/gamma", "one_bnorm/beta", "one_bnorm/gmean", "one_bnorm/gvar"}) {
    INFO(name);
    CHECK(same(whole.run.variables.at(name), before.at(name)));
  }
  // Beside the head's variables there are these five, without states or running means.
  CHECK(whole.run.variables.all().size() == head.run.variables.all().size() + 5);
}

TEST_CASE("nothing flows back below the lowest trained layer") {
  const NetData data = drawn_data(DType::f32);
  const auto count = [&](const std::vector<std::string>& patterns) {
    return products(Trained("Adam", data, {.batch = 8, .freeze = frozen(patterns)}).run.graph.graph);
  };
  CHECK(count({}) == 5);  // two forward, two for weights, one for the sums between
  CHECK(count({"one"}) == 3);
  CHECK(count({"two"}) == 4);
}

TEST_CASE("patterns name layers, parts of layers and arrays") {
  const NetData data = drawn_data(DType::f32);
  const std::vector<std::string> all = {"one/W", "one_bias/b", "two/W", "two_bias/b"};
  const auto kept = [&](const std::vector<std::string>& patterns) {
    Trained trained("SGD: {learning_rate: 0.5}", data, {.batch = 8, .freeze = frozen(patterns)});
    const auto before = trained.copy();
    for (int step = 0; step < 2; ++step) trained.run.step(range(8 * step, 8), {});
    std::vector<std::string> out;
    for (const std::string& name : all)
      if (same(trained.run.variables.at(name), before.at(name))) out.push_back(name);
    return out;
  };
  using Names = std::vector<std::string>;
  CHECK(kept({}).empty());
  CHECK(kept({"one"}) == Names{"one/W", "one_bias/b"});
  CHECK(kept({"t*"}) == Names{"two/W", "two_bias/b"});
  CHECK(kept({"*_bias"}) == Names{"one_bias/b", "two_bias/b"});
  CHECK(kept({"[ot]*/W"}) == Names{"one/W", "two/W"});
  CHECK(kept({"two/W", "one_bias"}) == Names{"one_bias/b", "two/W"});
}

TEST_CASE("a trained batch norm over frozen weights follows its batches") {
  const NetData data = drawn_data(DType::f32);
  Trained trained("Adam", data, {.batch = 8, .freeze = frozen({"one/W"})}, kNormed);
  const auto before = trained.copy();
  trained.run.step(range(0, 8), {});
  CHECK(same(trained.run.variables.at("one/W"), before.at("one/W")));
  for (const char* name : {"one_bnorm/gamma", "one_bnorm/gmean", "one_bnorm/gvar"})
    CHECK(!same(trained.run.variables.at(name), before.at(name)));
}

TEST_CASE("names of nothing, and of everything, are refused") {
  CHECK(refusal({"one"}).empty());
  CHECK(refusal({"one", "tow"}) ==
        "freeze: no layer with parameters and no tensor is named 'tow'; did you mean two? (known: one, two)");
  CHECK_THAT(refusal({"x*"}), Contains("is named 'x*' (known: one, two)"));
  CHECK(refusal({"one*", "two*"}) == "freeze: one*, two* hold all parameters, so nothing is left to train");
}

TEST_CASE("a step that does not update has the cost of training, and computes no gradients") {
  const NetData data = drawn_data(DType::f64);
  const StepOptions options{.dtype = DType::f64, .batch = 8};
  StepOptions at_rest = options;
  at_rest.updates = false;
  for (const int first : {0, 8, 16}) {
    Trained moving("SGD: {learning_rate: 0.5}", data, options, kNormed);
    Trained resting("SGD: {learning_rate: 0.5}", data, at_rest, kNormed);
    CHECK(products(resting.run.graph.graph) == 2);  // of the forward pass
    CHECK(products(moving.run.graph.graph) > 2);
    const auto before = resting.copy();
    check_close(resting.run.step(range(first, 8), {}), moving.run.step(range(first, 8), {}), 1e-13);
    for (const char* name : {"one/W", "one_bnorm/beta", "two/W", "two_bias/b"}) {
      INFO(name);
      CHECK(same(resting.run.variables.at(name), before.at(name)));
    }
    for (int64_t unit = 0; unit < 6; ++unit)
      check_close(resting.run.variables.at("one_bnorm/gmean").at(unit),
                  moving.run.variables.at("one_bnorm/gmean").at(unit), 1e-13);
  }
}
