// Schedules that rise and fall again.
#include <algorithm>
#include <cmath>

#include "optimizers/schedule.h"

namespace neon {

namespace {

// From `from` to `to` along half a cosine; `done` from 0 to 1.
double along_cosine(double from, double to, double done) {
  return to + (from - to) * 0.5 * (1 + std::cos(M_PI * done));
}

struct OneCycleParams {
  double rise = 0.3, start = 0.04, floor = 4e-6;
  static void describe(auto&& p) {
    p("rise", &OneCycleParams::rise, "Share of the run in which the rate rises.", open(0, 1));
    p("start", &OneCycleParams::start, "Share of the rate in the first step.", half_open(0, 1));
    p("floor", &OneCycleParams::floor, "Share of the rate in the last step.", half_open(0, 1));
  }
};
// The rate peaks after rise of the run's steps; counted as PyTorch's OneCycleLR counts them.
struct OneCycle : Parametrized<Schedule, OneCycleParams> {
  using Parametrized::Parametrized;
  double rate(double base, const Progress& at) const override {
    const double steps = double(at.steps_per_epoch) * double(at.epochs), now = double(at.step);
    const double peak = params.rise * steps - 1, last = steps - 1;
    if (now <= peak) return base * along_cosine(params.start, 1, peak > 0 ? now / peak : 1);
    return base * along_cosine(1, params.floor, std::min(1.0, (now - peak) / (last - peak)));
  }
};
NEON_REGISTER(Schedule, OneCycle,
              "Half a cosine from start up to the rate, then half a cosine down to floor at the end of the run (Smith "
              "and Topin 2018).",
              {"OneCycleLR"});

struct RestartsParams {
  double period = 10, factor = 1, floor = 0;
  static void describe(auto&& p) {
    p("period", &RestartsParams::period, "Epochs of the first cycle.", above(0), Unit{"epochs"});
    p("factor", &RestartsParams::factor, "Factor by which each cycle is longer than the one before.", at_least(1));
    p("floor", &RestartsParams::floor, "Share of the rate that is left at the end of a cycle.", half_open(0, 1));
  }
};
struct CosineRestarts : Parametrized<Schedule, RestartsParams> {
  using Parametrized::Parametrized;
  double rate(double base, const Progress& at) const override {
    const double cycles = at.fraction() / params.period, factor = params.factor;  // of the first cycle's length
    constexpr double kRounding = 1e-9;  // that must not take the very beginning of a cycle for the end of the last
    if (factor == 1)
      return base * along_cosine(1, params.floor, std::max(0.0, cycles - std::floor(cycles + kRounding)));
    // n cycles end at (factor^n - 1) / (factor - 1), and the next is factor^n long.
    const double n = std::floor(std::log1p(cycles * (factor - 1)) / std::log(factor) + kRounding);
    const double length = std::pow(factor, n), begin = (length - 1) / (factor - 1);
    return base * along_cosine(1, params.floor, std::clamp((cycles - begin) / length, 0.0, 1.0));
  }
};
NEON_REGISTER(Schedule, CosineRestarts,
              "Cosines from the rate to floor, one after the other, each from the full rate (Loshchilov and Hutter "
              "2017).",
              {"CosineAnnealingWarmRestarts"});

}  // namespace

}  // namespace neon
