// The curve of lr-find for costs whose fall is known, of batches that differ far more than the cost falls in a step.
#include "neon/cli/rate_curve.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "neon/core/random.h"

using namespace neon;

namespace {

constexpr int kSteps = 200;

// Costs of batches with the first weights: 1 in the mean, between 0.4 and 1.6.
std::vector<double> batches(uint64_t seed) {
  Stream draw(seed, "batches");
  std::vector<double> out;
  for (int k = 0; k < kSteps; ++k) out.push_back(0.4 + 1.2 * draw.uniform());
  return out;
}

// The share of the first cost that is left: it falls around step `middle` to 0.1, and is 1 again at step 160.
double left(int k, double middle) { return 0.1 + 0.9 / (1 + std::exp((k - middle) / 8)) + std::exp((k - 160) / 5.0); }

}  // namespace

TEST_CASE("the steepest step is that of the fall, however much batches differ") {
  for (uint64_t seed = 1; seed <= 50; ++seed)
    for (const double middle : {60, 100}) {
      const std::vector<double> still = batches(seed);
      std::vector<double> risen = still;
      Stream draw(seed, "steps");
      for (int k = 0; k < kSteps; ++k) risen[size_t(k)] *= left(k, middle) * (0.9 + 0.2 * draw.uniform());
      const RateCurve curve = rate_curve(risen, still);
      CHECK(curve.first == Approx(1).margin(0.1));
      REQUIRE(curve.steepest);
      CHECK(double(*curve.steepest) == Approx(middle).margin(12));
      CHECK(curve.costs[curve.least] == Approx(0.12).margin(0.05));
      CHECK(curve.costs.size() < kSteps);  // behind it the cost is far too high
    }
}

TEST_CASE("a fall that comes again at higher rates is not taken for the first") {
  const std::vector<double> still(kSteps, 1.0);
  std::vector<double> risen = still;
  for (int k = 0; k < kSteps; ++k) risen[size_t(k)] = k > 120 && k < 140 ? 0.9 : left(k, 80) - (k > 140 ? 0.05 : 0.0);
  const RateCurve curve = rate_curve(risen, still);
  REQUIRE(curve.steepest);
  CHECK(double(*curve.steepest) == Approx(80).margin(5));
}

TEST_CASE("costs that do not fall by more than batches differ have no steepest step") {
  int found = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const std::vector<double> still = batches(seed);
    std::vector<double> risen = still;
    Stream draw(seed, "steps");
    for (double& cost : risen) cost *= 0.8 + 0.4 * draw.uniform();
    found += rate_curve(risen, still).steepest.has_value();
  }
  CHECK(found <= 2);  // four standard errors of 31 steps, among some 10 means that are apart from one another
  CHECK(!rate_curve(batches(1), batches(1)).steepest);
  CHECK(rate_curve({}, {}).costs.empty());
}

TEST_CASE("costs below 0 are compared by their difference") {
  std::vector<double> still, risen;
  for (int k = 0; k < kSteps; ++k) still.push_back(k % 2 ? -3 : 1), risen.push_back(still.back() - 1 + left(k, 90));
  const RateCurve curve = rate_curve(risen, still);
  CHECK(curve.first == Approx(-1));
  REQUIRE(curve.steepest);
  CHECK(double(*curve.steepest) == Approx(90).margin(5));
  CHECK(curve.costs[curve.least] == Approx(-1.88).margin(0.15));
}
