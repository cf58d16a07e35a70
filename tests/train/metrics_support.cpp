#include "tests/train/metrics_support.h"

#include <catch2/catch.hpp>

#include "tests/support/temp_folder.h"

using namespace neon;

namespace neon_test {

std::vector<SeriesSpec> run_series(int64_t epochs) {
  const int64_t steps = epochs * 4;
  return {
      {.path = "cost/train", .length = steps, .time_markers = "minibatch"},
      {.path = "cost/loss", .length = epochs / 2, .time_markers = "epoch_freq", .epoch_freq = 2},
      {.path = "time/loss", .length = epochs, .units = "seconds", .x = "epoch"},
      {.path = "time/train/start_time", .length = 1, .dtype = DType::f64, .units = "seconds"},
      {.path = "time_markers/minibatch", .length = epochs, .units = "minibatches", .x = "epoch"},
      {.path = "multicost/train", .length = steps, .width = 2, .dtype = DType::f64, .time_markers = "minibatch"},
      {.path = "hist/Affine_0_W",
       .length = steps / 2,
       .width = 64,
       .columns = true,
       .dtype = DType::i32,
       .x = "minibatch",
       .minibatch_freq = 2},
      {.path = "metrics/Top1 (%)", .length = 0, .x = "epoch"},
  };
}

std::vector<AttributeSpec> run_attributes(int64_t epochs) {
  return {
      {"config", "total_epochs", epochs},
      {"config", "total_minibatches", epochs * 4},
      {"time_markers", "epochs_complete", int64_t(0)},
      {"", "spec", std::string(100'000, '#') + "layers: [caf\u00e9]"},
      {"", "loss_scale", 1.5},
      {"hist", "bins", int64_t(64)},
  };
}

std::pair<int, std::string> python(const std::string& path, const std::string& code) {
  return output_of("/usr/bin/python3 -c \"import h5py, numpy as np; f = h5py.File('" + path + "', 'r'); " + code +
                   "\"");
}

std::string python_says(const std::string& path, const std::string& code) {
  const auto [status, out] = python(path, "print(" + code + ")");
  CHECK(status == 0);
  return out.substr(0, out.find('\n'));
}

MetricsFile small_file(const std::string& path, const MetricsFile::History* history) {
  return MetricsFile(path, run_series(), run_attributes(), history);
}

}  // namespace neon_test
