#include "neon/report/curve_text.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "neon/core/text.h"
#include "neon/report/drawing.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr size_t kMostOfSetting = 40;

// The sign of a run in drawings: a star for one alone.
char sign_of(size_t run, size_t runs) {
  constexpr std::string_view kSigns = "abcdefghijklmnopqrstuvwxyz";
  return runs == 1 ? '*' : kSigns[run % kSigns.size()];
}

std::string short_number(double value) { return formatted("%.5g", value); }

// One curve of all runs, over steps: in each column the mean of the finite points there.
class CurveDrawing {
 public:
  CurveDrawing(const std::vector<ReportedRun>& runs, const std::string& name, int columns)
      : runs_(runs), name_(name), columns_(columns) {}

  std::vector<std::string> lines() {
    find_range();
    Drawing drawing(columns_, low_, high_);
    for (size_t r = 0; r < runs_.size(); ++r)
      if (const Curve* const curve = runs_[r].find(name_))
        for (const auto& [column, mean] : means_of(*curve)) drawing.mark(column, mean, mean, sign_of(r, runs_.size()));
    std::vector<std::string> out = {"", title()};
    const std::vector<std::string> drawn = drawing.lines("0", "step " + number(last_));
    out.insert(out.end(), drawn.begin(), drawn.end());
    return out;
  }

 private:
  void find_range() {
    for (const ReportedRun& run : runs_) {
      const Curve* const curve = run.find(name_);
      if (!curve) continue;
      last_ = std::max(last_, curve->steps.back());
      many_ = many_ || curve->values.size() > size_t(columns_);
      unit_ = curve->unit;
    }
    for (const ReportedRun& run : runs_)
      if (const Curve* const curve = run.find(name_))
        for (const auto& [column, mean] : means_of(*curve)) low_ = std::min(low_, mean), high_ = std::max(high_, mean);
  }
  std::string title() const {
    return text(name_, unit_.empty() ? "" : text(" (", unit_, ")"), many_ ? ", means of neighbouring points" : "");
  }
  std::map<int, double> means_of(const Curve& curve) const {
    std::map<int, double> out;
    std::map<int, int64_t> counts;
    for (size_t i = 0; i < curve.values.size(); ++i) {
      if (!std::isfinite(curve.values[i])) continue;
      const int column = std::clamp(int(curve.steps[i] / last_ * columns_ - 1e-9), 0, columns_ - 1);
      out[column] += curve.values[i];
      ++counts[column];
    }
    for (auto& [column, value] : out) value /= double(counts[column]);
    return out;
  }

  const std::vector<ReportedRun>& runs_;
  const std::string& name_;
  const int columns_;
  std::string unit_;
  double low_ = INFINITY, high_ = -INFINITY, last_ = 1;
  bool many_ = false;
};

bool is_flat(const std::vector<ReportedRun>& runs, const std::string& name, double& value) {
  bool first = true;
  for (const ReportedRun& run : runs)
    if (const Curve* const curve = run.find(name))
      for (const double each : curve->values) {
        if (!first && each != value) return false;
        value = each, first = false;
      }
  return true;
}

// The names of all curves, those of costs first, then those of metrics.
std::vector<std::string> curve_names(const std::vector<ReportedRun>& runs) {
  std::vector<std::string> out;
  for (const ReportedRun& run : runs)
    for (const Curve& curve : run.curves)
      if (!std::ranges::count(out, curve.name)) out.push_back(curve.name);
  const auto rank = [](const std::string& name) {
    return name.starts_with("cost/") ? 0 : name.starts_with("metrics/") ? 1 : 2;
  };
  std::ranges::stable_sort(out, {}, rank);
  return out;
}

void add_run_lines(const std::vector<ReportedRun>& runs, std::vector<std::string>& out) {
  for (size_t r = 0; r < runs.size(); ++r) {
    const ReportedRun& run = runs[r];
    std::string line = text(sign_of(r, runs.size()), ' ', run.name, ": ", run.status);
    for (const Fact& fact : run.facts)
      if (fact.group == "run" && (fact.key == "epochs" || fact.key == "steps"))
        line += text(", ", fact.key, ' ', fact.value);
    for (const Curve& curve : run.curves)
      if (curve.name.starts_with("cost/") || curve.name.starts_with("metrics/"))
        line += text(", ", curve.name, ' ', short_number(curve.values.back()));
    out.push_back(line);
  }
}

std::string short_setting(const std::string& value) { return value.empty() ? "-" : printable(value, kMostOfSetting); }

void add_differences(const std::vector<ReportedRun>& runs, std::vector<std::string>& out) {
  const std::vector<Difference> rows = differences(runs);
  if (rows.empty()) return;
  out.insert(out.end(), {"", "settings that differ"});
  for (const Difference& row : rows) {
    std::string line = text("  ", row.group, row.key.empty() ? "" : " ", row.key, ":");
    for (size_t r = 0; r < runs.size(); ++r)
      line += text(r ? ", " : " ", sign_of(r, runs.size()), ' ', short_setting(row.values[r]));
    out.push_back(line);
  }
}

}  // namespace

std::vector<std::string> runs_as_text(const std::vector<ReportedRun>& runs, int width) {
  std::vector<std::string> out, flat;
  add_run_lines(runs, out);
  for (const std::string& name : curve_names(runs)) {
    double value = 0;
    if (is_flat(runs, name, value)) {
      flat.push_back(text(name, ' ', short_number(value)));
      continue;
    }
    const std::vector<std::string> lines = CurveDrawing(runs, name, std::max(width - Drawing::kMargin, 20)).lines();
    out.insert(out.end(), lines.begin(), lines.end());
  }
  if (!flat.empty()) out.insert(out.end(), {"", "the same at every point: " + join(flat, ", ")});
  add_differences(runs, out);
  return out;
}

}  // namespace neon
