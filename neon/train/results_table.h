// results.csv in a run's folder: a line for each epoch, with costs, results, learning rate and seconds.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "neon/train/atomic_file.h"
#include "neon/train/experiment.h"
#include "neon/train/run_state.h"

namespace neon {

// The cells of a table's lines, the first of which has the names. Nothing follows a line that is not whole.
std::vector<std::vector<std::string>> read_results(const std::string& path);

class ResultsTable {
 public:
  // `set` is the name of what is evaluated; "": nothing is. A run that goes on keeps the lines before its position.
  ResultsTable(std::string path, const Experiment& experiment, const std::string& set, const Position& position);
  // The epoch that the position has just completed; without results where it was not evaluated. Returns a warning once
  // where the line cannot be written, else "".
  std::string add(const Position& position, const MeanCosts& costs, double rate, double seconds,
                  const std::map<std::string, double>& results);
  // Writes lines that could not be written before, and returns the same.
  std::string flush();

 private:
  const std::string path_;
  const size_t outputs_;            // that have targets of their own
  std::vector<std::string> names_;  // of the results, in the order of their columns
  FileHandle file_;
  size_t end_ = 0;       // of the lines that are in the file
  std::string pending_;  // lines that are not
  bool failing_ = false;
};

}  // namespace neon
