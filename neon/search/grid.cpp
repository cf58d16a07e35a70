// All combinations: each option of a choice, and of a range of numbers as many values as the number of trials allows,
// at even distances from end to end.
#include <algorithm>
#include <cmath>

#include "neon/core/error.h"
#include "neon/search/sampler.h"

namespace neon {

namespace {

constexpr int64_t kMostLevels = 1'000'000;

class GridSampler : public Sampler {
 public:
  GridSampler(const Space& space, int64_t trials) : space_(space), trials_(trials), points_(points_with(1)) {
    if (int64_t(points_.size()) > trials)
      fail(ErrorKind::config, "a grid of these ranges has ", points_.size(), " points and more, above --trials ",
           trials, "; give more trials, or --method random");
    for (int64_t levels = 2; levels <= std::min(trials, kMostLevels); ++levels) {
      if (size_with(levels) > double(trials)) break;
      const size_t before = points_.size();
      points_ = points_with(levels);
      levels_ = levels;
      if (points_.size() == before && levels > 2) break;  // whole numbers have no more values
    }
  }

  std::optional<Point> ask(int64_t trial) override {
    if (trial > int64_t(points_.size())) return std::nullopt;
    return points_[size_t(trial - 1)];
  }

  std::string note() const override {
    const double next = size_with(levels_ + 1);
    if (2 * int64_t(points_.size()) > trials_ || next <= double(points_.size())) return "";
    return text("note: the grid has ", points_.size(), points_.size() == 1 ? " point" : " points", " of ", trials_,
                " trials: with ", levels_ + 1, " values of each range of numbers it would have ", next,
                "; give as many --trials, or --method random");
  }

  std::string objection(int64_t trial, const Point& point) const override {
    const auto values = [&](const Point& at) { return space_.values(at); };
    if (trial <= int64_t(points_.size()) && values(points_[size_t(trial - 1)]) == values(point)) return "";
    return text("trial ", trial, " is no such point of the grid of ", points_.size(),
                " points that --trials gives now; give --trials as before, or another --folder");
  }

 private:
  // The values of a range: with one level the middle.
  std::vector<double> values(size_t k, int64_t levels) const {
    const double low = space_.lower(k), high = space_.upper(k);
    std::vector<double> out;
    if (space_.ranges()[k].kind == SearchRange::Kind::choice) levels = int64_t(space_.ranges()[k].options.size());
    else if (space_.is_whole(k)) levels = std::min(levels, int64_t(std::min(high - low, 1e9)) + 1);
    if (levels == 1 || low == high) return {space_.point({})[k]};
    for (int64_t i = 0; i < levels; ++i) {
      const double x = low + (high - low) * double(i) / double(levels - 1);
      out.push_back(space_.is_whole(k) ? std::round(x) : x);
    }
    return out;
  }

  // A bound of the number of points, found without making them: every range counts.
  double size_with(int64_t levels) const {
    double out = 1;
    for (size_t k = 0; k < space_.size(); ++k)
      if (space_.ranges()[k].parent.empty()) out *= double(values(k, levels).size());
    return out > double(kMostLevels) ? out : double(points_with(levels).size());
  }

  // The first range varies slowest. Points that differ only in ranges that do not count are one.
  std::vector<Point> points_with(int64_t levels) const {
    std::vector<Point> out = {space_.point({})};
    for (size_t k = 0; k < space_.size(); ++k) {
      std::vector<Point> next;
      const std::vector<double> all = values(k, levels);
      for (const Point& point : out) {
        if (!space_.counts(k, point)) {
          next.push_back(point);
          continue;
        }
        for (const double value : all) {
          next.push_back(point);
          next.back()[k] = value;
        }
        if (int64_t(next.size()) > kMostLevels)
          fail(ErrorKind::config, "a grid of these ranges has more than ", kMostLevels, " points; use --method random");
      }
      out = std::move(next);
    }
    return out;
  }

  const Space space_;
  const int64_t trials_;
  int64_t levels_ = 1;  // values of a range of numbers
  std::vector<Point> points_;
};

std::unique_ptr<Sampler> make_grid(const Space& space, int64_t trials, uint64_t) {
  return std::make_unique<GridSampler>(space, trials);
}

const MethodRegistration grid_method({"grid", "tries all combinations of evenly spaced values, at most --trials", false,
                                      make_grid});

}  // namespace

}  // namespace neon
