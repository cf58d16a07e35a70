// Data sets of neon 0.9.
#include <catch2/catch.hpp>

#include "support.h"

using namespace neon;
using namespace neon_test;

TEST_CASE("MobyDick: a letter's token is its code in ASCII less 31, any other character's 0") {
  const TempDir dir;
  DataContext context;
  context.data_dir = dir / "";
  std::string novel = "A ~\r\n\xc3\xa9z";  // letters, a line's end, e acute
  while (novel.size() < 1000) novel += 'x';
  dir.write("MOBYDICK/pg2701.txt", novel);
  const Data data = make("MobyDick", {{"steps", "5"}})->load(context);
  CHECK(data.tokens == 96);
  const auto inputs = data.train.inputs.as<int32_t>(), targets = data.train.targets.as<int32_t>();
  const std::vector<int32_t> expected = {'A' - 31, 1, '~' - 31, 1, 0, 'z' - 31};
  for (size_t i = 0; i < 5; ++i) {
    CHECK(inputs[i] == expected[i]);
    CHECK(targets[i] == expected[i + 1]);
  }
}

TEST_CASE("Housing: 13 facts, and the price behind them") {
  const TempDir dir;
  DataContext context;
  context.data_dir = dir / "";
  std::string rows;
  for (int i = 0; i < 10 * 14; ++i) rows += text(i % 14 ? "  " : "\n ", i, ".5");
  dir.write("housing/housing.data", rows);
  const Data data = make("Housing", {{"test", "0.2"}})->load(context);
  CHECK(data.train.size() == 8);
  CHECK(data.test.size() == 2);
  for (int64_t i = 0; i < 8; ++i) CHECK(data.train.targets.at(i) == data.train.inputs.at(i * 13) + 13);  // of one row
  dir.write("housing/housing.data", rows + " 7 8");
  CHECK_THROWS_WITH(make("Housing")->load(context), Catch::Contains("has 142 numbers, expected 14 for each suburb"));
  dir.write("housing/housing.data", rows + "\n red");
  CHECK_THROWS_WITH(make("Housing")->load(context), Catch::Contains("housing.data:12: expected a number, found 'red'"));
}
