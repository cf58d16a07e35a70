// Curves and tables of colours as pictures.
#pragma once
#include <string>
#include <vector>

#include "neon/report/raster.h"
#include "neon/report/run.h"

namespace neon {

inline constexpr Ink kInk{28, 29, 33}, kQuiet{99, 102, 110}, kGridInk{228, 228, 225}, kPaper{255, 255, 255};
Ink ink_of(size_t run);

struct ChartLine {
  std::string label;
  const Curve* curve = nullptr;
  size_t number = 0;  // chooses the colour
};
// Lines over steps. Points that are not finite are gaps.
std::string chart_picture(const std::string& title, const std::vector<ChartLine>& lines);

// Columns of shares from 0 to 1, whose rows begin at the bottom, with what stands at the ends of both axes.
struct HeatAxes {
  std::string first, last, low, high;
};
std::string heat_picture(const std::string& title, const std::vector<std::vector<double>>& columns,
                         const HeatAxes& axes);

// Round numbers from low to high, about `count` of them.
std::vector<double> round_ticks(double low, double high, int count);

}  // namespace neon
