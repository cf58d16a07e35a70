// Which candidate the clock chooses, and how often each runs for that, of candidates whose times are given.
#include "backends/cuda/fastest.h"

#include <catch2/catch.hpp>
#include <vector>

using neon::cuda::fastest;
using neon::cuda::RunTime;

namespace {

struct Candidate {
  float takes;                      // milliseconds
  std::vector<float> held_up = {};  // milliseconds that the host starts its runs too late, one after the other
  int runs = 0, measured = 0;
};

size_t choice(std::vector<Candidate>& all) {
  return fastest(
      all.size(),
      [&](size_t i) {
        Candidate& c = all[i];
        const float late = size_t(c.runs) < c.held_up.size() ? c.held_up[size_t(c.runs)] : 0;
        ++c.runs;
        return RunTime{c.takes + late, late + 0.01f};
      },
      [&](size_t i, float once) {
        CHECK(once >= all[i].takes);
        ++all[i].measured;
        return all[i].takes;
      });
}

}  // namespace

TEST_CASE("the candidate that takes the least time is chosen, wherever it stands") {
  for (size_t place = 0; place < 4; ++place) {
    std::vector<Candidate> all = {{0.5f}, {0.6f}, {0.52f}, {0.7f}};
    all[place].takes = 0.45f;
    CHECK(choice(all) == place);
  }
  std::vector<Candidate> one = {{2000}};
  CHECK(choice(one) == 0);
}

TEST_CASE("a candidate that takes much longer than the best runs once, and one that may be as fast is measured") {
  std::vector<Candidate> all = {{1}, {1.4f}, {600}, {1.6f}, {0.9f}};
  CHECK(choice(all) == 4);
  CHECK(all[1].measured == 1);
  for (size_t i : {2, 3}) {
    CHECK(all[i].runs == 1);
    CHECK(all[i].measured == 0);
  }
}

TEST_CASE("a candidate is not given up for what the host was late, be it to load it or in every run") {
  std::vector<Candidate> loaded = {{1}, {0.5f, {15}}}, late = {{1}, {0.5f, {30, 70}}};
  CHECK(choice(loaded) == 1);
  CHECK(choice(late) == 1);
  std::vector<Candidate> hopeless = {{1}, {20, {15}}};
  CHECK(choice(hopeless) == 0);
  CHECK(hopeless[1].runs == 1);
}

TEST_CASE("candidates that take long run twice, of which the one that was not held up counts") {
  std::vector<Candidate> all = {{100}, {90, {50}}, {95, {0, 30}}};
  CHECK(choice(all) == 1);
  for (const Candidate& c : all) {
    CHECK(c.runs == 2);
    CHECK(c.measured == 0);
  }
}
