// Samplers on functions whose best values are known.
#include "neon/search/sampler.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "neon/core/error.h"
#include "neon/core/random.h"

using namespace neon;

namespace {

SearchRange range(const std::string& name, SearchRange::Kind kind, double low, double high) {
  SearchRange out;
  out.name = name, out.kind = kind, out.low = low, out.high = high;
  return out;
}
SearchRange choice(const std::string& name, std::vector<std::string> options) {
  SearchRange out;
  out.name = name, out.kind = SearchRange::Kind::choice, out.options = std::move(options);
  return out;
}

using Kind = SearchRange::Kind;

double value(const Values& values, const std::string& name) { return std::stod(values.at(name)); }

// Two linear ranges, a log one and whole numbers, each with its best value inside; noise of 0.02, of a function that
// is about 1 over the ranges.
struct Quadratic {
  Space space{{range("a", Kind::linear, -1, 3), range("b", Kind::linear, 0, 1), range("rate", Kind::log, 1e-4, 1),
               range("units", Kind::integer, 1, 100)}};
  static double at(const Values& v) {
    const double a = (value(v, "a") - 0.4) / 4, b = value(v, "b") - 0.8;
    const double rate = (std::log10(value(v, "rate")) + 2.5) / 4, units = (value(v, "units") - 30) / 99;
    return 3 * (a * a + b * b + rate * rate + units * units);
  }
};

// The function without noise at the point that a search with noise takes for its best.
double found(const std::string& method, uint64_t seed, int64_t trials) {
  const Quadratic problem;
  const auto sampler = find_method(method).make(problem.space, trials, seed);
  Stream noise(seed, "noise");
  double best = INFINITY, truth = INFINITY;
  for (int64_t trial = 1; trial <= trials; ++trial) {
    const Point point = *sampler->ask(trial);
    const double exact = Quadratic::at(problem.space.values(point)), seen = exact + 0.02 * noise.normal();
    sampler->tell(trial, point, seen);
    if (seen < best) best = seen, truth = exact;
  }
  return truth;
}

}  // namespace

#ifdef NEON_HAVE_DLIB
TEST_CASE("bayes beats random on a noisy quadratic of four values", "[search]") {
  // Paired by seed: the noise is the same. Of 20 fair coins 15 or more agree with a probability of 2 %.
  int wins = 0;
  double bayes = 0, random = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const double by_model = found("bayes", seed, 50), by_chance = found("random", seed, 50);
    wins += by_model < by_chance;
    bayes += by_model / 20, random += by_chance / 20;
  }
  INFO("means: bayes " << bayes << ", random " << random);
  CHECK(wins >= 15);
  CHECK(bayes < 0.5 * random);
}

TEST_CASE("bayes goes on from former trials, several at once, past failures", "[search]") {
  const Quadratic problem;
  const auto sampler = find_method("bayes").make(problem.space, 60, 3);
  for (int64_t trial = 1; trial <= 20; ++trial) {
    const Point point = random_point(problem.space, 8, trial);
    sampler->tell(trial, point, Quadratic::at(problem.space.values(point)));
  }
  double best = INFINITY;
  for (int64_t trial = 21; trial <= 60; trial += 2) {
    const Point first = *sampler->ask(trial), second = *sampler->ask(trial + 1);
    CHECK(first != second);
    for (const Point& point : {first, second}) best = std::min(best, Quadratic::at(problem.space.values(point)));
    sampler->tell(trial + 1, second, Quadratic::at(problem.space.values(second)));
    if (trial % 5 == 1) sampler->tell(trial, first, std::nullopt);
    else sampler->tell(trial, first, Quadratic::at(problem.space.values(first)));
  }
  CHECK(best < 0.03);
}

TEST_CASE("bayes asks for no point twice, with two trials in flight and the first ones failed", "[search]") {
  const Quadratic problem;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto sampler = find_method("bayes").make(problem.space, 16, seed);
    std::set<Point> points;
    for (int64_t trial = 1; trial <= 16; trial += 2) {
      const Point first = *sampler->ask(trial), second = *sampler->ask(trial + 1);
      points.insert(first), points.insert(second);
      for (const auto& [number, point] : {std::pair(trial + 1, second), std::pair(trial, first)})
        sampler->tell(number, point,
                      trial < 4 ? std::nullopt : std::optional(Quadratic::at(problem.space.values(point))));
    }
    CHECK(points.size() == 16);
  }
}

TEST_CASE("bayes leaves its first point where trials fail, and finds what is beside them", "[search]") {
  const Quadratic problem;
  const auto fails = [&](const Point& point) { return value(problem.space.values(point), "rate") > 5e-3; };
  // The best of 60 trials, of which those with high rates fail: the middle of the ranges, too.
  const auto best_of = [&](const std::string& method, uint64_t seed, int64_t& failures) {
    const auto sampler = find_method(method).make(problem.space, 60, seed);
    std::set<Point> points;
    double best = INFINITY;
    for (int64_t trial = 1; trial <= 60; ++trial) {
      const Point point = *sampler->ask(trial);
      points.insert(point);
      if (trial == 1 && method == "bayes") CHECK(fails(point));
      failures += fails(point);
      const double cost = Quadratic::at(problem.space.values(point));
      if (!fails(point)) best = std::min(best, cost);
      sampler->tell(trial, point, fails(point) ? std::nullopt : std::optional(cost));
    }
    CHECK(points.size() > 50);
    return best;
  };
  double bayes = 0, random = 0;
  int64_t failed = 0, failed_by_chance = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    bayes += best_of("bayes", seed, failed) / 10;
    random += best_of("random", seed, failed_by_chance) / 10;
  }
  INFO("means: bayes " << bayes << ", random " << random << "; failures " << failed << ", " << failed_by_chance);
  CHECK(bayes < random);
  CHECK(failed < failed_by_chance / 2);
}
#else
TEST_CASE("a build without dlib says so", "[search]") {
  CHECK_THROWS_WITH(find_method("bayes").make(Quadratic().space, 10, 1), Catch::Contains("needs dlib"));
}
#endif

TEST_CASE("random draws evenly, in logarithms where the range says so", "[search]") {
  const Space space(
      {range("rate", Kind::log, 1e-4, 1), range("units", Kind::integer, 3, 5), choice("act", {"Tanh", "ELU"})});
  int small = 0, first = 0;
  std::map<std::string, int> units;
  for (int64_t trial = 1; trial <= 2000; ++trial) {
    const Values v = space.values(*find_method("random").make(space, 1, 5)->ask(trial));
    small += value(v, "rate") < 1e-2, first += v.at("act") == "Tanh", ++units[v.at("units")];
  }
  // Five deviations of counts of 2000 draws.
  CHECK(std::abs(small - 1000) < 112);
  CHECK(std::abs(first - 1000) < 112);
  REQUIRE(units.size() == 3);
  for (const auto& [number, count] : units) CHECK(std::abs(count - 667) < 106);
}

TEST_CASE("a grid has all combinations, evenly spaced, without ranges that do not count", "[search]") {
  SearchRange alpha = range("alpha", Kind::linear, 0, 1);
  alpha.parent = "act", alpha.option = 1;
  const Space space({choice("act", {"Tanh", "ELU"}), alpha, range("rate", Kind::log, 1e-4, 1e-2),
                     range("units", Kind::integer, 1, 2)});
  // Tanh: 3 rates, 2 units; ELU: 3 alphas as well. Four levels would take 4·2 + 4·4·2 = 40.
  const auto grid = find_method("grid").make(space, 39, 0);
  std::set<std::string> all;
  for (int64_t trial = 1; const auto point = grid->ask(trial); ++trial) {
    std::string words;
    for (const auto& [name, v] : space.values(*point)) words += name + "=" + v + " ";
    all.insert(words);
  }
  CHECK(all.size() == 3 * 2 + 3 * 3 * 2);
  CHECK(all.contains("act=Tanh rate=0.001 units=2 "));
  CHECK(all.contains("act=ELU alpha=0.5 rate=1e-04 units=1 "));
  CHECK_THROWS_WITH(find_method("grid").make(Space({choice("a", {"1", "2", "3"})}), 2, 0),
                    Catch::Contains("has 3 points and more, above --trials 2"));
}

TEST_CASE("points and values lead to one another", "[search]") {
  const Quadratic problem;
  for (int64_t trial = 1; trial <= 50; ++trial) {
    const Point point = random_point(problem.space, 2, trial);
    const Values values = problem.space.values(point);
    const Point again = problem.space.point(values);
    for (size_t k = 0; k < point.size(); ++k) CHECK(again[k] == Approx(point[k]).margin(1e-4));
    CHECK(problem.space.values(again) == values);
  }
  CHECK_THROWS_WITH(find_method("baies"), Catch::Contains("did you mean bayes"));
}

TEST_CASE("a grid that leaves most trials out says how many the next one has", "[search]") {
  const Space space{{range("a", Kind::linear, 0, 1), range("b", Kind::log, 1, 9), range("c", Kind::integer, 1, 2),
                     choice("d", {"x", "y"})}};
  const auto note = [&](int64_t trials) { return find_method("grid").make(space, trials, 1)->note(); };
  CHECK(note(15) ==
        "note: the grid has 2 points of 15 trials: with 2 values of each range of numbers it would have 16; give as "
        "many --trials, or --method random");
  CHECK(note(16).empty());
  CHECK(note(3).empty());  // most of them
  CHECK(note(31).empty());
  CHECK(find_method("random").make(space, 15, 1)->note().empty());
}
