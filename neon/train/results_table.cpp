#include "neon/train/results_table.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace neon {

namespace {

// The whole lines of a former table, of epochs before the position.
std::string kept_lines(const std::string& path, const Position& position) {
  std::ifstream file(path, std::ios::binary);
  std::string out, line;
  for (int64_t count = 0; std::getline(file, line) && !file.eof(); ++count)
    if (count > 0 && std::atoll(line.c_str()) <= position.epoch) out += line + "\n";
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
  content += "\n";
  if (position.step > 0) content += kept_lines(path_, position);
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
