// How a run of the Trainer ended.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "neon/train/run_start.h"

namespace neon {

struct RunResult {
  std::map<std::string, double> results;  // of the last evaluation of the set during training
  std::map<std::string, double> at_end;   // of the test samples, where those are another set
  std::optional<double> cost;             // mean of the last epoch that was trained here
  Position position;
  int signal = 0;                  // that stopped the run
  bool in_evaluation = false;      // the signal came after the last step
  std::vector<std::string> files;  // written; without the checkpoint's where none was worth it
  bool saved = false;              // there is a checkpoint of this run
  std::string set;                 // name of the set during training, whose results tell the best net
  std::optional<double> waiting;   // share of the time that was spent waiting for data, where it is streamed
};

}  // namespace neon
