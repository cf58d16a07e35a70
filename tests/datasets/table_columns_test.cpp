// Columns of a second table, tables of one column, and numbers of a series that may be thousands.
#include <catch2/catch.hpp>

#include "coded_table.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

TEST_CASE("columns of a file to test with are found by name, in any order") {
  const TempDir dir;
  const std::string path = dir.write("a.csv", "n,x,y,k\n9,1,a,odd\n8,2,b,even\n7,3,a,odd\n");
  const std::string test = dir.write("t.csv", "k,more,y,x\nodd,?,b,5\neven,?,a,4\n");
  std::vector<std::string> notes;
  DataContext context = offline();
  context.warnings = &notes;
  const Keys keys = {{"path", path}, {"ignore", "[n]"}, {"standardize", "false"}};
  Keys of_file = keys;
  of_file.push_back({"test", test});
  const Data data = make("CSV", of_file)->load(context);
  CHECK(values(data.test.inputs) == std::vector<double>{5, 0, 1, 4, 1, 0});  // x, then y as a or b
  CHECK(values(data.test.targets) == std::vector<double>{1, 0});
  CHECK((data.source_of("test") == test && data.source_of("validation") == path));
  CHECK_THAT(join(notes, "\n"), Catch::Contains("t.csv: left out, since " + path + " lacks them: 'more'"));
  Keys by_place = keys;
  by_place[1] = {"ignore", "[0]"};
  by_place.push_back({"target", "3"});
  by_place.push_back({"test", test});
  CHECK(values(make("CSV", by_place)->load(offline()).test.inputs) == values(data.test.inputs));
  of_file.back().second = dir.write("u.csv", "x,y\n5,b\n");
  CHECK_THAT(error_of([&] { make("CSV", of_file)->load(offline()); }), Catch::Contains("u.csv has no column 'k'"));
}

TEST_CASE("a file to test with has the classes of a large table, whose cells are gone by then") {
  constexpr int kRows = 30'000;
  const TempDir dir;
  const std::string names[] = {"red ochre of the hills", "green earth of the coast", "blue slate of the rivers"};
  std::string large = "x,class\n";
  for (int i = 0; i < kRows; ++i)  // the third class first comes late, in a piece of its own
    large += text(i, ",", std::string(300, ' '), names[i < kRows - 100 ? i % 2 : 2], "\n");
  std::string small = "x,class\n";
  for (int i = 0; i < 60; ++i) small += text(i, ",", names[i % 3], "\n");
  const Keys keys = {{"path", dir.write("large.csv", large)}, {"test", dir.write("small.csv", small)}};
  const Data data = make("CSV", keys)->load(offline());
  REQUIRE(data.class_names == std::vector<std::string>{names[2], names[1], names[0]});
  const std::vector<double> classes = values(data.test.targets);
  REQUIRE(classes.size() == 60);
  for (size_t i = 0; i < 60; ++i) CHECK(classes[i] == 2 - double(i % 3));
}

TEST_CASE("a message about a table of one column names the mark between cells, or a line that is no row") {
  const auto refused = [](const std::string& content) { return table_refusal(content, {{"test", "0"}}); };
  const std::string start = "a.csv: no columns are left beside the target; cells are separated by ',' (delimiter); ";
  CHECK(refused("a|b|y\n1|2|3\n4|5|6\n") == start + "'|' splits all lines alike: say delimiter: '|'");
  CHECK(refused("a b y\n1 2 3\n4 5 6\n") == start + "' ' splits all lines alike: say delimiter: ' '");
  CHECK(refused("sep=;\na;b;y\n1;2;3\n") ==
        start + "the first line, 'sep=;', is Excel's note of the mark between cells: remove it");
  CHECK(refused("# made by x\na,b,y\n1,2,3\n") ==
        start + "the first line begins with '#', as a remark does: remove it");
  const auto without = [](const std::string& target, const std::string& content) {
    return table_refusal(content, {{"test", "0"}, {"target", target}});
  };
  const std::string cells = "; cells are separated by ',' (delimiter); ";
  for (const char* content : {"sep=;\na;k;y\n1;2;3\n", "sep=;\nk;y\n1;3\n"})  // which has one column, or two
    CHECK_THAT(without("k", content),
               Catch::EndsWith("; the first line, 'sep=;', is Excel's note of the mark between cells: remove it"));
  CHECK_THAT(without("k", "k:y\n1:3\n4:6\n"),
             Catch::EndsWith(cells + "':' splits all lines alike: say delimiter: ':'"));
  CHECK_THAT(without("1", "k:y\n1:3\n4:6\n"),
             Catch::EndsWith("has columns 0 to 0" + cells + "':' splits all lines alike: say delimiter: ':'"));
  CHECK_THAT(without("k", "1:3\n4:6\n"), Catch::EndsWith(cells + "':' splits all lines alike: say delimiter: ':'"));
  CHECK_THAT(without("k", "j,y\n1,3\n4,6\n"), Catch::EndsWith(" (it has 'j', 'y')"));
}

TEST_CASE("numbers of a series that may be thousands are refused") {
  const TempDir dir;
  std::string rows, clear;
  for (int i = 0; i < 30; ++i) {
    rows += text(i / 3, ",", i % 2 ? "3.518" : "366", ",", i / 3 % 5, "\n");
    clear += text(i / 3, ",", i % 2 ? "3.518" : "366.0", ",", i / 3 % 5, "\n");
  }
  const auto load = [&](const char* set, const std::string& content, int rules = kDataRules) {
    DataContext context = offline();
    context.rules = rules;
    Keys keys = {{"path", dir.write("a.csv", content)}, {"test", "0"}};
    if (std::string(set) == "Windows") keys.push_back({"steps", "2"});
    else keys.insert(keys.end(), {{"id", "0"}, {"target", "2"}});
    return make(set, keys)->load(context).train.size();
  };
  for (const char* set : {"Windows", "Sequences"}) {
    CHECK_THAT(error_of([&] { load(set, rows); }),
               Catch::Contains("a.csv:2:3: column 1: '3.518' may be 3518, as its other numbers are whole and below "
                               "1000; write thousands without a mark, or say decimal: point"));
    CHECK(load(set, rows, kRulesOfSeriesGroups - 1) == load(set, clear));
  }
}
