// Callbacks: things that happen at the end of an epoch. What they remember is saved with the run.
#pragma once
#include <map>
#include <string>

#include "backends/program.h"
#include "neon/core/registry.h"

namespace neon {

// What a callback sees when an epoch has ended.
struct EpochEnd {
  int64_t epoch = 0;                      // epochs done
  double train_cost = 0;                  // mean over the epoch
  std::map<std::string, double> results;  // of the evaluation, when there was one: "cost", "Top1Misclass"
  Variables& variables;
  bool stop = false;    // set to end the run here
  std::string message;  // a line for the user
};

class Callback {
 public:
  static constexpr const char* kCategory = "callback";
  virtual ~Callback() = default;
  virtual const void* params_address() const = 0;
  virtual void epoch_end(EpochEnd& end) = 0;
  virtual void train_end(Variables& variables, std::string& message) { (void)variables, (void)message; }
  virtual bool needs_evaluation() const { return false; }
  // State: numbers by name, and arrays by name, for the checkpoint.
  virtual std::map<std::string, double> state() const { return {}; }
  virtual void restore(const std::map<std::string, double>& state) { (void)state; }
  virtual std::map<std::string, Tensor> arrays() const { return {}; }
  virtual void restore_arrays(const std::map<std::string, Tensor>& arrays) { (void)arrays; }
};

}  // namespace neon
