// The trials of a search, in a folder: settings.json says what is searched and how, trials.jsonl has a line for each
// trial. Both are whole at any instant.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neon/search/space.h"
#include "neon/train/atomic_file.h"

namespace neon {

struct Trial {
  enum class Status { running, done, pruned, failed, diverged };
  int64_t number = 0;  // from 1
  Values values;
  uint64_t seed = 0;
  Status status = Status::running;
  std::optional<double> objective;                // the last of the curve
  std::optional<double> cost;                     // of the same evaluation, where the objective is another result
  std::vector<std::pair<int64_t, double>> curve;  // epochs done, objective
  int64_t epochs = 0;
  double seconds = 0;
  std::string cause;     // of a failure
  bool of_spec = false;  // it failed for something in the spec
};

const char* name_of(Trial::Status status);

// The result by which a search compares its trials.
struct Objective {
  std::string name;  // "" until the first trial tells
  bool rises = false;
  // The number that is to become small.
  double cost(double value) const { return rises ? -value : value; }
};

class TrialFolder {
 public:
  // Makes the folder, or reads the one that is there. `settings` are those of the search; a config error says which one
  // differs from those of the trials that are there. One search at a time has the folder.
  TrialFolder(const std::string& folder, const nlohmann::ordered_json& settings);

  std::vector<Trial>& trials() { return trials_; }
  const std::vector<Trial>& trials() const { return trials_; }
  const Objective& objective() const { return objective_; }
  void set_objective(const Objective& objective);
  // Brings the file up to date.
  void save() const;
  // A file's name in the folder.
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  // The best trial that was trained to its end, of equal ones that of the lower cost, or else the first; null without
  // one.
  const Trial* best() const;

 private:
  void read_trials();
  void write_settings() const;

  const std::string folder_;
  nlohmann::ordered_json settings_;
  Objective objective_;
  std::vector<Trial> trials_;
  FileHandle lock_;
};

// Numbers stay numbers.
nlohmann::ordered_json json_of(const Values& values);

// The seed of the search in a folder; nothing in a folder without a search.
std::optional<uint64_t> stored_seed(const std::string& folder);

// Writes a small file whole. Throws a failed error.
void write_whole(const std::string& path, const std::string& content);

}  // namespace neon
