// neon compare RUN RUN...: best values, times, and what differs in spec, options, environment and data.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "neon/cli/expected_files.h"
#include "neon/cli/session.h"
#include "neon/cli/verb.h"
#include "neon/core/paths.h"
#include "neon/report/settings.h"
#include "neon/report/spec_differences.h"
#include "neon/train/atomic_file.h"
#include "neon/train/best_result.h"
#include "neon/train/checkpoint.h"
#include "neon/train/progress.h"
#include "neon/train/results_table.h"
#include "neon/train/run_folder.h"
#include "neon/train/shown_width.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;  // names and values, in order

// All values of a tree by their paths.
Texts flat(const Setting& setting) {
  Texts out;
  for (const Fact& fact : facts_of("", setting)) out.emplace_back(fact.key, fact.value);
  return out;
}

struct ComparedRun {
  std::string name;
  StoredRun run;
  Texts results;  // best values by column of results.csv
};

// The column of the cost of the set whose result is in the column `of`; past the end without one.
size_t cost_column(const std::vector<std::string>& names, const std::string& of) {
  const std::string set = of.substr(0, of.find('_'));
  return size_t(std::ranges::find(names, set == "train" ? "train_eval_cost" : set + "_cost") - names.begin());
}

double cell_number(const std::vector<std::string>& line, size_t column) {
  return column < line.size() && !line[column].empty() ? std::atof(line[column].c_str()) : std::nan("");
}

// "2.93e-02 (8)": the best value of each result with its epoch; of metrics that count better upwards the largest. The
// cost decides between epochs of equal values. Costs of the nets of earlier phases are others, and do not count.
Texts best_results(const std::string& table, const Experiment& experiment) {
  std::set<std::string> rising;
  for (const Metric::Result& result : experiment.results())
    if (result.better == Metric::Better::higher) rising.insert(result.name);
  const auto [lines, damage] = read_results(table);
  if (!damage.empty()) print_warnings({damage + "; lines that are damaged do not count"});
  if (lines.empty()) return {};
  const std::vector<std::string>& names = lines[0];
  const int64_t before = experiment.params.epochs - experiment.last_phase().epochs;
  constexpr size_t kFirstResult = 5;  // after epoch, step, cost, rate and seconds
  Texts out;
  for (size_t k = kFirstResult; k < names.size(); ++k) {
    const bool rises = rising.contains(names[k].substr(names[k].find('_') + 1));
    const size_t costs = cost_column(names, names[k]);
    double best = std::nan(""), best_cost = best;
    std::string epoch, any;
    for (size_t row = 1; row < lines.size(); ++row) {
      if (k >= lines[row].size() || lines[row][k].empty() || std::atoll(lines[row][0].c_str()) <= before) continue;
      any = lines[row][k];
      const double value = std::atof(any.c_str()), cost = cell_number(lines[row], costs);
      const bool is_better = rises ? value > best : value < best, wins_tie = value == best && cost < best_cost;
      if (!std::isfinite(value) || !(epoch.empty() || is_better || wins_tie)) continue;
      best = value, best_cost = cost, epoch = lines[row][0];
    }
    if (!any.empty())
      out.emplace_back("best " + names[k], epoch.empty() ? any : text(formatted("%.6g", best), " (epoch ", epoch, ")"));
  }
  return out;
}

// A run's folder, or a checkpoint.
ComparedRun open_compared(const std::string& operand) {
  ComparedRun out{operand, {}, {}};
  check_is_no_spec(operand, "a run's folder or a checkpoint (.safetensors)");
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(operand, ignored);
  const std::string path = checkpoint_at(operand, {kLastFile});
  std::vector<std::string> warnings;
  out.run = unpack_run(load_checkpoint(path, warnings), path);
  print_warnings(warnings);
  out.run.file.tensors.clear();
  const std::string table = join_path(is_folder ? operand : folder_of(operand), kResultsFile);
  if (is_folder || file_name_of(operand) == kLastFile) out.results = best_results(table, Experiment(out.run.spec));
  return out;
}

Texts facts(const ComparedRun& one) {
  const Position& at = one.run.position;
  Texts out = {{"epochs", std::to_string(at.epoch)},
               {"training time", duration_text(at.seconds)},
               {"time of an epoch", at.epoch > 0 ? duration_text(at.seconds / double(at.epoch)) : ""}};
  if (at.best && one.results.empty())
    out.emplace_back("best evaluation", text(formatted("%.6g", *at.best), " (epoch ", at.best_epoch, ")"));
  out.insert(out.end(), one.results.begin(), one.results.end());
  return out;
}

Texts environment(const ComparedRun& one) {
  const Position& at = one.run.position;
  Texts out = {{"seed", std::to_string(at.seed)},
               {"device", at.device},
               {"cuda", at.cuda},
               {"threads", std::to_string(at.threads)},
               {"x86-64 level", at.simd},
               {"neon", at.version},
               {"skipped steps", std::to_string(at.skipped)}};
  const Texts options = flat(write_params(one.run.options));
  // Names of files are each run's own; device and seed stand above.
  static const std::set<std::string> own = {"save_path", "output_file", "log_file",     "run_folder", "run_dir",
                                            "spec_dir",  "backend",     "progress_bar", "rng_seed",   "device_id"};
  for (const auto& [name, value] : options)
    if (!own.contains(name)) out.emplace_back("option " + name, value);
  return out;
}

Texts data(const ComparedRun& one) {
  return {{"data", one.run.position.data}, {"classes", std::to_string(one.run.meaning.classes)}};
}

// A name, and a value of each run; "" where a run has none.
struct CompareRow {
  std::string name;
  std::vector<std::string> values;
};

// A row for each name: those of all runs, in order. With `differing`, only rows that are not alike.
std::vector<CompareRow> rows_of(const std::vector<ComparedRun>& runs, Texts (*part)(const ComparedRun&),
                                bool differing) {
  std::vector<Texts> columns;
  std::vector<std::string> names;
  for (const ComparedRun& one : runs) {
    columns.push_back(part(one));
    for (const auto& [name, value] : columns.back())
      if (!std::ranges::count(names, name)) names.push_back(name);
  }
  std::vector<CompareRow> out;
  for (const std::string& name : names) {
    CompareRow row{name, {}};
    for (const Texts& column : columns) {
      const auto found = std::ranges::find(column, name, &std::pair<std::string, std::string>::first);
      row.values.push_back(found == column.end() ? "" : found->second.empty() ? "\"\"" : found->second);
    }
    if (!differing || std::ranges::count(row.values, row.values[0]) != std::ptrdiff_t(row.values.size()))
      out.push_back(std::move(row));
  }
  return out;
}

std::vector<CompareRow> spec_rows(const std::vector<ComparedRun>& runs) {
  std::vector<const Setting*> specs;
  for (const ComparedRun& one : runs) specs.push_back(&one.run.spec);
  std::vector<CompareRow> out;
  for (Difference& row : spec_differences(specs)) out.push_back({std::move(row.key), std::move(row.values)});
  return out;
}

struct ComparePart {
  std::string title;
  std::vector<CompareRow> rows;
};

constexpr size_t kWidestColumn = 48;

// Columns are as wide as their widest value, up to a limit. A longer value moves those behind it in its row.
void print_parts(const std::vector<ComparedRun>& runs, const std::vector<ComparePart>& parts) {
  CompareRow head;
  for (const ComparedRun& one : runs) head.values.push_back(one.name);
  size_t name_width = 28;
  std::vector<size_t> widths(runs.size(), 24);
  const auto widen = [&](const CompareRow& row) {
    name_width = std::max(name_width, std::min(shown_width(printable(row.name)), kWidestColumn));
    for (size_t r = 0; r < runs.size(); ++r)
      widths[r] = std::max(widths[r], std::min(shown_width(printable(row.values[r])), kWidestColumn));
  };
  const auto print_row = [&](const CompareRow& row) {
    std::string line = "  " + filled_up(printable(row.name), name_width);
    for (size_t r = 0; r < runs.size(); ++r) {
      const bool absent = row.values[r].empty() && !row.name.empty();
      line += "  " + filled_up(absent ? "-" : printable(row.values[r]), widths[r]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    print_result(line);
  };
  widen(head);
  for (const ComparePart& part : parts) std::ranges::for_each(part.rows, widen);
  print_row(head);
  for (const ComparePart& part : parts) {
    print_result(part.title + (part.rows.empty() ? ": no difference" : ""));
    std::ranges::for_each(part.rows, print_row);
  }
}

int run_compare(const CommandLine& line) {
  if (line.operands.size() < 2)
    fail(ErrorKind::config, "nothing to compare; usage: ", usage_of(*find_verb(line.verb)),
         " (folders of runs, or checkpoints)");
  std::vector<ComparedRun> runs;
  for (const std::string& operand : line.operands) runs.push_back(open_compared(operand));
  print_parts(runs, {{"results", rows_of(runs, facts, false)},
                     {"spec", spec_rows(runs)},
                     {"environment", rows_of(runs, environment, true)},
                     {"data", rows_of(runs, data, true)}});
  return 0;
}

}  // namespace

NEON_VERB(run_compare, "compare", 75, takes_nothing, "RUN RUN...",
          "print the best values and times of runs, and the differences of spec, environment and data");

}  // namespace neon
