// results.csv in a run's folder: a line for each epoch, with costs, results, learning rate and seconds.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "neon/train/experiment.h"
#include "neon/train/growing_file.h"
#include "neon/train/run_state.h"

namespace neon {

// The cells of a table's lines, the first of which has the names. Nothing follows a line that is not whole.
struct StoredResults {
  std::vector<std::vector<std::string>> lines;  // those that are damaged are left out
  std::string damage;                           // the first damage, for a message; "": no line is damaged
};
StoredResults read_results(const std::string& path);

class ResultsTable {
 public:
  // `set` is the name of what is evaluated; "": nothing is. A run that goes on keeps the lines before its position.
  ResultsTable(const std::string& path, const Experiment& experiment, const std::string& set, const Position& position);
  // The epoch that the position has just completed; without results where it was not evaluated. Returns a warning once
  // where the line cannot be written, else "".
  std::string add(const Position& position, const MeanCosts& costs, double rate, double seconds,
                  const std::map<std::string, double>& results);
  // Writes lines that could not be written before, and returns the same.
  std::string flush() { return file_.flush(); }
  // A warning about damaged lines of the former table, which are left out; "": no line is damaged.
  const std::string& damage() const { return damage_; }

 private:
  const size_t outputs_;            // that have targets of their own
  std::vector<std::string> names_;  // of the results, in the order of their columns
  std::string damage_;
  GrowingFile file_;
};

}  // namespace neon
