#include "neon/report/run_pictures.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "datasets/png_image.h"
#include "neon/report/chart_picture.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

using Json = nlohmann::json;

// "cost/train" is "cost-train"; names that would be the same get a number.
class PictureNames {
 public:
  std::string of(const std::string& title) {
    std::string out;
    for (const char c : title) {
      const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      if (kept) out += c;
      else if (!out.empty() && out.back() != '-') out += '-';
    }
    constexpr size_t kMost = 80;
    out = out.substr(0, kMost);
    while (out.ends_with('-')) out.pop_back();
    if (out.empty()) out = "picture";
    std::string name = out;
    for (int k = 2; std::ranges::count(used_, name) > 0; ++k) name = text(out, '-', k);
    used_.push_back(name);
    return name + ".png";
  }

 private:
  std::vector<std::string> used_;
};

std::string histogram_picture(const HistogramCurve& of) {
  int64_t low = of.bins, high = 0;
  for (size_t i = 0; i < of.counts.size(); ++i)
    if (of.counts[i] > 0) low = std::min(low, int64_t(i) % of.bins), high = std::max(high, int64_t(i) % of.bins);
  std::vector<std::vector<double>> columns;
  for (size_t point = 0; point < of.steps.size(); ++point) {
    double all = 0;
    for (int64_t bin = 0; bin < of.bins; ++bin) all += double(of.counts[point * size_t(of.bins) + size_t(bin)]);
    std::vector<double>& column = columns.emplace_back();
    for (int64_t bin = low; bin <= high; ++bin)
      column.push_back(std::sqrt(std::min(1.0, 2.5 * double(of.counts[point * size_t(of.bins) + size_t(bin)]) / all)));
  }
  return heat_picture(text(of.name, ": sizes as powers of two"), columns,
                      {text("step ", of.steps.front()), text("step ", of.steps.back()), text("2^", of.offset + low),
                       text("2^", of.offset + high)});
}

// A cell for each pair of classes, names of at most so many letters.
std::string confusion_picture(const Json& report, const std::string& title) {
  constexpr int64_t kCell = 34, kTop = 60, kLetters = 24, kMost = 60;
  const auto classes = std::min(int64_t(report.at("classes").size()), kMost);
  std::vector<std::string> names;
  int64_t left = 60;
  for (int64_t k = 0; k < classes; ++k) {
    names.push_back(printable(report.at("classes")[size_t(k)].at("class").get<std::string>(), kLetters));
    left = std::max(left, Raster::width_of(names.back()) + 40);
  }
  Raster out(std::max(left + classes * kCell + 20, Raster::width_of(title) + 40), kTop + classes * kCell + 20, kPaper);
  out.write(14, 10, title, kInk);
  for (int64_t k = 0; k < classes; ++k) {
    const std::string number = std::to_string(k);
    out.write(14, kTop + k * kCell + 8, text(number, ' ', names[size_t(k)]), kInk);
    out.write(left + k * kCell + (kCell - Raster::width_of(number)) / 2, kTop - 20, number, kQuiet);
    double all = 0;
    const Json& row = report.at("confusion")[size_t(k)];
    for (const Json& pair : row) all += pair[1].get<double>();
    for (const Json& pair : row) {
      const auto column = pair[0].get<int64_t>();
      if (column >= classes) continue;
      const std::string count = std::to_string(pair[1].get<int64_t>());
      out.fill(left + column * kCell, kTop + k * kCell, kCell - 1, kCell - 1, ink_of(column == k ? 0 : 1),
               0.75 * std::sqrt(pair[1].get<double>() / all));
      out.write(left + column * kCell + (kCell - 1 - Raster::width_of(count)) / 2, kTop + k * kCell + 8, count, kInk);
    }
  }
  return out.png();
}

// The pictures of a sheet, larger, with their captions.
std::string sheet_picture(const PictureSheet& sheet) {
  constexpr int64_t kSide = 84, kRow = 10, kTop = 36;
  const Tensor cells = read_png(sheet.png, 3, sheet.title);
  const int64_t factor = std::max<int64_t>(1, kSide / std::max(sheet.width, sheet.height));
  size_t lines = 0;
  for (const auto& caption : sheet.captions) lines = std::max(lines, caption.size());
  const int64_t across = std::max(sheet.width * factor, lines > 0 ? int64_t(110) : 0) + 8,
                down = sheet.height * factor + int64_t(lines) * Raster::kLetterHeight + 8;
  const int64_t rows = (sheet.count + kRow - 1) / kRow;
  Raster out(std::max(across * std::min(sheet.count, kRow), Raster::width_of(sheet.title)) + 24, kTop + rows * down + 8,
             kPaper);
  out.write(12, 10, printable(sheet.title, 100), kInk);
  for (int64_t n = 0; n < sheet.count; ++n) {
    const int64_t top = sheet.gap + n / sheet.columns * (sheet.height + sheet.gap),
                  left = sheet.gap + n % sheet.columns * (sheet.width + sheet.gap);
    const int64_t x = 12 + n % kRow * across, y = kTop + n / kRow * down;
    Tensor cell(DType::u8, {sheet.height, sheet.width, 3});
    for (int64_t i = 0; i < cell.elements(); ++i) {
      const int64_t row = i / 3 / sheet.width, column = i / 3 % sheet.width;
      cell.set(i, cells.at(((top + row) * cells.shape()[1] + left + column) * 3 + i % 3));
    }
    out.put(cell, x, y, factor);
    for (size_t k = 0; size_t(n) < sheet.captions.size() && k < sheet.captions[size_t(n)].size(); ++k)
      out.write(x, y + sheet.height * factor + 2 + int64_t(k) * Raster::kLetterHeight,
                printable(sheet.captions[size_t(n)][k], 15), k == 0 ? kInk : kQuiet);
  }
  return out.png();
}

std::string net_picture(const NetDrawing& net) {
  Raster out(int64_t(net.width) + 1, int64_t(net.height) + 1, kPaper);
  for (const NetLine& line : net.lines)
    for (size_t i = 1; i < line.points.size(); ++i)
      out.line(line.points[i - 1].x, line.points[i - 1].y, line.points[i].x, line.points[i].y, kQuiet, 1.2);
  for (const NetBox& box : net.boxes) {
    const auto x = int64_t(box.x), y = int64_t(box.y), width = int64_t(box.width), height = int64_t(box.height);
    const Ink edge = box.look == NetLook::plain ? kGridInk : ink_of(box.look == NetLook::learned ? 0 : 2);
    out.fill(x, y, width, height, edge);
    out.fill(x + 1, y + 1, width - 2, height - 2, kPaper);
    const auto centred = [&](const std::string& words, int64_t row, Ink ink) {
      out.write(x + (width - Raster::width_of(words)) / 2, y + row, words, ink);
    };
    centred(printable(box.name.empty() ? box.title : text(box.title, ' ', box.name), 60), 4, kInk);
    for (size_t i = 0; i < box.notes.size(); ++i) centred(printable(box.notes[i], 60), 20 + 15 * int64_t(i), kQuiet);
  }
  return out.png();
}

void add_views_of(const ReportedRun& run, const std::string& begin, PictureNames& names,
                  std::vector<NamedPicture>& out) {
  for (const HistogramCurve& histogram : run.histograms)
    out.push_back({names.of(text(begin, "hist ", histogram.name)), histogram_picture(histogram)});
  const Json evaluation = run.views.evaluation.empty() ? Json::object() : Json::parse(run.views.evaluation);
  const Json reports = evaluation.value("reports", Json::array());
  for (const Json& each : reports) {
    const auto target = each.at("target").get<std::string>();
    const std::string of = target.empty() ? "" : text(": ", printable(target, 40));
    if (each.at("report").contains("confusion"))
      out.push_back(
          {names.of(text(begin, "confusion ", target)),
           confusion_picture(each.at("report"), text("true classes in rows, predicted ones in columns", of))});
  }
  for (const PictureSheet& sheet : run.views.sheets)
    out.push_back({names.of(begin + sheet.title), sheet_picture(sheet)});
  if (run.views.net) out.push_back({names.of(begin + "net"), net_picture(*run.views.net)});
}

}  // namespace

std::vector<NamedPicture> run_pictures(const std::vector<ReportedRun>& runs) {
  std::vector<NamedPicture> out;
  PictureNames names;
  std::vector<std::string> titles;  // of curves, in the order of the first run that has them
  for (const ReportedRun& run : runs)
    for (const Curve& curve : run.curves)
      if (std::ranges::count(titles, curve.name) == 0) titles.push_back(curve.name);
  for (const std::string& title : titles) {
    std::vector<ChartLine> lines;
    for (size_t r = 0; r < runs.size(); ++r)
      if (const Curve* const curve = runs[r].find(title)) lines.push_back({runs[r].name, curve, r});
    const std::string& unit = lines.front().curve->unit;
    out.push_back({names.of(title), chart_picture(unit.empty() ? title : text(title, ", ", unit), lines)});
  }
  for (const ReportedRun& run : runs) add_views_of(run, runs.size() > 1 ? run.name + " " : "", names, out);
  return out;
}

}  // namespace neon
