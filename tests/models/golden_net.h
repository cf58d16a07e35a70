// The nets of the golden files, ready to run.
#pragma once
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "tests/support/golden.h"
#include "tests/support/net.h"

namespace neon_test {

inline std::vector<neon::Setting> golden_nets() {
  std::vector<neon::Setting> all = golden("models/golden/mlp.json").items;
  for (const char* file : {"models/golden/images.json", "models/golden/nets.json", "models/golden/shared.json",
                           "models/golden/seq2seq.json", "models/golden/sequences.json"})
    for (neon::Setting& one : golden(file).items) all.push_back(std::move(one));
  return all;
}

struct GoldenNet {
  GoldenNet(const neon::Setting& setting, neon::DType dtype)
      : setting(setting),
        network(network_of(object_of(at(setting, "layers")))),
        cost(neon::Registry<neon::Cost>::get().create(object_of(at(setting, "cost")))),
        optimizer(neon::Registry<neon::Optimizer>::get().create(object_of(at(setting, "optimizer")))) {
    data.tokens = count_of("tokens", 0);
    data.inputs = tensor_of(at(setting, "data"), data.tokens > 0 ? neon::DType::i32 : dtype);
    if (const neon::Setting* given = setting.find("labels")) {
      data.targets = tensor_of(*given, neon::DType::i32);
      if (data.targets.shape().rank() == 1) data.targets = data.targets.reshaped({data.targets.shape()[0], 1});
      data.classes = count_of("classes", 4);
      data.end_class = count_of("end_class", -1);
    }
    options.dtype = dtype;
    options.batch = int64_t(number_of(at(setting, "batch")));
    options.blank = cost->blank();
    read_sequences();
  }
  // `pieces` says that samples are sequences of numbers: so many following ones are a stream.
  void read_sequences() {
    pieces = count_of("pieces", 0);
    data.sequence = pieces > 0;
    data.streams = pieces > 1;
    if (options.blank >= 0) data.label_of = neon::LabelOf::sequence;
    const neon::Setting* lengths = setting.find("lengths");
    const int64_t steps = data.sequence ? data.inputs.shape()[1] : 0;
    for (int64_t i = 0; lengths && i < data.inputs.elements(); ++i) {
      const int64_t row = i / data.inputs.shape()[2], sample = row / steps;
      if (row % steps >= int64_t(number_of(lengths->items[size_t(sample)]))) data.inputs.set(i, std::nan(""));
    }
  }
  int64_t count_of(const char* key, double otherwise) const {
    const neon::Setting* given = setting.find(key);
    return int64_t(given ? number_of(*given) : otherwise);
  }
  // An evaluation has no variables of branches that only train.
  void start(neon::Variables& variables, bool evaluates = false) const {
    for (const auto& entry : at(setting, "parameters").entries) {
      if (evaluates && !variables.has(entry.key)) continue;
      neon::Tensor& to = variables.at(entry.key);
      const neon::Tensor from = tensor_of(entry.value, to.dtype());
      REQUIRE(from.shape() == to.shape());
      std::memcpy(to.data(), from.data(), to.bytes());
    }
  }
  double layers() const { return double(std::max<int64_t>(network.layer_count(), 4)); }
  // The samples of a step, from the first on, around the end; of streams, the next piece of each.
  std::vector<int32_t> samples(int64_t step) const {
    std::vector<int32_t> out;
    for (int64_t i = 0; i < options.batch; ++i)
      out.push_back(
          int32_t(data.streams ? pieces * i + step % pieces : (options.batch * step + i) % data.inputs.shape()[0]));
    return out;
  }
  bool streams_begin(int64_t step) const { return !data.streams || step % pieces == 0; }
  neon::Setting setting;
  neon::Network network;
  std::unique_ptr<neon::Cost> cost;
  std::unique_ptr<neon::Optimizer> optimizer;
  NetData data;
  neon::StepOptions options;
  int64_t pieces = 0;
};

}  // namespace neon_test
