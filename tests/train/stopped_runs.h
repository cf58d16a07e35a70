// Runs of a test that a signal stops in a step, and that go on.
#pragma once
#include <signal.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <optional>

#include "neon/spec/spec.h"
#include "neon/train/checkpoint.h"
#include "neon/train/metrics_file.h"
#include "neon/train/signals.h"
#include "neon/train/trainer.h"
#include "tests/support/temp_folder.h"

namespace neon_test {

using namespace neon;

inline int64_t stop_at = -1;  // the step, counted from 0, in which SIGTERM arrives

struct Stopping : Parametrized<Schedule, NoParams> {
  using Parametrized::Parametrized;
  double rate(double base, const Progress& progress) const override {
    if (progress.step == stop_at) raise(SIGTERM);
    return base / (1 + 0.1 * double(progress.step));
  }
};

class Runs {
 public:
  Runs(const Spec& spec, const std::string& dtype, int64_t rounding = 0)
      : spec_(spec), dtype_(dtype), rounding_(rounding) {}

  // From the start, or from the checkpoint there, until the end or the signal in that step.
  RunResult run(const std::string& name, int64_t stop, bool go_on, std::optional<int64_t> epochs = {}) {
    return run_spec(spec_.root, name, stop, go_on, epochs);
  }
  // Another spec goes on from the checkpoint there.
  RunResult go_on(const std::string& name, const Setting& root) { return run_spec(root, name, -1, true, {}); }
  RunResult run_spec(const Setting& root, const std::string& name, int64_t stop, bool go_on,
                     std::optional<int64_t> epochs) {
    Experiment experiment(root);
    RunOptions options;
    options.save_path = folder_ / (name + ".safetensors");
    options.output_file = folder_ / (name + ".h5");
    options.datatype = dtype_;
    options.rounding = rounding_;
    options.progress_bar = false;
    options.history = 0;
    options.epochs = epochs;
    options.rng_seed = 11;
    StoredRun stored;
    if (go_on) stored = load(name);
    Trainer trainer(experiment, experiment.params.dataset->load({}), options, go_on ? &stored : nullptr);
    stop_at = stop;
    return trainer.run();
  }
  StoredRun load(const std::string& name) const {
    std::vector<std::string> warnings;
    const std::string path = folder_ / (name + ".safetensors");
    StoredRun out = unpack_run(load_checkpoint(path, warnings), path);
    CHECK(warnings.empty());
    return out;
  }
  MetricsContents metrics(const std::string& name) const { return read_metrics(folder_ / (name + ".h5")); }

 private:
  TempFolder folder_;
  const Spec& spec_;
  std::string dtype_;
  int64_t rounding_;
};

inline void check_same_tensors(const TensorFile& a, const TensorFile& b) {
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (const NamedTensor& named : a.tensors) {
    INFO(named.name);
    const Tensor* other = b.find(named.name);
    REQUIRE(other);
    REQUIRE(other->bytes() == named.tensor.bytes());
    CHECK(std::memcmp(other->data(), named.tensor.data(), named.tensor.bytes()) == 0);
  }
}

inline void check_same(const StoredRun& a, const StoredRun& b) {
  check_same_tensors(a.file, b.file);
  CHECK(a.position.epoch == b.position.epoch);
  CHECK(a.position.step_in_epoch == b.position.step_in_epoch);
  CHECK(a.position.step == b.position.step);
  CHECK(a.position.cost_sum == b.position.cost_sum);
  CHECK(a.position.loss_scale == b.position.loss_scale);
  CHECK(a.position.good_steps == b.position.good_steps);
  CHECK(a.position.skipped == b.position.skipped);
  CHECK(a.position.updates == b.position.updates);
  CHECK(a.position.seed == b.position.seed);
  CHECK(a.file.metadata.at("neon.callbacks") == b.file.metadata.at("neon.callbacks"));
}

// All curves but those of times.
inline void check_same_curves(const MetricsContents& a, const MetricsContents& b) {
  REQUIRE(a.series.size() == b.series.size());
  for (const StoredSeries& series : a.series) {
    INFO(series.spec.path);
    const StoredSeries* other = b.find(series.spec.path);
    REQUIRE(other);
    if (series.spec.path.starts_with("time/")) continue;
    REQUIRE(other->values.size() == series.values.size());
    CHECK(std::memcmp(other->values.data(), series.values.data(), series.values.size() * sizeof(double)) == 0);
  }
  CHECK(*a.find("", "status") == *b.find("", "status"));
}

}  // namespace neon_test
