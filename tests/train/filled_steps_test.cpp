// The last piece of a text has fewer tokens than steps. What fills it up changes no weight and no statistic.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "neon/spec/spec.h"
#include "neon/train/trainer.h"

using namespace neon;

namespace {

// The variables after two epochs, with that token in the steps without a target.
std::map<std::string, Tensor> trained_with(int32_t token, const Spec& spec) {
  Experiment experiment(spec.root);
  RunOptions options;
  options.progress_bar = false;
  options.backend = "cpu";
  Data data = experiment.params.dataset->load({});
  const auto inputs = data.train.inputs.as<int32_t>(), labels = data.train.targets.as<int32_t>();
  int64_t filled = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (labels[i] < 0) inputs[i] = token, ++filled;
  CHECK(filled == 4);
  Trainer trainer(experiment, data, options);
  trainer.run();
  std::map<std::string, Tensor> out;
  for (const auto& [name, tensor] : trainer.variables().all()) out.emplace(name, tensor.clone());
  return out;
}

}  // namespace

TEST_CASE("steps that fill up the last piece of a text change nothing") {
  const auto path = std::filesystem::temp_directory_path() / text("neon_filled_", getpid(), ".txt");
  std::ofstream(path) << "abcacbdabcadbcabdcabcd";  // 21 targets in pieces of 5
  const char* const layers = GENERATE(
      "{Affine: {nout: 6, init: Kaiming, batch_norm: true}}, {GRU: {output_size: 4, init: "
      "Kaiming}}",
      "{Conv: {fshape: 3, nofm: 6, causal: true, init: Kaiming}}, BatchNorm",
      "{Affine: {nout: 6, init: Kaiming}}, ShiftBatchNorm");
  const char* const streams = GENERATE("true", "false");
  INFO(layers << ", streams: " << streams);
  const Spec spec = spec_from_text(
      text(
          "dataset: {Text: {path: ", path.string(), ", steps: 5, streams: ", streams,
          "}}\nlayers: [{Embedding: {nout: 4, init: Kaiming}}, ", layers,
          ", {Affine: {nout: classes, init: Kaiming, activation: Softmax}}]\ncost: CrossEntropyMulti\noptimizer: Adam\n"
          "batch_size: 2\nepochs: 2\ndatatype: f64\nrng_seed: 3\n"),
      "test.yaml");
  const auto one = trained_with(0, spec), other = trained_with(2, spec);
  REQUIRE(one.size() == other.size());
  int64_t statistics = 0;
  for (const auto& [name, tensor] : one) {
    if (name.ends_with("/carried")) continue;  // no piece of the stream follows
    INFO(name);
    statistics += name.ends_with("/gmean") || name.ends_with("/gvar");
    for (int64_t i = 0; i < tensor.elements(); ++i) CHECK(tensor.at(i) == other.at(name).at(i));
  }
  CHECK(statistics == 2);
}
