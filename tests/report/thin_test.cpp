// Thinned curves keep every peak; numbers become base64.
#include "neon/report/thin.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "neon/core/random.h"
#include "neon/report/base64.h"

using namespace neon;

namespace {

Curve noisy_curve(size_t points) {
  Curve curve;
  Stream stream(3, "curve");
  for (size_t i = 0; i < points; ++i) {
    curve.steps.push_back(double(i + 1));
    curve.values.push_back(stream.uniform());
  }
  return curve;
}

}  // namespace

TEST_CASE("a short curve is kept whole, point by point", "[thin]") {
  const Curve curve = noisy_curve(100);
  const ThinCurve kept = thin(curve, 100);
  CHECK(kept.whole);
  CHECK(kept.kept.size() == 100);
  CHECK(kept.ends.back() == 100);
  CHECK(kept.means == curve.values);
}

TEST_CASE("a bucket keeps its first, least, greatest and last point", "[thin]") {
  for (const size_t points : {401u, 1000u, 99'991u}) {
    Curve curve = noisy_curve(points);
    curve.values[points / 2] = 50;
    curve.values[points / 3] = -50;
    const ThinCurve kept = thin(curve, 400);
    CHECK(!kept.whole);
    CHECK(kept.kept.size() <= 400);
    CHECK(std::ranges::is_sorted(kept.kept));
    REQUIRE(kept.ends.size() == 100);
    size_t begin = 0;
    for (size_t b = 0; b < kept.ends.size(); ++b) {
      const auto from = curve.values.begin() + std::ptrdiff_t(begin),
                 to = curve.values.begin() + std::ptrdiff_t(kept.ends[b]);
      const auto index = [&](auto at) { return size_t(at - curve.values.begin()); };
      for (const size_t wanted :
           {begin, kept.ends[b] - 1, index(std::min_element(from, to)), index(std::max_element(from, to))})
        CHECK(std::ranges::count(kept.kept, wanted) == 1);
      CHECK(kept.means[b] == Approx(std::accumulate(from, to, 0.0) / double(to - from)).epsilon(1e-12));
      begin = kept.ends[b];
    }
    CHECK(begin == points);
  }
}

TEST_CASE("an infinite cost is a peak and no part of a mean", "[thin]") {
  Curve curve = noisy_curve(800);
  curve.values[5] = std::numeric_limits<double>::infinity();
  const ThinCurve kept = thin(curve, 40);
  CHECK(std::ranges::count(kept.kept, 5u) == 1);
  CHECK(std::isfinite(kept.means[0]));
}

TEST_CASE("curves share the bytes of a page", "[thin]") {
  std::vector<ReportedRun> runs(10);
  for (ReportedRun& run : runs)
    for (int i = 0; i < 8; ++i) run.curves.push_back(noisy_curve(20'000));
  CHECK(points_within(runs, 1 << 30) == 20'000);
  const size_t most = points_within(runs, 2'000'000);
  CHECK(most < 20'000 / 4);
  CHECK(most * 80 * 10 <= 2'000'000);
  CHECK(most * 80 * 10 > 1'600'000);  // and use them
}

TEST_CASE("base64 is that of RFC 4648", "[base64]") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foob") == "Zm9vYg==");
  CHECK(base64("fooba") == "Zm9vYmE=");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64("\xff\xfe\xfd") == "//79");
  CHECK(base64_of<float>({1}) == "AACAPw==");
}
