#include "tests/backends/nets.h"

#include <cmath>

#include "backends/graph/op.h"
#include "neon/core/random.h"

namespace neon::test {

namespace {

Setting word(const std::string& value) { return Setting::scalar(value); }

using Parameters = std::vector<std::pair<std::string, Setting>>;

Setting object(const std::string& name, const Parameters& parameters) {
  std::vector<Setting::Entry> entries;
  for (const auto& [key, value] : parameters) entries.push_back({key, value, {}});
  return Setting::map({{name, Setting::map(std::move(entries)), {}}});
}

Setting affine(const std::string& nout, Parameters more) {
  more.push_back({"nout", word(nout)});
  more.push_back({"init", object("Gaussian", {{"scale", word("0.05")}})});
  return object("Affine", more);
}

Setting conv(const std::string& size, const std::string& maps, Parameters more) {
  more.push_back({"fshape", word(size)});
  more.push_back({"nofm", word(maps)});
  more.push_back({"init", object("Kaiming", {})});
  more.push_back({"activation", word("Rectlin")});
  return object("Conv", more);
}

Setting momentum() {
  return object("GradientDescentMomentum", {{"learning_rate", word("0.1")}, {"momentum_coef", word("0.9")}});
}

Net make(const std::vector<Setting>& layers, const Setting& optimizer, const Shape& sample, DType dtype,
         int64_t batch) {
  Problems problems;
  const Network network(Setting::list(layers), problems);
  problems.throw_if_any();
  const auto cost = Registry<Cost>::get().create(word("CrossEntropyMulti"));
  const auto rule = Registry<Optimizer>::get().create(optimizer);
  DataLayout data;
  data.dtype = DType::u8;
  data.target_dtype = DType::i32;
  data.sample = sample;
  data.target = {1};
  data.train_size = 500;
  data.classes = 10;
  data.scale = 1 / 255.f;
  StepOptions options;
  options.batch = batch;
  options.dtype = dtype;
  options.seed = 3;
  Net net{
      training_graph(network, *cost, *rule, data, options), gradient_graph(network, *cost, data, options, true), {}};
  Tensor pixels(DType::u8, Shape{500}.concat(sample)), labels(DType::i32, {500, 1}), indices(DType::i32, {batch});
  Stream stream(1, "data");
  for (uint8_t& pixel : pixels.as<uint8_t>()) pixel = uint8_t(stream.bits());
  for (int32_t& label : labels.as<int32_t>()) label = int32_t(stream.below(10));
  for (int32_t& index : indices.as<int32_t>()) index = int32_t(stream.below(500));
  net.inputs = {{"data", pixels}, {"targets", labels}, {"indices", indices}};
  // The parameters' initialisers belong to the network, which ends here.
  for (StepGraph* graph : {&net.step, &net.gradients})
    for (Parameter& p : graph->parameters) p.initializer = nullptr;
  return net;
}

}  // namespace

std::unique_ptr<Program> Net::compile(Variables& variables, const ProgramOptions& options) const {
  DeviceOptions on_cpu;
  on_cpu.program = options;
  return compile(variables, on_cpu);
}

std::unique_ptr<Program> Net::compile(Variables& variables, const DeviceOptions& options) const {
  auto program = compile_program(step.graph, variables, options);
  for (const Parameter& p : step.parameters) {
    Tensor& weights = variables.at(p.name);
    Stream stream(2, p.name);
    // (outputs, ...): as large as keeps the values of a deep net of rectifiers (He et al. 2015)
    const double scale = std::sqrt(2.0 * double(p.shape[0]) / double(p.shape.elements()));
    for (int64_t i = 0; i < weights.elements(); ++i)
      weights.set(i, p.fill + (p.shape.rank() > 1 ? scale * stream.normal() : 0));
  }
  for (const LayerState& s : step.states)
    for (int64_t i = 0; i < variables.at(s.name).elements(); ++i) variables.at(s.name).set(i, s.fill);
  variables.to_device();
  for (const auto& [name, data] : inputs) program->bind(name, data.data());
  program->set_scalar("rate/0", 0.1);
  program->set_scalar("update", 1);
  program->set_scalar("loss_scale", 1);
  return program;
}

Net mnist_small(DType dtype) {
  return make({affine("100", {{"activation", word("Rectlin")}}), affine("10", {{"activation", word("Softmax")}})},
              momentum(), {28, 28}, dtype, 128);
}

Net mnist_adam() {
  return make({affine("100", {{"activation", word("Rectlin")}}), affine("10", {{"activation", word("Softmax")}})},
              object("Adam", {}), {28, 28}, DType::f32, 128);
}

Net three_layers(DType dtype, int64_t batch) {
  const Setting zero = object("Constant", {{"val", word("0")}});
  return make({affine("30", {{"batch_norm", word("true")}, {"activation", word("Rectlin")}}),
               affine("20", {{"bias", zero}, {"activation", word("Tanh")}}), object("Dropout", {{"keep", word("0.5")}}),
               affine("10", {{"bias", zero}, {"activation", word("Softmax")}})},
              momentum(), {40}, dtype, batch);
}

Net slopes(DType dtype, int64_t batch) {
  return make({affine("30", {{"activation", word("PReLU")}}), affine("20", {}),
               object("Activation", {{"transform", word("RReLU")}}), affine("10", {{"activation", word("Softmax")}})},
              momentum(), {40}, dtype, batch);
}

Net images(DType dtype, int64_t channels, int64_t batch) {
  const Setting zero = object("Constant", {{"val", word("0")}});
  return make({conv("3", "8", {{"bias", zero}}), object("Pooling", {{"fshape", word("2")}}),
               conv("3", "20", {{"batch_norm", word("true")}, {"padding", word("1")}}),
               object("Pooling", {{"fshape", word("all")}, {"op", word("avg")}}),
               affine("10", {{"activation", word("Softmax")}})},
              momentum(), {channels, 14, 14}, dtype, batch);
}

Net modules(DType dtype, int64_t batch) {
  const Setting zero = object("Constant", {{"val", word("0")}});
  auto layer = [&](const char* size, const char* maps, const char* padding) {
    return conv(size, maps, {{"bias", zero}, {"padding", word(padding)}});
  };
  const Setting pooling = object("Pooling", {{"fshape", word("3")}, {"strides", word("1")}, {"padding", word("1")}});
  const Setting module =
      object("MergeConcat", {{"layers", Setting::list({Setting::list({layer("1", "8", "0")}),
                                                       Setting::list({layer("1", "8", "0"), layer("3", "16", "1")}),
                                                       Setting::list({pooling, layer("1", "8", "0")})})}});
  return make({layer("3", "16", "0"), module, module, object("Pooling", {{"fshape", word("all")}, {"op", word("avg")}}),
               affine("10", {{"activation", word("Softmax")}})},
              momentum(), {3, 14, 14}, dtype, batch);
}

}  // namespace neon::test
