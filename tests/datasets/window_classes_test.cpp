// Windows of a time series that have a class.
#include <catch2/catch.hpp>

#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

Data classified_windows(const Keys& keys) {
  const auto set = make("Windows", keys);
  const Data out = set->load(offline());
  CHECK(agrees(set->check(offline()), out));
  return out;
}

std::string windows_refused(const Keys& keys) {
  return error_of([&] { make("Windows", keys)->load(offline()); });
}

}  // namespace

TEST_CASE("windows have the class of a row: their last one, one behind it, or one for each step") {
  const TempDir dir;
  const std::string path =
      dir.write("moves.csv", "x,move\n0,run\n1,run\n2,walk\n3,sit\n4,sit\n5,walk\n6,run\n7,sit\n8,walk\n9,run\n");
  const std::vector<double> classes = {0, 0, 2, 1, 1, 2, 0, 1, 2, 0};  // run, sit, walk
  const auto check = [&](const Keys& more, int64_t steps, int64_t behind, bool each_step) {
    Keys keys = {{"path", path}, {"label", "move"}, {"steps", text(steps)}, {"test", "0.4"}, {"standardize", "false"}};
    keys.insert(keys.end(), more.begin(), more.end());
    const Data data = classified_windows(keys);
    CHECK(data.class_names == std::vector<std::string>{"run", "sit", "walk"});
    CHECK(data.classes == 3);
    CHECK(data.sample == Shape{steps, 1});
    CHECK(data.target_names == std::vector<std::string>{"move"});
    CHECK(data.label_of == (each_step ? LabelOf::step : LabelOf::sample));
    int64_t begin = 0;
    for (const Split* split : {&data.train, &data.test}) {
      const int64_t rows = begin == 0 ? 6 : 4, n = rows - steps - behind + 1, each = each_step ? steps : 1;
      REQUIRE(split->inputs.shape() == Shape{n, steps, 1});
      REQUIRE(split->targets.elements() == n * each);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t t = 0; t < steps; ++t) CHECK(split->inputs.at(i * steps + t) == double(begin + i + t));
        for (int64_t k = 0; k < each; ++k) {
          const int64_t row = begin + i + behind + (each_step ? k : steps - 1);
          CHECK(split->targets.at(i * each + k) == classes[size_t(row)]);
          CHECK(split->numbers[size_t(i)] == row - k);
        }
      }
      begin += rows;
    }
  };
  check({}, 2, 1, false);
  check({{"horizon", "0"}}, 3, 0, false);
  check({{"horizon", "2"}}, 1, 2, false);
  check({{"horizon", "0"}, {"each_step", "true"}}, 3, 0, true);
  check({{"each_step", "true"}}, 2, 1, true);
  const Data standard = classified_windows({{"path", path}, {"label", "1"}, {"steps", "2"}, {"test", "0"}});
  CHECK((standard.standard.means.size() == 1 && standard.target_standard.empty()));
  CHECK(windows_refused({{"path", path}, {"label", "moves"}}) ==
        "config: label: " + path + " has no column 'moves'; did you mean move? (it has 'x', 'move')");
  CHECK(windows_refused({{"path", path}, {"horizon", "0"}}) ==
        "config: horizon: with 0 there is no row to predict; with label it is the class of the last row");
  CHECK(windows_refused({{"path", path}, {"label", "move"}, {"targets", "[x]"}}) ==
        "config: label: a sample has a class or numbers to predict; give label or targets");
  CHECK(windows_refused({{"path", dir.write("a.npy", "x")}, {"label", "1"}}).find("is a column of a table") !=
        std::string::npos);
  CHECK(windows_refused(
            {{"path", dir.write("one.csv", "x,move\n1,run\n2,run\n3,run\n4,run\n")}, {"label", "move"}, {"steps", "1"}})
            .find("one.csv: each row is of class 'run'; expected at least 2 classes") != std::string::npos);
  CHECK(windows_refused({{"path", dir.write("gap.csv", "x,move\n1,run\n2,\n3,sit\n")}, {"label", "move"}}) ==
        "data: " + (dir / "gap.csv") + ":3:3: column 'move': the value is missing");
}
