// BatchNormTune of neon 1.x: running means lag behind the weights, and so batch norm's statistics are measured anew.
#include "neon/core/key_error.h"
#include "neon/train/callback.h"

namespace neon {

namespace {

struct BatchNormTune : Parametrized<Callback, NoParams> {
  using Parametrized::Parametrized;
  bool tunes_batch_norm() const override { return true; }
  void plan(RunPlan& plan) override {
    if (plan.graph.states.empty())
      fail_about("callbacks", "BatchNormTune: the net keeps no statistics of a batch norm; leave BatchNormTune out");
  }
};
NEON_REGISTER(Callback, BatchNormTune,
              "Measures the statistics of batch norm anew after each epoch, before its evaluation: as means over the "
              "whole batches of a pass over the training set with the weights as they are.",
              {"BatchNormTuneCallback"});

}  // namespace

}  // namespace neon
