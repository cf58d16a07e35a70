// Learning-rate schedules: the rate at a place in the run, from the rate given to the optimizer.
#pragma once
#include "neon/core/registry.h"

namespace neon {

// Where a run is. Epochs count from 0; `step` counts all steps done so far.
struct Progress {
  int64_t epoch = 0, step = 0;
  int64_t steps_per_epoch = 1, epochs = 1;
  double fraction() const { return double(step) / double(steps_per_epoch); }  // epochs, with parts
};

class Schedule {
 public:
  static constexpr const char* kCategory = "schedule";
  virtual ~Schedule() = default;
  virtual const void* params_address() const = 0;
  virtual double rate(double base, const Progress& progress) const = 0;
};

}  // namespace neon
