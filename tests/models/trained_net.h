// A small net that trains on drawn samples.
#pragma once
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "tests/support/golden.h"
#include "tests/support/net.h"

namespace neon_test {

using namespace neon;

constexpr const char* kLayers =
    "[Affine: {name: one, nout: 6, init: Kaiming, bias: {Constant: 0}, activation: Tanh},"
    " Affine: {name: two, nout: 3, init: Kaiming, bias: {Constant: 0}, activation: Softmax}]";

inline NetData drawn_data(DType dtype, int64_t samples = 24) {
  NetData out;
  out.inputs = Tensor(dtype, {samples, 5});
  out.targets = Tensor(DType::i32, {samples, 1});
  out.classes = 3;
  Stream stream(3, "data");
  for (int64_t i = 0; i < out.inputs.elements(); ++i) out.inputs.set(i, stream.normal());
  for (int64_t i = 0; i < samples; ++i) out.targets.set(i, double(stream.below(3)));
  return out;
}

inline void initialize(TrainingRun& run) {
  for (const Parameter& p : run.graph.parameters) {
    Stream stream(1, p.name);
    Tensor& stored = run.variables.at(p.name);
    Tensor drawn(compute_type(stored.dtype()), stored.shape());
    for (int64_t i = 0; i < drawn.elements(); ++i) drawn.set(i, p.fill);
    if (p.initializer) p.initializer->fill(drawn, p.fan, stream);
    stored.copy_from(drawn);
  }
}

struct Trained {
  Trained(const std::string& optimizer, const NetData& data, const StepOptions& options, const char* layers = kLayers,
          const char* cost = "CrossEntropyMulti", const ProgramOptions& cpu = {.threads = 1})
      : data(data),
        network(network_of(yaml_of(layers))),
        cost(Registry<Cost>::get().create(yaml_of(cost))),
        optimizer(Registry<Optimizer>::get().create(yaml_of(optimizer))),
        run(network, *this->cost, *this->optimizer, this->data, options, {.program = cpu}) {
    initialize(run);
  }
  std::map<std::string, Tensor> copy() const {
    std::map<std::string, Tensor> out;
    for (const auto& [name, tensor] : run.variables.all()) out[name] = tensor.clone();
    return out;
  }
  const NetData& data;
  Network network;
  std::unique_ptr<Cost> cost;
  std::unique_ptr<Optimizer> optimizer;
  TrainingRun run;
};

inline std::vector<int32_t> range(int32_t first, int32_t count) {
  std::vector<int32_t> out;
  for (int32_t i = 0; i < count; ++i) out.push_back((first + i) % 24);
  return out;
}

inline bool same(const Tensor& a, const Tensor& b) { return std::memcmp(a.data(), b.data(), a.bytes()) == 0; }

inline double distance(const Tensor& a, const Tensor& b) {
  double out = 0;
  for (int64_t i = 0; i < a.elements(); ++i) out = std::max(out, std::fabs(a.at(i) - b.at(i)));
  return out;
}

}  // namespace neon_test
