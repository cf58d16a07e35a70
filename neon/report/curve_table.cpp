#include "neon/report/curve_table.h"

#include <cmath>

#include "neon/core/text.h"
#include "neon/train/csv_text.h"

namespace neon {

namespace {

std::string clock_cell(double value) { return std::isnan(value) ? "" : number(value); }

}  // namespace

void write_curve_table(const std::vector<ReportedRun>& runs, const std::function<void(const std::string&)>& line) {
  line("run,curve,step,epoch,seconds,value");
  for (const ReportedRun& run : runs)
    for (const Curve& curve : run.curves) {
      const std::string begin = text(csv_cell(run.name), ',', csv_cell(curve.name), ',');
      for (size_t i = 0; i < curve.values.size(); ++i) {
        const double step = curve.steps[i], value = curve.values[i];
        line(text(begin, number(step), ',', clock_cell(run.timeline.epoch_at(step)), ',',
                  clock_cell(run.timeline.second_at(step)), ',', curve.wide ? number(value) : number(float(value))));
      }
    }
}

}  // namespace neon
