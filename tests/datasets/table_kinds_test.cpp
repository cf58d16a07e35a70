// Tables of categories, booleans, dates and missing values: what becomes of their columns.
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "coded_table.h"
#include "datasets/table_date.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

std::vector<double> coded_row(const Data& data, int64_t index) { return values(data.train.inputs.rows(index, 1)); }

using CodedRow = std::vector<double>;

}  // namespace

TEST_CASE("numbers are standardised and missing ones become the mean, with an indicator") {
  const Data data = coded("x,y,k\n1,5,a\n,7,b\n4,9,a\n7,7,b\n").data;
  // x: mean 4, deviation sqrt(6) of 1, 4, 7; y: mean 7, deviation sqrt(2)
  REQUIRE(data.sample == Shape{3});
  const float x = float(-3 / std::sqrt(6.0)), y = float(-2 / std::sqrt(2.0));
  CHECK(coded_row(data, 0) == CodedRow{x, 0, y});
  CHECK(coded_row(data, 1) == CodedRow{0, 1, 0});
  CHECK(coded_row(data, 2) == CodedRow{0, 0, -y});
  CHECK(data.table.codes[0].mean == 4);
  CHECK(data.table.codes[0].deviation == Approx(std::sqrt(6.0)));
  const Data plain = coded("x,y,k\n1,5,a\n,7,b\n4,9,a\n7,7,b\n", {{"test", "0"}, {"columns", "{x: as_is}"}}).data;
  CHECK(coded_row(plain, 1) == CodedRow{4, 1, 0});
  CHECK(coded_row(plain, 3) == CodedRow{7, 0, 0});
}

TEST_CASE("each of many columns has the mean and deviation of its own cells") {
  constexpr int kColumns = 101, kRows = 9;
  const auto cell = [](int row, int column) { return double((row * row * 7 + column * 13) % 29 + column); };
  const auto is_missing = [](int row, int column) { return row == column % kRows && column % 3 == 0; };
  std::string content;
  for (int column = 0; column < kColumns; ++column) content += text("c", column, ',');
  content += "k\n";
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column)
      content += is_missing(row, column) ? "," : text(cell(row, column), ',');
    content += row % 2 ? "a\n" : "b\n";
  }
  const Data data = coded(content).data;
  for (int column = 0; column < kColumns; ++column) {
    double count = 0, sum = 0, squares = 0;
    for (int row = 0; row < kRows; ++row)
      if (!is_missing(row, column)) ++count, sum += cell(row, column);
    for (int row = 0; row < kRows; ++row)
      if (!is_missing(row, column)) squares += std::pow(cell(row, column) - sum / count, 2);
    const ColumnCode& code = data.table.codes[size_t(column)];
    REQUIRE(code.mean == Approx(sum / count));
    REQUIRE(code.deviation == Approx(std::sqrt(squares / count)));
    REQUIRE(code.indicator == (column % 3 == 0));
  }
}

TEST_CASE("a category has a number of its own, in the order of names, and missing ones another") {
  const Data data = coded("c,d,k\nred,u,a\nblue,v,b\n?,u,a\nred,v,b\ngreen,u,a\n").data;
  CHECK(data.table.codes[0].categories == std::vector<std::string>{"blue", "green", "red"});
  CHECK(coded_row(data, 0) == CodedRow{0, 0, 1, 0, 1, 0});
  CHECK(coded_row(data, 1) == CodedRow{1, 0, 0, 0, 0, 1});
  CHECK(coded_row(data, 2) == CodedRow{0, 0, 0, 1, 1, 0});
  const CodedTable few = coded("c,d,k\nred,u,a\nblue,v,b\nred,u,a\nred,v,b\ngreen,u,a\nblue,u,b\n",
                               {{"test", "0"}, {"most_categories", "2"}});
  CHECK(few.data.table.codes[0].categories == std::vector<std::string>{"blue", "red"});
  CHECK(coded_row(few.data, 4) == CodedRow{0, 0, 1, 0});
  REQUIRE(few.notes.size() == 1);
  CHECK_THAT(few.notes[0], Catch::Contains("column 'c' has 3 categories, from 'red' to 'green'; the 2 most frequent"));
}

TEST_CASE("texts that mostly stand in one row are told") {
  const auto notes_of = [](int different, const Keys& keys = {{"test", "0"}}) {
    std::string content = "c,x,k\n";
    for (int i = 0; i < 20; ++i) content += text("0x", i % different, ",", 20 - i, ",", i % 3 ? "a" : "b", "\n");
    return coded(content, keys).notes;
  };
  REQUIRE(notes_of(11).size() == 1);
  CHECK_THAT(notes_of(11)[0], Catch::Contains("column 'c' has 11 different texts in 20 training rows, as '0x0': a net "
                                              "learns little from a text that it sees once; write numbers as 1234.5"));
  CHECK(notes_of(10).empty());
  // The second note is about categories that are numbered.
  CHECK(notes_of(11, {{"test", "0"}, {"most_categories", "3"}}).size() == 2);
}

TEST_CASE("numbers may be categories, and texts booleans") {
  const std::string content = "zip,b,k\n10,yes,a\n20,NO,b\n10,Yes,a\n30,,b\n";
  const Data data = coded(content, {{"test", "0"}, {"columns", "{zip: category}"}}).data;
  CHECK(data.table.codes[0].categories == std::vector<std::string>{"10", "20", "30"});
  CHECK(coded_row(data, 0) == CodedRow{1, 0, 0, 1, 0});
  CHECK(coded_row(data, 1) == CodedRow{0, 1, 0, 0, 0});
  CHECK(coded_row(data, 3) == CodedRow{0, 0, 1, float(2.0 / 3), 1});
  CHECK(table_refusal("zip,b,k\n1,yes,a\n2,maybe,b\n", {{"test", "0"}, {"columns", "{b: boolean}"}}) ==
        "a.csv:3:3: column 'b': expected a boolean, such as yes or no, found 'maybe'");
}

// Days by Python's datetime: (date(2024, 5, 31) - date(1970, 1, 1)).days == 19874, a Friday, day 152 of 366.
TEST_CASE("dates become days and places in year, week and day") {
  const auto day = [](const char* cell, DateForm form) { return parse_date(cell, form).days; };
  CHECK(day("2024-05-31", DateForm::year_first) == 19874);
  CHECK(day("2024/5/31", DateForm::year_first) == 19874);
  CHECK(day("31.5.2024", DateForm::day_first) == 19874);
  CHECK(day("05/31/2024", DateForm::month_first) == 19874);
  CHECK(day("1969-12-31", DateForm::year_first) == -1);
  CHECK(day("2024-05-31 12:00", DateForm::year_first) == 19874.5);
  CHECK(day("2024-05-31T06:00:00.000Z", DateForm::year_first) == 19874.25);
  CHECK(day("2024-05-31T06:00:00+06:00", DateForm::year_first) == 19874);
  CHECK(day("2024-05-31 06:00:00 +0600", DateForm::year_first) == 19874);
  for (const char* six : {"2024-05-31 6:00 AM", "2024-05-31 06:00am", "2024-05-31 06:00 UTC", "2024-05-31 06:00:00 GMT",
                          "2024-05-31T06:00z"})
    CHECK(day(six, DateForm::year_first) == 19874.25);
  CHECK(day("5/31/2024 12:00 AM", DateForm::month_first) == 19874);
  CHECK(day("5/31/2024 12:00 PM", DateForm::month_first) == 19874.5);
  CHECK(day("5/31/2024 6:00:00 PM UTC", DateForm::month_first) == 19874.75);
  for (const char* wrong : {"2023-02-29", "2024-13-01", "2024-05", "4-05-31", "124-05-31", "24.05.31", "2024-05-31x",
                            "2024-05-31 25:00", "2024-05/31", "", "-", "2024-05-31 13:00 PM", "2024-05-31 0:00 AM",
                            "2024-05-31 10:00 CET", "2024-05-31 10:00+99:00"})
    CHECK_FALSE(parse_date(wrong, DateForm::year_first).found);
  CHECK(day("31.05.24", DateForm::day_first) == 19874);
  CHECK(day("5/31/24", DateForm::month_first) == 19874);
  for (const char* code : {"2.4.13", "4-4-13", "10-4-16"}) CHECK(parse_date(code, DateForm::day_first).may_be_code);
  const DatePlaces places = places_of(19874.5);
  CHECK(places.in_year == Approx(151.5 / 366));
  CHECK(places.in_week == Approx(4.5 / 7));
  CHECK(places.in_day == 0.5);
  CHECK(date_text(19874.9) == "2024-05-31");

  const Data data = coded("d,k\n2024-05-31,a\n2024-06-02,b\n,a\n").data;
  const double year = 2 * std::numbers::pi * 151 / 366, week = 2 * std::numbers::pi * 4 / 7;
  CHECK(coded_row(data, 0) ==
        CodedRow{-1, float(std::sin(year)), float(std::cos(year)), float(std::sin(week)), float(std::cos(week)), 0});
  CHECK(coded_row(data, 2) == CodedRow{0, 0, 0, 0, 0, 1});
  CHECK(coded("d,k\n2024-05-31 03:00,a\n2024-06-02,b\n").data.sample == Shape{7});
  // One time in all rows: the mean is rounded, and what it differs by is no deviation.
  CHECK(coded("d,k\n2024-05-31 03:01:07,a\n2024-05-31 03:01:07,b\n2024-05-31 03:01:07,b\n")
            .data.table.codes[0]
            .deviation == 1);
  CHECK(coded("d,k\n13/5/2024,a\n1/6/2024,b\n").data.table.codes[0].form == DateForm::day_first);
  CHECK(coded("d,k\n5/13/2024,a\n1/6/2024,b\n").data.table.codes[0].form == DateForm::month_first);
  CHECK_THAT(table_refusal("d,k\n5/6/2024,a\n1/6/2024,b\n"),
             Catch::StartsWith("a.csv:2:1: column 'd': in '5/6/2024' the day or the month may stand first; say which"));
  CHECK(coded("d,k\n5/6/2024,a\n1/6/2024,b\n", {{"test", "0"}, {"columns", "{d: month_first}"}}).data.sample ==
        Shape{5});
  CHECK_THAT(table_refusal("d,k\n2024-05-31,a\nsoon,b\n", {{"test", "0"}, {"columns", "{d: date}"}}),
             Catch::StartsWith("a.csv:3:1: column 'd': expected a date, such as 2024-05-31, found 'soon'"));
  CHECK_THAT(table_refusal("d,k\n1/13/2024,a\n1/6/2024,b\n", {{"test", "0"}, {"columns", "{d: day_first}"}}),
             Catch::StartsWith("a.csv:2:1: column 'd': expected a date with the day first, such as 31/5/2024, found"));
  CHECK_THAT(
      table_refusal("d,k\n13/1/2024,a\n1/6/2024,b\n", {{"test", "0"}, {"columns", "{d: month_first}"}}),
      Catch::StartsWith("a.csv:2:1: column 'd': expected a date with the month first, such as 5/31/2024, found"));
}

TEST_CASE("years of two digits are read where the order is certain, or named") {
  const auto day = [](const char* cell, DateForm form) { return parse_date(cell, form).days; };
  // Years of two digits by Python's strptime with %y, which is POSIX's: 68 is 2068, 69 is 1969.
  CHECK(day("24-05-31", DateForm::year_first) == 19874);
  CHECK(day("31.5.24", DateForm::day_first) == 19874);
  CHECK(day("5/31/24 12:00 PM", DateForm::month_first) == 19874.5);
  CHECK(day("31/12/69", DateForm::day_first) == -1);
  CHECK(day("1/1/68", DateForm::month_first) == 35794);
  CHECK(day("1/1/99", DateForm::month_first) == 10592);
  CHECK_FALSE(parse_date("5/31/124", DateForm::month_first).found);
  CHECK(coded("d,k\n1/15/23,a\n12/6/23,b\n").data.table.codes[0].form == DateForm::month_first);
  CHECK(coded("d,k\n20.01.23,a\n01.06.23,b\n").data.table.codes[0].form == DateForm::day_first);
  CHECK(coded("d,k\n99-01-20,a\n01-06-23,b\n").data.table.codes[0].form == DateForm::year_first);
  CHECK_THAT(table_refusal("d,k\n23-01-20,a\n23-02-21,b\n"),
             Catch::StartsWith("a.csv:2:1: column 'd': in '23-01-20' the year or the day may stand first; say which "
                               "under columns: year_first or day_first; category or ignore if they are no dates"));
  for (const char* rows : {"2.4.13,a\n3.4.13,b\n2.4.13,b\n", "4-4-13,a\n5-4-13,b\n4-4-13,b\n"}) {
    const std::string content = text("d,k\n", rows);
    CHECK(coded(content).data.table.codes[0].kind == ColumnKind::category);
    CHECK(coded(content, {{"test", "0"}, {"columns", "{d: day_first}"}}).data.table.codes[0].kind == ColumnKind::date);
  }
  CHECK_FALSE(parse_date("7.8.14 10:00", DateForm::day_first).may_be_code);
  const auto kind = [](const CodedTable& table) { return table.data.table.codes[0].kind; };
  for (const char* rows : {"7.8.14 10:00,a\n2.7.13 03:00,b\n", "2.4.13,a\n28.4.13,b\n3.5.13,a\n4.5.13,b\n"}) {
    const CodedTable dates = coded(text("d,k\n", rows));
    CHECK((kind(dates) == ColumnKind::date && dates.notes.empty()));
  }
  // Certainly versions; and texts that may be either, of which a note says so.
  for (const char* other : {"2.14.3", "2.13.14", "1.2.345", "40.1.13", "1.2.3.4"}) {
    const CodedTable versions = coded(text("d,k\n28.4.13,a\n2.4.13,b\n3.4.13,b\n", other, ",a\n"));
    CHECK((kind(versions) == ColumnKind::category && versions.notes.empty()));
  }
  for (const char* unclear : {"2.4.13", "4-4-13"}) {
    const CodedTable either = coded(text("d,k\n", unclear, ",a\n", unclear, ",b\n"));
    CHECK(kind(either) == ColumnKind::category);
    REQUIRE(either.notes.size() == 1);
    CHECK_THAT(either.notes[0],
               Catch::EndsWith(text("column 'd': '", unclear, "' may be a date or a code, and is read ",
                                    "as no date; if it is one, give the column a kind, such as ",
                                    "day_first, under columns")));
  }
  CHECK_THAT(table_refusal("d,k\n2.4.13,a\n28.4.13,b\n31.2.13,a\n"), Catch::Contains("found '31.2.13'"));
  // Runs from before keep their samples.
  CHECK(kind(coded("d,k\n2.4.13,a\n3.4.13,b\n", {{"test", "0"}}, kRulesOfDeepTexts - 1)) == ColumnKind::date);
  CHECK(kind(coded("d,k\n4-4-13,a\n5-4-13,b\n", {{"test", "0"}}, kRulesOfDeepTexts - 1)) == ColumnKind::category);
  // All are dates if most certainly are.
  CHECK(coded("d,k\n20.01.23,a\n21.01.23,b\n1.6.23,b\n").data.table.codes[0].kind == ColumnKind::date);
  CHECK(coded("d,k\n23-01-20,a\n23-02-21,b\n", {{"test", "0"}, {"columns", "{d: year_first}"}})
            .data.table.codes[0]
            .form == DateForm::year_first);
}

TEST_CASE("columns that only name the rows are left out, with a note") {
  std::string content = ",x,PassengerId,name,grid,k\n";
  for (int i = 0; i < 30; ++i)
    content += text(i, ",", i % 7, ",", 100 - i, ",person ", i, ",", i, i % 2 ? ",a\n" : ",b\n");
  const CodedTable loaded = coded(content);
  CHECK(loaded.data.table.features == std::vector<std::string>{"x", "grid"});
  CHECK(loaded.data.table.positions == std::vector<int64_t>{1, 4});
  REQUIRE(loaded.notes.size() == 4);
  CHECK_THAT(loaded.notes[3], Catch::Contains("column 'grid' has the numbers of the rows, and is read as numbers"));
  CHECK_THAT(loaded.notes[0], Catch::StartsWith("note: ") && Catch::Contains("column '' is left out: it has no name"));
  CHECK_THAT(loaded.notes[1], Catch::Contains("column 'PassengerId' is left out: its whole numbers all differ"));
  CHECK_THAT(loaded.notes[2], Catch::Contains("column 'name' is left out: its texts all differ"));
  const Data kept = coded(content, {{"test", "0"}, {"columns", "{PassengerId: number, name: category}"}}).data;
  CHECK(kept.table.features == std::vector<std::string>{"x", "PassengerId", "name", "grid"});
  CHECK_THAT(coded("x,y,k\n1,,a\n2,?,b\n").notes[0], Catch::Contains("column 'y' is left out: it has no values"));
}

TEST_CASE("a note names numbers with zeros before them, which may be codes") {
  const std::string content = "zip,x,hour,k\n10115,0,7,a\n01234,0.5,0,b\n99001,-0,10,a\n";
  const CodedTable loaded = coded(content);
  REQUIRE(loaded.notes.size() == 1);
  CHECK_THAT(loaded.notes[0], Catch::EndsWith("column 'zip': '01234' is read as a number; if it is a code, give the "
                                              "column the kind category, under columns"));
  for (const char* kind : {"category", "number"})
    CHECK(coded(content, {{"test", "0"}, {"columns", text("{zip: ", kind, "}")}}).notes.empty());
}

TEST_CASE("the training rows alone decide, and rows of a test file are coded by them") {
  std::string content = "x,c,k\n";
  for (int i = 0; i < 40; ++i) content += text(i, ",", i % 2 ? "u" : "v", i % 3 ? ",a\n" : ",b\n");
  const Data data = coded(content, {{"test", "0.25"}, {"validation", "10"}}).data;
  double sum = 0;
  for (int64_t i = 0; i < 20; ++i) sum += data.train.inputs.at(3 * i);
  CHECK(data.train.size() == 20);
  CHECK(sum == Approx(0).margin(1e-5));
  // Each value of x is once in the three parts, by the mean and deviation of the first.
  double all = 0;
  for (const Split* split : {&data.train, &data.validation, &data.test})
    for (int64_t i = 0; i < split->size(); ++i)
      all += split->inputs.at(3 * i) * data.table.codes[0].deviation + data.table.codes[0].mean;
  CHECK(all == Approx(780).margin(1e-3));
  const TempDir dir;
  const std::string test = dir.write("test.csv", "x,c,k\n100,w,a\n,v,b\n");
  const Data other = coded("x,c,k\n1,u,a\n3,v,b\n1,u,a\n3,v,b\n", {{"test", test}}).data;
  CHECK(values(other.test.inputs) == CodedRow{98, 0, 0, 0, 0, 1});
}

TEST_CASE("cells of a test file that no training row was like are noted, or refused") {
  const TempDir dir;
  const std::string train = dir.write("train.csv", "n,c,b,d,k\n1,u,yes,2024-01-02,p\n2,v,no,2024-02-03,q\n");
  const auto load = [&](const std::string& rows, const Keys& more = {}) {
    Keys keys = {{"path", train}, {"test", dir.write("test.csv", "n,c,b,d,k\n" + rows)}};
    keys.insert(keys.end(), more.begin(), more.end());
    std::vector<std::string> notes;
    DataContext context = offline("", 3);
    context.warnings = &notes;
    make("CSV", keys)->load(context);
    return join(notes, "\n");
  };
  CHECK(load("1,u,no,2024-03-04,p\n") == "");
  const std::string notes = load("1,w,no,2024-03-04,p\n,x,no,,q\n,w,yes,2024-03-04,q\n");
  CHECK_THAT(notes, Catch::Contains("test.csv: column 'n': no value was missing in training; in 2 rows the mean"));
  CHECK_THAT(notes, Catch::Contains("test.csv: column 'c': 'w' and others, in 3 rows, are no category"));
  CHECK_THAT(
      load("1,w,no,2024-03-04,p\n2,w,no,2024-03-04,p\n"),
      Catch::Contains("column 'c': 'w', in 2 rows, is no category that the net was trained with, and counts as none"));
  CHECK_THAT(notes, Catch::Contains("test.csv: column 'd': no value was missing in training; in 1 row the mean"));
  CHECK(load("1,w,no,2024-03-04,p\n", {{"most_categories", "1"}}).find("no category that") == std::string::npos);
  CHECK_THAT(error_of([&] { load("1,u,no,2024-03-04,p\n2,u,maybe,2024-03-04,q\n"); }),
             Catch::EndsWith("test.csv:3:5: column 'b': expected a boolean, as in training, found 'maybe'"));
  CHECK_THAT(error_of([&] { load("1,gr\xfcn,no,2024-03-04,p\n"); }),
             Catch::EndsWith("test.csv:2:3: column 'c': 'gr\\xfcn' is not UTF-8; save the file as UTF-8"));
  CHECK_THAT(error_of([&] { load("1,u,no,4.3.2024,p\n"); }),
             Catch::EndsWith("test.csv:2:8: column 'd': expected a date, as in training, found '4.3.2024'"));
}

TEST_CASE("targets that are values are standardised by the training rows") {
  const Data data = coded("x,y\n1,10.5\n2,20.5\n1,30.5\n2,40.5\n", {{"test", "0"}, {"task", "regression"}}).data;
  const double deviation = std::sqrt(125.0);
  CHECK(data.target_standard.means == CodedRow{25.5});
  CHECK(data.target_standard.deviations[0] == Approx(deviation));
  CHECK(data.train.targets.at(0) == float(-15 / deviation));
}

TEST_CASE("rows of a table are targets as the net sees them") {
  const std::string table = "x,c,y\n1,red,2.5\n2,blue,3.5\n6,red,4.5\n";
  const Keys keys = {{"test", "0"}, {"reconstruct", "true"}};
  const Data plain = coded(table, {{"test", "0"}}).data, data = coded(table, keys).data;
  REQUIRE(data.targets.size() == 2);
  CHECK(data.targets[0] == NamedTarget{"value", TargetKind::number, 1, {}, plain.target_standard});
  CHECK(data.targets[1] == NamedTarget{"sample", TargetKind::number, 3, {}, {}});
  REQUIRE(data.train.targets.shape() == Shape{3, 4});
  for (int64_t row = 0; row < 3; ++row) {
    CHECK(data.train.targets.at(row * 4) == plain.train.targets.at(row));
    for (int64_t k = 0; k < 3; ++k) CHECK(data.train.targets.at(row * 4 + 1 + k) == plain.train.inputs.at(row * 3 + k));
  }
  // A net that was trained before gives its mean and deviation.
  const TempDir dir;
  DataContext former = offline();
  former.targets = data.targets;
  former.targets[0].standard = {{1}, {2}};
  former.columns = data.table;
  Keys more = keys;
  more.push_back({"path", dir.write("a.csv", table)});
  const Data again = make("CSV", more)->load(former);
  CHECK(again.train.targets.at(0) == 0.75);
  CHECK(again.targets[0].standard == former.targets[0].standard);
  const Data of_classes = coded("x,k\n1,a\n2,b\n", keys).data;
  CHECK(of_classes.targets[0].name == "class");
  CHECK(of_classes.train.targets.shape() == Shape{2, 2});
}

TEST_CASE("semicolons, tabs and decimal commas are found") {
  const Data data =
      coded("x;c;y\n1,5;red;2,5\n2,5;blue;3,5\n;red;4,25\n", {{"test", "0"}, {"standardize", "false"}}).data;
  CHECK(data.table.delimiter == ';');
  CHECK(data.table.decimal == ',');
  CHECK(values(data.train.inputs) == CodedRow{1.5, 0, 0, 1, 2.5, 0, 1, 0, 2, 1, 0, 1});
  CHECK(values(data.train.targets) == CodedRow{2.5, 3.5, 4.25});
  CHECK(coded("x\ty\tk\n1.5\t2\ta\n2\t3\tb\n").data.table.delimiter == '\t');
  CHECK(coded("2,5;1,5;3;c\n3,5;4;2;b\n1;2,5;1;b\n").data.sample == Shape{3});  // no header
  CHECK_THAT(table_refusal("x;c;k\n1,5;1;a\n2,5;2;b\n3.5;1;a\n", {{"test", "0"}, {"decimal", "comma"}}),
             Catch::StartsWith("a.csv:4:1: column 'x': expected a number, found '3.5'; this table has decimal commas"));
  // A target is read by the same rule: 1.234 may be 1234.
  const std::string mixed = "x;c;y\n1,5;1;2,5\n2,5;2;3,5\n3,5;1;1.234\n", whole = "x;y\n1,5;0\n2,5;1\n3,5;1.000\n";
  CHECK_THAT(table_refusal(mixed, {{"test", "0"}, {"decimal", "comma"}}),
             Catch::StartsWith("a.csv:4:7: the target: '1.234' has a point, and decimals of this table have commas"));
  CHECK_THAT(table_refusal(mixed, {{"test", "0"}, {"decimal", "comma"}, {"targets", "{y: number}"}}),
             Catch::StartsWith("a.csv:4:7: the target: '1.234' has a point"));
  CHECK_THAT(table_refusal(whole, {{"test", "0"}, {"decimal", "comma"}}),
             Catch::StartsWith("a.csv:4:5: the target: '1.000' has a point"));
  CHECK(coded(whole, {{"test", "0"}, {"decimal", "comma"}, {"task", "classes"}}).data.classes == 2);
  CHECK_THAT(table_refusal("a;b,c;d\ne;f,g;h\n"), Catch::Contains("its cells may be separated by ',' or by ';'"));
  CHECK_THAT(table_refusal("x,y\n1,2\n3,4\n", {{"decimal", "comma"}}), Catch::Contains("say delimiter, too"));
}

TEST_CASE("a column of numbers with a text in it is refused, with the place") {
  CHECK_THAT(
      table_refusal("x,k\n1,a\n2,b\n3O,a\n4,b\n"),
      Catch::StartsWith("a.csv:4:1: column 'x': expected a number, found '3O'; mend the cell, or give the column"));
  CHECK(coded("x,k\n1,a\n2,b\n3O,a\n4,b\n", {{"test", "0"}, {"columns", "{x: category}"}}).data.sample == Shape{4});
  CHECK(coded("x,k\n1,a\nA,b\nB,a\n2,b\nC,b\n").data.sample == Shape{5});
  CHECK_THAT(table_refusal("c,d,y\nred,u,1.5\nred,v,2.5\nblue,u,3\n", {{"test", "0"}, {"header", "true"}}),
             Catch::StartsWith("no"));
  CHECK_THAT(table_refusal("red,u,1.5\nred,v,2.5\nblue,u,3\n"), Catch::Contains("its target '1.5' is a number"));
  CHECK_THAT(table_refusal("red,u,a\nred,v,b\nblue,w,c\n"), Catch::Contains("'red' is a cell of other lines, too"));
  CHECK(coded("red,u,1.5\nred,v,2.5\nblue,u,3\n", {{"test", "0"}, {"header", "false"}}).data.train.size() == 3);
  CHECK_THAT(table_refusal("x,c,k\n1,\xff,a\n2,u,b\n3,u,b\n"),
             Catch::StartsWith("a.csv:2:3: column 'c': '\\xff' is not UTF-8"));
}

TEST_CASE("a column whose first cells are texts is one of texts, unless most are numbers") {
  // Of 150 texts and then some numbers, or the other way round.
  const auto column = [](int texts, int numbers, bool texts_first) {
    std::string out = "x,k\n";
    for (int i = 0; i < texts + numbers; ++i) {
      const bool is_text = texts_first ? i < texts : i >= numbers;
      out += text(is_text ? text("t", i % 7) : text(i % 5), i % 2 ? ",a\n" : ",b\n");
    }
    return out;
  };
  for (const bool texts_first : {true, false}) {
    CHECK(coded(column(150, 149, texts_first)).data.sample == Shape{12});
    CHECK_THAT(table_refusal(column(150, 151, texts_first)),
               Catch::StartsWith(text("a.csv:", texts_first ? 2 : 153, ":1: column 'x': expected a number, found 't",
                                      texts_first ? 0 : 151 % 7, "'; mend the cell, or give the column")));
  }
}

TEST_CASE("a run of an older checkpoint has numbers as they are") {
  std::string content = "id,x,k\n";
  for (int i = 0; i < 30; ++i) content += text(i, ",", 2 * i, i % 2 ? ",a\n" : ",b\n");
  const Data data = coded(content, {{"test", "0"}}, 2).data;
  CHECK(data.sample == Shape{2});
  CHECK(coded_row(data, 3) == CodedRow{3, 6});
  CHECK(data.table.codes.empty());
  CHECK_THAT(error_of([] {
               coded("x,y,k\n1,red,a\n2,blue,b\n", {{"test", "0"}}, 2);
             }),
             Catch::Contains("column 'y': expected a number, found 'red'"));
}
