#include "neon/report/chart_picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "neon/report/thin.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr int64_t kWide = 900, kPlotHeight = 340, kLeft = 78, kRight = 24, kTop = 36, kBelow = 44;

struct Span {
  double low = INFINITY, high = -INFINITY;
  void take(double value) {
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  }
  // Never empty.
  Span widened() const {
    if (!(low <= high)) return {0, 1};
    if (low < high) return *this;
    const double more = low == 0 ? 1 : std::fabs(low) / 10;
    return {low - more, low + more};
  }
};

class Frame {
 public:
  Frame(Raster& to, const std::string& title, Span x, Span y) : to_(to), x_(x), y_(y) {
    to.write(kLeft, 10, printable(title, 100), kInk);
    for (const double tick : round_ticks(y.low, y.high, 6)) {
      const auto row = int64_t(at_y(tick));
      to.fill(kLeft, row, kWide - kLeft - kRight, 1, kGridInk);
      const std::string label = formatted("%.6g", tick);
      to.write(kLeft - 8 - Raster::width_of(label), row - Raster::kBaseline / 2 - 2, label, kQuiet);
    }
    for (const double tick : round_ticks(x.low, x.high, 8)) {
      const auto column = int64_t(at_x(tick));
      to.fill(column, kTop, 1, kPlotHeight, kGridInk);
      const std::string label = formatted("%.6g", tick);
      to.write(column - Raster::width_of(label) / 2, kTop + kPlotHeight + 6, label, kQuiet);
    }
    to.write(kWide - kRight - Raster::width_of("step"), kTop + kPlotHeight + 23, "step", kQuiet);
  }
  double at_x(double x) const { return kLeft + (x - x_.low) / (x_.high - x_.low) * (kWide - kLeft - kRight); }
  double at_y(double y) const { return kTop + (y_.high - y) / (y_.high - y_.low) * kPlotHeight; }

  void draw(const Curve& curve, Ink ink) {
    const ThinCurve kept = thin(curve, size_t(4 * kWide));
    bool joined = false;
    double x = 0, y = 0;
    for (const size_t i : kept.kept) {
      if (!std::isfinite(curve.values[i])) {
        joined = false;
        continue;
      }
      const double to_x = at_x(curve.steps[i]), to_y = at_y(curve.values[i]);
      if (joined) to_.line(x, y, to_x, to_y, ink, 1.6);
      if (curve.values.size() < 40) to_.line(to_x, to_y, to_x, to_y, ink, 5);
      x = to_x, y = to_y, joined = true;
    }
  }

 private:
  Raster& to_;
  const Span x_, y_;
};

}  // namespace

Ink ink_of(size_t run) {
  constexpr std::array<Ink, 10> kInks{{{50, 87, 214},
                                       {217, 72, 15},
                                       {23, 138, 107},
                                       {161, 59, 181},
                                       {181, 129, 0},
                                       {194, 37, 92},
                                       {59, 142, 165},
                                       {107, 122, 31},
                                       {122, 74, 43},
                                       {92, 98, 112}}};
  return kInks[run % kInks.size()];
}

std::vector<double> round_ticks(double low, double high, int count) {
  const double rough = (high - low) / count, power = std::pow(10, std::floor(std::log10(rough)));
  const double share = rough / power, stride = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  std::vector<double> out;
  for (double k = std::ceil(low / stride); k * stride <= high + stride * 1e-9; ++k) out.push_back(k * stride + 0.0);
  return out;
}

std::string chart_picture(const std::string& title, const std::vector<ChartLine>& lines) {
  Span x{0, 0}, y;
  for (const ChartLine& line : lines) {
    for (const double step : line.curve->steps) x.take(step);
    for (const double value : line.curve->values) y.take(value);
  }
  constexpr int64_t kLegendLine = 20;
  Raster out(kWide, kTop + kPlotHeight + kBelow + kLegendLine * int64_t(lines.size()), kPaper);
  Frame frame(out, title, x.widened(), y.widened());
  int64_t row = kTop + kPlotHeight + kBelow;
  for (const ChartLine& line : lines) {
    frame.draw(*line.curve, ink_of(line.number));
    out.fill(kLeft, row + 7, 22, 3, ink_of(line.number));
    out.write(kLeft + 30, row, printable(line.label, 110), kQuiet);
    row += kLegendLine;
  }
  return out.png();
}

std::string heat_picture(const std::string& title, const std::vector<std::vector<double>>& columns,
                         const HeatAxes& axes) {
  constexpr int64_t kHeight = 240;
  Raster out(kWide, kTop + kHeight + 30, kPaper);
  out.write(kLeft, 10, printable(title, 100), kInk);
  const auto count = int64_t(columns.size()), across = kWide - kLeft - kRight;
  for (int64_t x = 0; x < across; ++x) {
    const std::vector<double>& column = columns[size_t(x * count / across)];
    const auto rows = int64_t(column.size());
    for (int64_t y = 0; y < kHeight; ++y)
      out.blend(kLeft + x, kTop + y, ink_of(0), column[size_t(rows - 1 - y * rows / kHeight)]);
  }
  out.write(kLeft - 8 - Raster::width_of(axes.high), kTop, axes.high, kQuiet);
  out.write(kLeft - 8 - Raster::width_of(axes.low), kTop + kHeight - Raster::kLetterHeight, axes.low, kQuiet);
  out.write(kLeft, kTop + kHeight + 6, axes.first, kQuiet);
  out.write(kWide - kRight - Raster::width_of(axes.last), kTop + kHeight + 6, axes.last, kQuiet);
  return out.png();
}

}  // namespace neon
