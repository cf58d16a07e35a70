#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "neon/core/version.h"
#include "neon/report/base64.h"
#include "neon/report/page.h"
#include "neon/report/thin.h"

namespace neon {

namespace {

using PageJson = nlohmann::ordered_json;

constexpr size_t kHistogramBytes = 1'500'000;  // of all histograms of a page
constexpr size_t kLeastColumns = 16, kMostColumns = 240;

// Whole numbers below 2^32 as such: steps.
std::string steps_text(const std::vector<double>& steps) { return base64_of<uint32_t>(steps); }

PageJson curve_json(const Curve& curve, size_t most) {
  const ThinCurve kept = thin(curve, most);
  std::vector<double> steps, values;
  for (const size_t i : kept.kept) steps.push_back(curve.steps[i]), values.push_back(curve.values[i]);
  PageJson out = {{"name", curve.name},
                  {"unit", curve.unit},
                  {"points", curve.values.size()},
                  {"every", curve.every},
                  {"steps", steps_text(steps)},
                  {"type", curve.wide ? "f8" : "f4"},
                  {"values", curve.wide ? base64_of<double>(values) : base64_of<float>(values)}};
  if (kept.whole) return out;
  std::vector<double> ends;
  for (const size_t end : kept.ends) ends.push_back(curve.steps[end - 1]);
  out["bucket"] = {{"points", double(curve.values.size()) / double(kept.ends.size())},
                   {"steps", steps_text(ends)},
                   {"means", base64_of<float>(kept.means)}};
  return out;
}

// Neighbours are added up until there are at most `most` points.
PageJson histogram_json(const HistogramCurve& histogram, size_t most) {
  const size_t n = histogram.steps.size(), columns = std::min(n, most), bins = size_t(histogram.bins);
  std::vector<double> steps, counts(columns * bins);
  for (size_t column = 0; column < columns; ++column) {
    const size_t begin = column * n / columns, end = (column + 1) * n / columns;
    for (size_t i = begin; i < end; ++i)
      for (size_t bin = 0; bin < bins; ++bin) counts[column * bins + bin] += double(histogram.counts[i * bins + bin]);
    steps.push_back(histogram.steps[end - 1]);
  }
  return {{"name", histogram.name},     {"bins", bins},
          {"offset", histogram.offset}, {"points", n},
          {"steps", steps_text(steps)}, {"counts", base64_of<float>(counts)}};
}

PageJson timeline_json(const Timeline& line) {
  return {{"steps", line.steps}, {"epochs", line.epochs}, {"seconds", line.seconds}};
}

PageJson net_json(const RunViews& views) {
  if (!views.net) return {};
  PageJson out = {{"width", std::ceil(views.net->width)},
                  {"height", std::ceil(views.net->height)},
                  {"summary", views.net_summary},
                  {"boxes", PageJson::array()},
                  {"lines", PageJson::array()}};
  for (const NetBox& box : views.net->boxes)
    out["boxes"].push_back({{"title", box.title},
                            {"name", box.name},
                            {"notes", box.notes},
                            {"look", name_of(box.look)},
                            {"x", std::round(box.x)},
                            {"y", std::round(box.y)},
                            {"width", std::round(box.width)},
                            {"height", std::round(box.height)}});
  for (const NetLine& line : views.net->lines) out["lines"].push_back(path_of(line));
  return out;
}

PageJson evaluation_json(const RunViews& views) {
  if (views.evaluation.empty()) return {};
  PageJson out = PageJson::parse(views.evaluation);
  out["note"] = views.evaluation_note;
  out["tables"] = PageJson::array();
  for (const ListedSamples& table : views.tables)
    out["tables"].push_back({{"title", table.title}, {"heads", table.heads}, {"rows", table.rows}});
  return out;
}

PageJson sheet_json(const PictureSheet& sheet) {
  return {{"title", sheet.title}, {"note", sheet.note},     {"png", base64(sheet.png)},
          {"count", sheet.count}, {"gap", sheet.gap},       {"columns", sheet.columns},
          {"width", sheet.width}, {"height", sheet.height}, {"captions", sheet.captions}};
}

PageJson run_json(const ReportedRun& run, size_t most, size_t columns) {
  PageJson out = {{"name", run.name},
                  {"path", run.path},
                  {"status", run.status},
                  {"timeline", timeline_json(run.timeline)},
                  {"curves", PageJson::array()},
                  {"histograms", PageJson::array()},
                  {"facts", PageJson::array()},
                  {"documents", PageJson::array()}};
  for (const Curve& curve : run.curves) out["curves"].push_back(curve_json(curve, most));
  for (const HistogramCurve& histogram : run.histograms)
    out["histograms"].push_back(histogram_json(histogram, columns));
  for (const Fact& fact : run.facts) out["facts"].push_back({fact.group, fact.key, fact.value});
  out["net"] = net_json(run.views);
  out["evaluation"] = evaluation_json(run.views);
  out["sheets"] = PageJson::array();
  for (const PictureSheet& sheet : run.views.sheets) out["sheets"].push_back(sheet_json(sheet));
  for (const RunText& document : run.documents) out["documents"].push_back({document.title, document.content});
  return out;
}

size_t columns_within(const std::vector<ReportedRun>& runs, size_t budget) {
  size_t bytes_of_column = 1;
  for (const ReportedRun& run : runs)
    for (const HistogramCurve& histogram : run.histograms) bytes_of_column += size_t(histogram.bins) * sizeof(float);
  return std::clamp(budget / bytes_of_column, kLeastColumns, kMostColumns);
}

}  // namespace

std::string page_data(const std::vector<ReportedRun>& runs) {
  const size_t most = points_within(runs, kPageBytes), columns = columns_within(runs, kHistogramBytes);
  PageJson out = {{"version", version()}, {"runs", PageJson::array()}};
  for (const ReportedRun& run : runs) out["runs"].push_back(run_json(run, most, columns));
  return out.dump(-1, ' ', false, PageJson::error_handler_t::replace);
}

}  // namespace neon
