// Small sets of images in several forms, and runs over them that may be stopped, resumed and meddled with.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "neon/train/checkpoint.h"
#include "neon/train/metrics_file.h"
#include "neon/train/trainer.h"
#include "tests/support/temp_folder.h"

namespace neon_test {

// Called in each step of a run, before it.
extern std::function<void(int64_t step)> in_step;

std::string error_of(const std::function<void()>& work);

constexpr int kImages = 50;

// Images of three classes, 50 to train with and 11 to test with, in a folder, in shards and in shards of pixels.
class Sets {
 public:
  Sets();
  std::string operator/(const std::string& name) const { return folder_ / name; }

  // 46 of the training samples in batches of 8: the last of an epoch has 6.
  neon::Setting spec(const std::string& dataset, const std::string& stream, const std::string& more = "",
                     const std::string& of_set = "subset_pct: 98, validation: 3, ") const;

 private:
  TempFolder folder_;
};

constexpr int64_t kStepsPerEpoch = 6;

struct Ended {
  neon::RunResult result;
  std::vector<std::string> left_out;
};

class Runs {
 public:
  int64_t epochs = 4;
  bool stays_on_host = false;  // as if the set were too large for a GPU
  // From the start, or from the checkpoint there; `stop`: the step in which SIGTERM arrives.
  Ended run(const neon::Setting& spec, const std::string& name, bool go_on = false, int64_t stop = -1);
  neon::StoredRun load(const std::string& name) const;
  std::string log(const std::string& name) const { return file_content(folder_ / (name + ".log")); }
  neon::MetricsContents metrics(const std::string& name) const { return neon::read_metrics(folder_ / (name + ".h5")); }

 private:
  TempFolder folder_;
};

// Weights, optimizer state, costs of all steps, evaluations.
void check_same(const Runs& runs, const std::string& a, const std::string& b, bool classes = true);

}  // namespace neon_test
