#include "neon/cli/format_table.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "models/step_graph.h"
#include "neon/core/error.h"
#include "neon/train/metrics_file.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

using Sizes = std::map<std::string, SizeCounts>;

std::string percent_of(double share) {
  if (share == 0) return "0";
  return share < 5e-5 ? "<0.01 %" : formatted("%.2f %%", 100 * share);
}

std::vector<double> of_runs(const FormatRow& row, auto&& number) {
  std::vector<double> out;
  for (const FormatRun& run : row.runs) out.push_back(double(number(run)));
  return out;
}

// Whether a run failed after others had not.
bool lacks_runs(const FormatRow& row) { return !row.runs.empty() && !row.cause.empty(); }

double loss_scale_of(const FormatRow& row) { return row.runs.empty() ? 1 : row.runs.front().loss_scale; }

// The sizes of all runs in f32, which hold what the narrower types would lose.
Sizes reference_of(const std::vector<FormatRow>& rows) {
  Sizes out;
  for (const FormatRun& run : rows.front().runs)
    for (const auto& [name, counts] : run.sizes) {
      SizeCounts& sum = out[name];
      sum.gradient = counts.gradient;
      sum.elements += counts.elements;
      sum.bins.resize(size_t(kSizes));
      for (size_t i = 0; i < sum.bins.size(); ++i) sum.bins[i] += counts.bins[i];
    }
  return out;
}

// The shares of all arrays together, each with its own scale.
LostShares lost_by(const FormatRow& row, const Sizes& reference) {
  LostShares out;
  double elements = 0, numbers = 0;
  for (const auto& [name, counts] : reference) {
    const LostShares lost = lost_shares(row.format, counts, loss_scale_of(row));
    const double own = counts.elements - counts.bins[0];
    out.overflow += lost.overflow * counts.elements, out.underflow += lost.underflow * own;
    elements += counts.elements, numbers += own;
  }
  if (elements > 0) out.overflow /= elements;
  if (numbers > 0) out.underflow /= numbers;
  return out;
}

void print_row(const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  std::string out;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = printable(cells[i]);
    const std::string space(cell.size() < widths[i] ? widths[i] - cell.size() : 0, ' ');
    out += (i ? "  " : "") + (i ? space + cell : cell + space);
  }
  while (out.ends_with(' ')) out.pop_back();
  print_result(out);
}

void print_cells(const std::vector<std::vector<std::string>>& table) {
  std::vector<size_t> widths(table.front().size());
  for (const auto& row : table)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : table) print_row(row, widths);
}

}  // namespace

std::string folder_of_formats(const CommandLine& line, const std::string& spec) {
  if (!line.of_verb.folder.empty()) return line.of_verb.folder;
  return std::filesystem::path(spec).stem().string() + "-formats";
}

MeanAndDeviation spread_of(const std::vector<double>& numbers) {
  MeanAndDeviation out;
  for (const double x : numbers) out.mean += x / double(numbers.size());
  double squares = 0;
  for (const double x : numbers) squares += (x - out.mean) * (x - out.mean);
  if (numbers.size() > 1) out.deviation = std::sqrt(squares / double(numbers.size() - 1));
  return out;
}

void print_format_table(const std::vector<FormatRow>& rows) {
  const Sizes reference = reference_of(rows);
  const std::string metric = rows.front().runs.empty() ? "result" : rows.front().runs.front().metric;
  std::vector<std::vector<std::string>> table = {
      {"format", metric, "deviation", "seconds", "memory", "skipped", "overflow", "underflow"}};
  for (const FormatRow& row : rows) {
    std::vector<std::string> cells = {row.format.name + (lacks_runs(row) ? "*" : "")};
    if (row.runs.empty()) {
      cells.insert(cells.end(), {row.cause.empty() ? "-" : "failed", "-", "-", "-", "-"});
    } else {
      const auto result = spread_of(of_runs(row, [](const FormatRun& run) { return run.objective; }));
      const auto seconds = spread_of(of_runs(row, [](const FormatRun& run) { return run.seconds; }));
      const auto skipped = spread_of(of_runs(row, [](const FormatRun& run) { return run.skipped; }));
      cells.insert(cells.end(), {formatted("%.4g", result.mean), formatted("%.2g", result.deviation),
                                 formatted("%.3g", seconds.mean), bytes_text(row.runs.front().bytes),
                                 formatted("%.3g", skipped.mean)});
    }
    const LostShares lost = lost_by(row, reference);
    cells.insert(cells.end(), {percent_of(lost.overflow), percent_of(lost.underflow)});
    table.push_back(std::move(cells));
  }
  print_cells(table);
  for (const FormatRow& row : rows)
    if (lacks_runs(row))
      print_result(text("* ", row.format.name, ": means of ", row.runs.size(), row.runs.size() == 1 ? " run" : " runs",
                        "; the next failed: ", row.cause));
}

void print_lost_shares(const std::vector<FormatRow>& rows) {
  if (reference_of(rows).empty()) return;  // no run in f32 to compare with
  std::vector<std::vector<std::string>> table = {{"array", "format", "overflow", "underflow"}};
  for (const auto& [name, counts] : reference_of(rows))
    for (const FormatRow& row : rows) {
      const LostShares lost = lost_shares(row.format, counts, loss_scale_of(row));
      if (row.format.same_range || (lost.overflow == 0 && lost.underflow == 0)) continue;
      table.push_back({name, row.format.name, percent_of(lost.overflow), percent_of(lost.underflow)});
    }
  if (table.size() == 1) return print_result("no format loses a weight or a gradient that f32 holds");
  print_cells(table);
}

void write_format_table(const std::string& path, const std::vector<FormatRow>& rows, bool overwrite) {
  const Sizes reference = reference_of(rows);
  struct Curve {
    std::string path;
    std::vector<double> values;
  };
  std::vector<Curve> curves;
  std::vector<AttributeSpec> attributes;
  for (const FormatRow& row : rows) {
    const std::string group = row.format.key();
    if (!row.runs.empty()) {
      curves.push_back({group + "/seed", of_runs(row, [](const FormatRun& run) { return run.seed; })});
      curves.push_back({group + "/objective", of_runs(row, [](const FormatRun& run) { return run.objective; })});
      curves.push_back({group + "/seconds", of_runs(row, [](const FormatRun& run) { return run.seconds; })});
      curves.push_back({group + "/bytes", of_runs(row, [](const FormatRun& run) { return run.bytes; })});
      curves.push_back({group + "/skipped", of_runs(row, [](const FormatRun& run) { return run.skipped; })});
    }
    for (const auto& [name, counts] : reference) {
      const LostShares lost = lost_shares(row.format, counts, loss_scale_of(row));
      curves.push_back({text(group, "/overflow/", name), {lost.overflow}});
      curves.push_back({text(group, "/underflow/", name), {lost.underflow}});
    }
    if (!row.cause.empty()) attributes.push_back({group, "cause", row.cause});
    if (!row.runs.empty()) attributes.push_back({group, "metric", row.runs.front().metric});
  }
  for (const auto& [name, counts] : reference) curves.push_back({"hist/" + name, counts.bins});
  if (!reference.empty()) attributes.push_back({"hist", "offset", int64_t(kSizeOfZero)});
  std::vector<SeriesSpec> series;
  for (const Curve& curve : curves) {
    SeriesSpec spec;
    spec.path = curve.path;
    spec.length = int64_t(curve.values.size());
    spec.dtype = DType::f64;
    series.push_back(spec);
  }
  std::error_code ignored;
  if (overwrite) std::filesystem::remove(path, ignored);
  MetricsFile file(path, series, attributes);
  for (const Curve& curve : curves)
    for (size_t i = 0; i < curve.values.size(); ++i) file.set(curve.path, int64_t(i), curve.values[i]);
  file.close(RunStatus::complete);
  if (!file.is_kept()) fail(ErrorKind::failed, path, ": cannot be written: ", join(file.take_messages(), "; "));
}

}  // namespace neon
