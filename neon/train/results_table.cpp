#include "neon/train/results_table.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "datasets/csv.h"
#include "datasets/file.h"
#include "neon/core/error.h"
#include "neon/train/csv_text.h"
#include "neon/train/result_names.h"

namespace neon {

namespace {

constexpr int64_t kMostBytesOfResults = int64_t(1) << 30;

// The lines of a former table, of epochs before the position, with its cells under the names of this one. An empty cell
// stands for a number that the former run did not measure.
std::string kept_lines(const std::string& path, const std::vector<std::string>& names, const Position& position) {
  const auto lines = read_results(path);
  std::string out;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (std::atoll(lines[i].front().c_str()) > position.epoch) continue;
    std::vector<std::string> kept;
    for (const std::string& name : names) {
      const auto found = size_t(std::ranges::find(lines[0], name) - lines[0].begin());
      kept.push_back(found < std::min(lines[0].size(), lines[i].size()) ? lines[i][found] : "");
    }
    out += csv_record(kept) + "\n";
  }
  return out;
}

// The column of a result of `set`. Beside train_cost, the mean over an epoch while the net learns, the cost of training
// samples that are evaluated has a name of its own.
std::string column_of(const std::string& result, const std::string& set) {
  if (result == kOfTraining + "cost") return kOfTraining + "eval_cost";
  return result.starts_with(kOfTraining) ? result : text(set, "_", result);
}

}  // namespace

std::vector<std::vector<std::string>> read_results(const std::string& path) {
  std::vector<std::vector<std::string>> out;
  try {
    std::string content = file_exists(path) ? read_file(path, kMostBytesOfResults) : "";
    content.resize(content.rfind('\n') + 1);  // a line that is not whole ends the file
    CsvReader reader(content, ',', path);
    for (std::vector<CsvCell> cells; reader.next(cells);) {
      out.emplace_back();
      for (const CsvCell& cell : cells) out.back().emplace_back(cell.text);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
  }
  return out;
}

ResultsTable::ResultsTable(const std::string& path, const Experiment& experiment, const std::string& set,
                           const Position& position)
    : outputs_(experiment.params.outputs.size()), names_{"cost"} {
  if (set.empty()) names_.clear();
  else std::ranges::copy(reported_names(experiment), std::back_inserter(names_));
  std::vector<std::string> columns = {"epoch", "step", "train_cost", "learning_rate", "seconds"};
  for (const auto& [name, output] : experiment.params.outputs) columns.push_back("epoch_" + name + ".cost");
  for (const std::string& name : names_) columns.push_back(column_of(name, set));
  const std::string content =
      csv_record(columns) + "\n" + (position.step > 0 ? kept_lines(path, columns, position) : "");
  AtomicFile file(path);
  file.write(content.data(), content.size());
  file.rename_over();
  file_ = GrowingFile(path, file.release(), content.size());
}

std::string ResultsTable::add(const Position& position, const MeanCosts& costs, double rate, double seconds,
                              const std::map<std::string, double>& results) {
  std::vector<std::string> cells = {text(position.epoch), text(position.step), text(costs.all), text(rate),
                                    text(seconds)};
  for (size_t i = 0; i < outputs_; ++i) cells.push_back(i < costs.outputs.size() ? text(costs.outputs[i]) : "");
  for (const std::string& name : names_) {
    const auto found = results.find(name);
    cells.push_back(found == results.end() ? "" : text(found->second));
  }
  file_.add(csv_record(cells) + "\n");
  return flush();
}

}  // namespace neon
