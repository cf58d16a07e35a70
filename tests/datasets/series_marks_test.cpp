// Tables of series whose cells other marks separate.
#include <catch2/catch.hpp>

#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

std::string series_refused(const std::string& set, const Keys& keys) {
  return error_of([&] { make(set, keys)->load(offline()); });
}

}  // namespace

TEST_CASE("series with semicolons or tabs and decimal commas have the numbers of those with commas and points") {
  const TempDir dir;
  std::string plain = "day,x,y\n", semicolons = "day;x;y\n", tabs = "day\tx\ty\n";
  for (int i = 0; i < 12; ++i) {
    plain += text("d", i, ",", i * 7 % 5, ".25,", i, "\n");
    semicolons += text("d", i, ";", i * 7 % 5, ",25;", i, "\n");
    tabs += text("d", i, "\t", i * 7 % 5, ",25\t", i, "\n");
  }
  const auto inputs = [&](const std::string& file, const Keys& more = {}) {
    Keys keys = {{"path", file}, {"ignore", "[day]"}, {"steps", "2"}, {"standardize", "false"}};
    keys.insert(keys.end(), more.begin(), more.end());
    const auto set = make("Windows", keys);
    const Data out = set->load(offline());
    CHECK(agrees(set->check(offline()), out));
    return out;
  };
  const Data expected = inputs(dir.write("plain.csv", plain));
  CHECK(expected.train.inputs.at(2) == 2.25);
  for (const Data& found : {inputs(dir.write("semicolons.csv", semicolons)), inputs(dir.write("tabs.txt", tabs)),
                            inputs(dir.write("tabs.tsv", tabs), {{"decimal", "comma"}}),
                            inputs(dir / "semicolons.csv", {{"delimiter", ";"}})}) {
    CHECK(found.train.inputs.shape() == expected.train.inputs.shape());
    for (int64_t i = 0; i < expected.train.inputs.elements(); ++i)
      CHECK(found.train.inputs.at(i) == expected.train.inputs.at(i));
    CHECK(found.table.decimal == ',');
  }
  const Keys ids = {{"id", "day"}, {"target", "y"}, {"test", "0"}, {"task", "regression"}, {"standardize", "false"}};
  Keys of_semicolons = ids;
  of_semicolons.push_back({"path", dir / "semicolons.csv"});
  CHECK(make("Sequences", of_semicolons)->load(offline()).train.inputs.at(1) == 2.25);
  CHECK(series_refused("Windows", {{"path", dir / "semicolons.csv"}, {"ignore", "[day]"}, {"decimal", "point"}}) ==
        "data: " + (dir / "semicolons.csv") +
            ":2:4: column 'x': expected a number, found '0,25'; this table has decimal points: write the number so");
  CHECK(series_refused("Windows", {{"path", dir.write("mixed.csv", semicolons + "d12;1.5;12\n")},
                                   {"ignore", "[day]"},
                                   {"decimal", "comma"}}) ==
        "data: " + (dir / "mixed.csv") +
            ":14:5: column 'x': '1.5' has a point, and decimals of this table have commas; write digits with a decimal "
            "comma alone, as in 1234,5");
  const std::string groups = dir.write("groups.csv", "x,y\n3.518,1\n366,2\n4.125,3\n12,4\n7,5\n8,6\n");
  CHECK(series_refused("Windows", {{"path", groups}, {"steps", "1"}}).ends_with(", or say decimal: point"));
  const Keys decided = {{"path", groups}, {"steps", "1"}, {"standardize", "false"}, {"decimal", "point"}};
  CHECK(make("Windows", decided)->load(offline()).train.inputs.at(0) == Approx(3.518));
}

TEST_CASE("a series without a column names the mark that splits its lines") {
  const TempDir dir;
  const std::string other = dir.write("other.csv", "day|x\nd 0|1\nd 1|2\n"),
                    excel = dir.write("excel.csv", "sep=;,\nday;x,\n");
  CHECK(series_refused("Windows", {{"path", other}, {"ignore", "[clock]"}}) ==
        "config: ignore: " + other +
            " has no column 'clock' (it has 'day|x'); cells are separated by ',' (delimiter); '|' splits all lines "
            "alike: say delimiter: '|'");
  CHECK(series_refused("Sequences", {{"path", other}, {"id", "9"}, {"target", "x"}, {"header", "true"}}) ==
        "config: id or target: there is no column 9: " + other +
            " has columns 0 to 0; cells are separated by ',' (delimiter); '|' splits all lines alike: say delimiter: "
            "'|'");
  CHECK(series_refused("Windows", {{"path", excel}, {"ignore", "[clock]"}, {"delimiter", ","}}) ==
        "config: ignore: " + excel +
            " has no column 'clock' (it has 'sep=;', ''); the first line, 'sep=;,', is Excel's note of the mark "
            "between cells: remove it");
}

TEST_CASE("a comma given for a .tsv of Windows is a tab to older runs alone") {
  const TempDir dir;
  const Keys keys = {{"path", dir.write("w.tsv", "a\tb\n1\t2\n3\t4\n5\t6\n7\t8\n9\t10\n")},
                     {"steps", "2"},
                     {"targets", "[a]"},
                     {"delimiter", ","},
                     {"test", "0"},
                     {"standardize", "false"}};
  DataContext context = offline();
  context.rules = kRulesOfSeriesMarks - 1;
  CHECK(values(make("Windows", keys)->load(context).train.targets) == std::vector<double>{5, 7, 9});
  CHECK_THROWS_WITH(make("Windows", keys)->load(offline()), Catch::Contains("w.tsv"));
}

TEST_CASE("decimals of a series are those of the one that a net was trained with") {
  const TempDir dir;
  DataContext context = offline();
  context.series = {"a", "b"}, context.series_decimal = ',';
  const auto first = [&](const std::string& rows) {
    const Keys keys = {{"path", dir.write("w.csv", "a;b\n" + rows)},
                       {"steps", "2"},
                       {"targets", "[a]"},
                       {"test", "0"},
                       {"standardize", "false"}};
    return values(make("Windows", keys)->load(context).train.targets);
  };
  CHECK(first("2,250;3\n2,250;4\n1,5;5\n") == std::vector<double>{1.5});
  CHECK(first("2,250;3\n2,250;4\n2,250;5\n") == std::vector<double>{2.25});
  CHECK_THROWS_WITH(first("2.250;3\n2.250;4\n2.250;5\n"), Catch::Contains("decimal"));
}
