#include "neon/train/results_table.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

namespace neon {

namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream all(line + ",");
  for (std::string cell; std::getline(all, cell, ',');) out.push_back(cell);
  return out;
}

// The whole lines of a former table, of epochs before the position, with its cells under the names of this one. An
// empty cell stands for a number that the former run did not measure.
std::string kept_lines(const std::string& path, const std::string& names, const Position& position) {
  std::ifstream file(path, std::ios::binary);
  std::string line, out;
  std::getline(file, line);
  const std::vector<std::string> then = cells_of(line);
  while (std::getline(file, line) && !file.eof()) {
    if (std::atoll(line.c_str()) > position.epoch) continue;
    const std::vector<std::string> cells = cells_of(line);
    std::string kept;
    for (const std::string& name : cells_of(names)) {
      const auto found = size_t(std::ranges::find(then, name) - then.begin());
      kept += (kept.empty() ? "" : ",") + (found < cells.size() ? cells[found] : "");
    }
    out += kept + "\n";
  }
  return out;
}

}  // namespace

ResultsTable::ResultsTable(std::string path, const Experiment& experiment, const std::string& set,
                           const Position& position)
    : path_(std::move(path)), names_{"cost"} {
  if (set.empty()) names_.clear();
  for (const Metric::Result& result : set.empty() ? std::vector<Metric::Result>() : experiment.results())
    if (!std::ranges::count(names_, result.name)) names_.push_back(result.name);
  std::string content = "epoch,step,train_cost,learning_rate,seconds";
  for (const std::string& name : names_) content += "," + (name.starts_with(kOfTraining) ? name : text(set, "_", name));
  const std::string kept = position.step > 0 ? kept_lines(path_, content, position) : "";
  content += "\n" + kept;
  AtomicFile file(path_);
  file.write(content.data(), content.size());
  file.rename_over();
  file_ = file.release();
  end_ = content.size();
}

std::string ResultsTable::add(const Position& position, double cost, double rate, double seconds,
                              const std::map<std::string, double>& results) {
  std::string line = text(position.epoch, ",", position.step, ",", cost, ",", rate, ",", seconds);
  for (const std::string& name : names_) {
    const auto found = results.find(name);
    line += found == results.end() ? std::string(",") : text(",", found->second);
  }
  pending_ += line + "\n";
  return flush();
}

std::string ResultsTable::flush() {
  if (const int error = write_at(file_, end_, pending_.data(), pending_.size())) {
    if (std::exchange(failing_, true)) return "";
    return text("warning: cannot write ", path_, ": ", system_message(error), "; training goes on");
  }
  end_ += pending_.size();
  pending_.clear();
  return "";
}

}  // namespace neon
