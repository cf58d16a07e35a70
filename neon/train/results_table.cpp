#include "neon/train/results_table.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "datasets/csv.h"
#include "datasets/file.h"
#include "datasets/table_cell.h"
#include "neon/core/error.h"
#include "neon/train/csv_text.h"
#include "neon/train/result_names.h"

namespace neon {

namespace {

constexpr int64_t kMostBytesOfResults = int64_t(1) << 30;

// The lines of epochs before the position, with the cells under the names of this table. An empty cell stands for a
// number that the former run did not measure.
std::string kept_lines(const std::vector<std::vector<std::string>>& lines, const std::vector<std::string>& names,
                       const Position& position) {
  std::string out;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (std::atoll(lines[i].front().c_str()) > position.epoch) continue;
    std::vector<std::string> kept;
    for (const std::string& name : names) {
      const auto found = size_t(std::ranges::find(lines[0], name) - lines[0].begin());
      kept.push_back(found < lines[0].size() ? lines[i][found] : "");
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

namespace {

// The fault of a line behind the first, whose cells are the names of the columns; "" without one.
std::string fault_of(const std::vector<CsvCell>& cells, const std::vector<std::string>& names) {
  if (names.empty()) return cells.front().text == "epoch" ? "" : "the names of the columns are missing";
  const std::string_view epoch = cells.front().text;
  if (epoch.empty() || epoch.find_first_not_of("0123456789") != epoch.npos)
    return text(in_quotes(epoch), " is no number of an epoch");
  if (cells.size() != names.size()) return text("expected ", names.size(), " cells, found ", cells.size());
  double value = 0;
  for (const CsvCell& cell : cells)
    if (!cell.text.empty() && !parse_number(cell.text, value) && !cell.text.ends_with("nan") &&
        !cell.text.ends_with("inf"))
      return text(in_quotes(cell.text), " is no number");
  return "";
}

}  // namespace

StoredResults read_results(const std::string& path) {
  StoredResults out;
  const auto damaged = [&](const std::string& what) {
    if (out.damage.empty()) out.damage = what;
  };
  try {
    std::string content = file_exists(path) ? read_file(path, kMostBytesOfResults) : "";
    content.resize(content.rfind('\n') + 1);  // a line that is not whole ends the file
    CsvReader reader(content, ',', path);
    for (std::vector<CsvCell> cells; reader.next(cells);) {
      const std::string fault = fault_of(cells, out.lines.empty() ? std::vector<std::string>() : out.lines.front());
      if (!fault.empty()) {
        damaged(text(path, ':', reader.line(cells.front().at), ": ", fault));
        if (out.lines.empty()) break;
        continue;
      }
      out.lines.emplace_back();
      for (const CsvCell& cell : cells) out.lines.back().emplace_back(cell.text);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    damaged(error.what());
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
  std::string content = csv_record(columns) + "\n";
  if (position.step > 0) {
    const StoredResults former = read_results(path);
    content += kept_lines(former.lines, columns, position);
    if (!former.damage.empty())
      damage_ = text("warning: ", former.damage, "; the table goes on without the lines that are damaged");
  }
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
