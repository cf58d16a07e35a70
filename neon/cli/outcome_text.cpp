#include "neon/cli/outcome_text.h"

#include <algorithm>

#include "datasets/sample_meaning.h"
#include "neon/train/csv_text.h"
#include "neon/train/shown_width.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

using nlohmann::json;

// As wide as `width` letters: spaces follow a shorter name, and a longer one ends in dots.
std::string padded(const std::string& name, size_t width) {
  std::string out = printable(name);
  for (size_t most = width; shown_width(out) > width && most > 0; --most) out = printable(name, most);
  return filled_up(out, width);
}

size_t widest(const std::vector<std::string>& names, size_t count) {
  size_t out = 14;  // "weighted mean"
  for (size_t k = 0; k < count; ++k) out = std::max(out, shown_width(printable(name_at(names, int64_t(k)))));
  return std::min<size_t>(out, 30);
}

void print_line(const std::string& name, size_t width, const ClassReport::OfClass& of, LabelOf label_of) {
  std::string line = padded(name, width) + formatted("  %9.4f  %6.4f  %6.4f", of.precision, of.recall, of.f1);
  if (label_of == LabelOf::pixel) line += formatted("  %6.4f", of.iou);
  print_result(line + formatted("  %7lld", (long long)of.support));
}

// "support" of samples, "pixels" or "steps".
std::string support_name(LabelOf of) { return of == LabelOf::sample ? "support" : text(name_of(of), "s"); }

void print_confusion(const ClassReport& report, const std::vector<std::string>& names) {
  constexpr size_t kMost = 20, kNarrow = 8, kWide = 12;
  const size_t classes = report.classes.size(), width = widest(names, classes);
  if (classes > kMost) {
    print_result(text("confusion     of ", classes, " classes: --report --format json prints it"));
    return;
  }
  size_t column = kNarrow;  // wide names have room beside few others
  for (size_t k = 0; k < classes && classes <= kMost / 2; ++k)
    column = std::max(column, std::min(kWide, shown_width(printable(name_at(names, int64_t(k))))));
  for (const std::vector<int64_t>& row : report.confusion)
    for (const int64_t count : row) column = std::max(column, std::to_string(count).size());
  print_result(padded("true class", width) + "  predicted");
  std::string line(width, ' ');
  for (size_t k = 0; k < classes; ++k) line += "  " + padded(name_at(names, int64_t(k)), column);
  print_result(line);
  for (size_t k = 0; k < classes; ++k) {
    std::string row = padded(name_at(names, int64_t(k)), width);
    for (const int64_t count : report.confusion[k]) row += "  " + padded(std::to_string(count), column);
    print_result(row);
  }
}

json of_class_json(const ClassReport::OfClass& of, LabelOf label_of) {
  json out = {{"precision", of.precision}, {"recall", of.recall}, {"f1", of.f1}, {"support", of.support}};
  if (label_of == LabelOf::pixel) out["iou"] = of.iou;
  return out;
}

json value_json(const ValueReport& of) {
  return {{"bias", of.bias}, {"deviation", of.deviation}, {"MAE", of.mae},         {"RMSE", of.rmse},
          {"R2", of.r2},     {"quantiles", of.quantiles}, {"largest", of.largest}, {"largest_at", of.largest_at}};
}

}  // namespace

void print_class_report(const ClassReport& report, const std::vector<std::string>& names, LabelOf of) {
  const size_t width = widest(names, report.classes.size());
  constexpr size_t kMostLines = 50;
  print_result(text(padded("class", width), "  precision  recall      f1", of == LabelOf::pixel ? "     iou" : "",
                    formatted("  %7s", support_name(of).c_str())));
  for (size_t k = 0; k < std::min(report.classes.size(), kMostLines); ++k)
    print_line(name_at(names, int64_t(k)), width, report.classes[k], of);
  if (report.classes.size() > kMostLines)
    print_result(text("and ", report.classes.size() - kMostLines, " more: --report --format csv prints all"));
  print_line("mean", width, report.macro, of);
  print_line("weighted mean", width, report.weighted, of);
  if (report.confusion.empty()) return print_result(formatted("all labels right  %.4f", report.accuracy));
  print_confusion(report, names);
  if (report.bins.empty()) return;
  print_result(formatted("calibration   error %.4f", report.calibration_error));
  for (const ClassReport::Bin& bin : report.bins)
    print_result(formatted("  outputs %.1f to %.1f: mean %.3f, right %.3f, %lld sample%s", bin.low, bin.high,
                           bin.output, bin.right, (long long)bin.samples, bin.samples == 1 ? "" : "s"));
}

void print_class_table(const ClassReport& report, const std::vector<std::string>& names, LabelOf of) {
  const bool pixels = of == LabelOf::pixel;
  print_record(text("class,precision,recall,f1,support", pixels ? ",iou" : ""));
  for (size_t k = 0; k < report.classes.size(); ++k) {
    const ClassReport::OfClass& one = report.classes[k];
    const std::string line =
        text(csv_cell(name_at(names, int64_t(k))), ",", one.precision, ",", one.recall, ",", one.f1, ",", one.support);
    print_record(pixels ? text(line, ",", one.iou) : line);
  }
}

json class_report_json(const ClassReport& report, const std::vector<std::string>& names, LabelOf label_of) {
  json classes = json::array(), bins = json::array();
  for (size_t k = 0; k < report.classes.size(); ++k) {
    json of = of_class_json(report.classes[k], label_of);
    of["class"] = name_at(names, int64_t(k));
    classes.push_back(std::move(of));
  }
  for (const ClassReport::Bin& bin : report.bins)
    bins.push_back(
        {{"low", bin.low}, {"high", bin.high}, {"output", bin.output}, {"right", bin.right}, {"samples", bin.samples}});
  json out = {{"classes", std::move(classes)},
              {"mean", of_class_json(report.macro, label_of)},
              {"weighted_mean", of_class_json(report.weighted, label_of)},
              {"accuracy", report.accuracy}};
  if (label_of != LabelOf::sample) out["support_of"] = text(name_of(label_of), "s");
  if (!report.confusion.empty()) out["confusion"] = report.confusion;
  if (!report.bins.empty()) out["calibration"] = {{"error", report.calibration_error}, {"bins", std::move(bins)}};
  return out;
}

void print_value_report(const Outcome& outcome, const std::vector<std::string>& names) {
  const size_t width = widest(names, size_t(outcome.width));
  print_result(padded("output", width) + "         MAE        RMSE        R2        bias   deviation     largest");
  for (int64_t k = 0; k < outcome.width; ++k) {
    const ValueReport of = value_report(outcome, k);
    print_result(text(padded(name_at(names, int64_t(k)), width),
                      formatted("  %10.4g  %10.4g  %8.4f  %10.4g  %10.4g  %10.4g (sample %lld)", of.mae, of.rmse, of.r2,
                                of.bias, of.deviation, of.largest, (long long)of.largest_at)));
    print_result(text(padded("", width),
                      formatted("  residuals: 5 %% %.4g, 25 %% %.4g, 50 %% %.4g, 75 %% %.4g, 95 %% %.4g",
                                of.quantiles[0], of.quantiles[1], of.quantiles[2], of.quantiles[3], of.quantiles[4])));
  }
}

void print_value_table(const Outcome& outcome, const std::vector<std::string>& names) {
  print_record("output,MAE,RMSE,R2,bias,deviation,largest,largest_at,q05,q25,q50,q75,q95");
  for (int64_t k = 0; k < outcome.width; ++k) {
    const ValueReport of = value_report(outcome, k);
    std::string line = text(csv_cell(name_at(names, int64_t(k))), ",", of.mae, ",", of.rmse, ",", of.r2, ",", of.bias,
                            ",", of.deviation, ",", of.largest, ",", of.largest_at);
    for (const double quantile : of.quantiles) line += text(",", quantile);
    print_record(line);
  }
}

json value_report_json(const Outcome& outcome, const std::vector<std::string>& names) {
  json out = json::array();
  for (int64_t k = 0; k < outcome.width; ++k) {
    json of = value_json(value_report(outcome, k));
    of["output"] = name_at(names, int64_t(k));
    out.push_back(std::move(of));
  }
  return {{"outputs", std::move(out)}};
}

}  // namespace neon
