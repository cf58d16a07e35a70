// Columns whose cells may be meant otherwise: groups of three digits, short years, numbers of rows, units.
#include <catch2/catch.hpp>

#include "coded_table.h"

using namespace neon;
using namespace neon_test;

TEST_CASE("numbers that may have groups of three digits are refused") {
  const std::string thousands = "preis;n;y\n3.518;24;a\n366;12;b\n1.204;3;a\n";
  CHECK(
      table_refusal(thousands) ==
      "a.csv:2:1: column 'preis': '3.518' may be 3518, as its other numbers are whole and below 1000; write thousands "
      "without a mark, or say decimal: point");
  CHECK_THAT(table_refusal("y\tk\n3,518\ta\n366\tb\n12\ta\n"),
             Catch::StartsWith("a.csv:2:1: column 'y': '3,518' may be 3518") && Catch::EndsWith("decimal: comma"));
  CHECK_THAT(table_refusal("n;y\n1;3.518\n2;366\n3;12\n", {{"test", "0"}, {"task", "regression"}}),
             Catch::StartsWith("a.csv:2:3: column 'y': '3.518' may be 3518"));
  // Others show that the mark is that of decimals, or the spec says so.
  for (const char* other : {"3.5", "1500", "0.125", "-2.25"})
    CHECK_NOTHROW(coded(text("p;y\n3.518;a\n366;b\n", other, ";a\n")));
  CHECK_NOTHROW(coded("p;y\n3.518;a\n2.118;b\n"));
  CHECK(coded(thousands, {{"test", "0"}, {"decimal", "point"}}).data.train.size() == 3);
  CHECK(coded(thousands, {{"test", "0"}, {"columns", "{preis: number}"}}).data.train.size() == 3);
  CHECK(coded(thousands, {{"test", "0"}}, kRulesOfMeantCells - 1).data.train.size() == 3);
}

TEST_CASE("a year of two digits stands first only where all have two") {
  const std::string mixed = "d,y\n2024-10-21,a\n2024-11-22,b\n24/10/23,a\n";
  CHECK_THAT(table_refusal(mixed), Catch::StartsWith("a.csv:4:1: column 'd': '24/10/23' is a date of another form than "
                                                     "'2024-10-21'; write all alike, as 2024-05-31"));
  CHECK(coded(mixed, {{"test", "0"}, {"columns", "{d: year_first}"}}).data.table.codes[0].short_years);
  CHECK(coded("d,y\n99/10/21,a\n98/12/31,b\n97/01/31,a\n").data.table.codes[0].short_years);
  const Data data = coded("d,y\n2024-10-21,a\n2024-11-22,b\n2024-10-23,a\n").data;
  const ColumnCode& code = data.table.codes[0];
  CHECK_FALSE(code.short_years);
  std::vector<float> numbers(size_t(code.width()));
  CHECK(code.put_text("2024-10-24", numbers.data()));
  CHECK_FALSE(code.put_text("24/10/21", numbers.data()));
  const TempDir dir;
  dir.write("test.csv", "d,y\n24/10/21,a\n");
  dir.write("train.csv", "d,y\n2024-10-21,a\n2024-11-22,b\n2024-10-23,a\n");
  CHECK_THAT(error_of([&] {
               make("CSV", {{"path", dir / "train.csv"}, {"test", dir / "test.csv"}})->load(offline("", 3));
             }),
             Catch::Contains("test.csv:2:1: column 'd': expected a date, as in training, found '24/10/21'"));
}

TEST_CASE("numbers of rows are left out where the name says so, too") {
  const auto rows = [](const std::string& name, int first, int step) {
    std::string out = name + ",x,y\n";
    for (int i = 0; i < 30; ++i) out += text(first + i * step, ',', (i * 7) % 11, ',', i % 2 ? 'a' : 'b', '\n');
    return out;
  };
  for (const char* name : {"No.", "nr", "#", "idx", "row", "level_0", "Serial Number", "ID_code", "obs"})
    for (const int first : {0, 1}) {
      const CodedTable left = coded(rows(name, first, 1));
      CHECK(left.data.sample == Shape{1});
      REQUIRE(left.notes.size() == 1);
      CHECK_THAT(left.notes[0],
                 Catch::EndsWith(text("column '", name, "' is left out: it has the numbers of the rows")));
    }
  CHECK(coded(rows("day", 1, 1)).data.sample == Shape{2});
  CHECK(coded(rows("No.", 5, 1)).data.sample == Shape{2});
  const auto note = [&](const std::string& name, int first, int step) {
    return join(coded(rows(name, first, step)).notes, "\n");
  };
  CHECK_THAT(note("day", 1, 1),
             Catch::EndsWith("column 'day' has the numbers of the rows, and is read as numbers; if it "
                             "only says which row it is, leave it out: ignore: ['day']"));
  for (const char* name : {"No.", "ID_code", "serial", "key"})
    CHECK_THAT(note(name, 1000000, 37), Catch::Contains(text("column '", name, "' has whole numbers that all differ")));
  for (const char* name : {"acid", "humid", "grid", "GRID", "Liquid", "day"}) CHECK(note(name, 1000000, 37).empty());
  CHECK(note("day", 0, 2).empty());
  CHECK(coded(rows("day", 1, 1), {{"test", "0"}, {"columns", "{day: number}"}}).notes.empty());
  CHECK(coded(rows("No.", 0, 1), {{"test", "0"}, {"columns", "{No.: number}"}}).data.sample == Shape{2});
  CHECK(coded(rows("No.", 0, 1), {{"test", "0"}}, kRulesOfMeantCells - 1).data.sample == Shape{2});
}

TEST_CASE("days written without marks are noted") {
  const auto days = [](const char* format) {
    std::string out = "d,y\n";
    for (int i = 1; i < 29; ++i) {
      char day[32];
      std::snprintf(day, sizeof day, format, i);
      out += text(day, ',', i % 2 ? 'a' : 'b', '\n');
    }
    return join(coded(out).notes, "\n");
  };
  const std::string note = "column 'd': '20240101' is read as a number; if it is a day, write it as 2024-01-01";
  CHECK_THAT(days("202401%02d"), Catch::Contains(note));
  CHECK_THAT(days("202413%02d"), !Catch::Contains("if it is a day"));
  CHECK_THAT(days("20240101"), !Catch::Contains("if it is a day"));
}

TEST_CASE("labels between other marks than ';' are noted") {
  const auto noted = [](const std::string& mark) {
    std::string out = "x,y\n";
    for (int i = 1; i < 16; ++i) {
      std::string cell;
      for (int bit = 0; bit < 4; ++bit)
        if (i >> bit & 1) cell += (cell.empty() ? "" : mark) + text("l", bit);
      out += text(i * i % 7, ",\"", cell, "\"\n");
    }
    return join(coded(out, {{"test", "0"}, {"targets", "{y: labels}"}}).notes, "\n");
  };
  CHECK(noted(";").empty());
  CHECK(noted("-").empty());
  for (const char* mark : {",", "|", "/", " "})
    CHECK_THAT(noted(mark),
               Catch::Contains(text("no cell has ';', which stands between labels, and '", mark, "' may be")));
}

TEST_CASE("numbers with a unit, and durations, are refused") {
  const auto cells = [](auto&& cell) {
    std::string out = "w,x,y\n";
    for (int i = 0; i < 40; ++i) out += text(cell(i), ',', (i * 7) % 11, ',', i % 2 ? 'a' : 'b', '\n');
    return out;
  };
  const std::string advice = "' seems to be a number with a unit; write the number alone, as ";
  CHECK_THAT(table_refusal(cells([](int i) { return text(i % 13, " kg"); })),
             Catch::StartsWith("a.csv:2:1: column 'w': '0 kg" + advice + "0, and the unit into the column's name"));
  CHECK_THAT(
      table_refusal(cells([](int i) { return text(10 + i, "A"); })),
      Catch::Contains("'10A' may be a number with a unit, or a name, as of a seat; write the number alone, as 10, "
                      "and the unit into the column's name, or give the column a kind, category or ignore"));
  CHECK_THAT(table_refusal(cells([](int i) { return text(i, ".5kg"); })), Catch::Contains("'0.5kg" + advice + "0.5,"));
  CHECK_THAT(table_refusal(cells([](int i) { return text("1:", 10 + i, ":20"); })),
             Catch::Contains("'1:10:20' seems to be a time; write it as one number, in seconds or hours"));
  CHECK_NOTHROW(coded(cells([](int i) { return text(i % 2 ? 36 : 60, " months"); })));
  CHECK_NOTHROW(coded(cells([](int i) { return text(10 + i % 12, char('A' + i % 5)); })));
  CHECK_NOTHROW(coded(cells([](int i) { return text(i % 13, " kg"); }), {{"test", "0"}, {"columns", "{w: category}"}}));
  CHECK_NOTHROW(coded(cells([](int i) { return text(i % 13, " kg"); }), {{"test", "0"}}, kRulesOfMeantCells - 1));
}
