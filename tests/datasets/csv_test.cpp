#include "datasets/csv.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "datasets/byte_search.h"
#include "datasets/csv_table.h"
#include "datasets/line_pieces.h"
#include "datasets/table_cell.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

std::vector<std::vector<std::string>> parse(const std::string& text, char delimiter = ',') {
  CsvReader reader(text, delimiter, "a.csv");
  std::vector<std::vector<std::string>> out;
  std::vector<CsvCell> cells;
  while (reader.next(cells)) {
    out.emplace_back();
    for (const CsvCell& cell : cells) out.back().emplace_back(cell.text);
  }
  return out;
}

using Rows = std::vector<std::vector<std::string>>;

}  // namespace

TEST_CASE("records and cells are split, with any line end, byte order mark or none") {
  const Rows expected{{"a", "b"}, {"1", "2"}};
  CHECK(parse("a,b\n1,2\n") == expected);
  CHECK(parse("a,b\r\n1,2") == expected);
  CHECK(parse("a,b\r1,2\r") == expected);
  CHECK(parse("\xef\xbb\xbf"
              "a,b\n\n  \n1 , 2\n\n") == expected);
  CHECK(parse("a\tb\n1\t2\n", '\t') == expected);
  CHECK(parse(",\n") == Rows{{"", ""}});
  CHECK(parse("\t\n", '\t') == Rows{{"", ""}});
  CHECK(parse("").empty());
  CHECK(parse("\n\n").empty());
}

TEST_CASE("quoted cells keep delimiters, quotes, spaces and line breaks") {
  CHECK(parse("\"a,b\",\"say \"\"hi\"\"\"\n") == Rows{{"a,b", "say \"hi\""}});
  CHECK(parse("\" x \" ,\"line\nbreak\"\n2,3\n") == Rows{{" x ", "line\nbreak"}, {"2", "3"}});
  CHECK(parse("\"\",\"\"\"\"\n") == Rows{{"", "\""}});
}

TEST_CASE("cells know their line and column, also after line breaks in quotes") {
  CsvReader reader("a,\"b\nc\", d\n  e,f\n", ',', "a.csv");
  std::vector<CsvCell> cells;
  REQUIRE(reader.next(cells));
  REQUIRE(cells.size() == 3);
  CHECK(reader.place(cells[1].at) == "a.csv:1:3");
  CHECK(reader.place(cells[2].at) == "a.csv:2:5");
  REQUIRE(reader.next(cells));
  CHECK(reader.place(cells[0].at) == "a.csv:3:3");
  CHECK(CsvReader("a\r\nb\rc\n\nd", ',', "a.csv").place(8) == "a.csv:5:1");
  CHECK(CsvReader("\xef\xbb\xbf"
                  "ab",
                  ',', "a.csv")
            .place(4) == "a.csv:1:2");
}

TEST_CASE("places are the same where each is counted from the one before") {
  const std::string text =
      "\xef\xbb\xbf"
      "a\r\nb\r\rc\n\nd,\"e\nf\"\r\n\n";
  const CsvReader reader(text, ',', "a.csv");
  for (const size_t step : {size_t(1), size_t(2), size_t(5)}) {
    CsvReader::KnownLine known;
    for (size_t at = 0; at <= text.size(); at += step) CHECK(reader.place(at, known) == reader.place(at));
    CHECK(reader.place(4, known) == reader.place(4));  // back again
  }
}

TEST_CASE("malformed text is an error with file, line and column") {
  CHECK(error_of([] { parse("a,b\n1,\"2\n3,4\n"); }) == "data: a.csv:2:3: a quoted cell starts here and does not end");
  CHECK_THAT(error_of([] { parse("\"a\"b,c\n"); }), Catch::StartsWith("data: a.csv:1:4: text after a quoted cell"));
  CHECK_THAT(error_of([] { parse(std::string("a,b\n1,\0", 7)); }), Catch::StartsWith("data: a.csv:2:3: a NUL byte"));
  CHECK_THAT(error_of([] {
               parse(
                   "\xff\xfe"
                   "a\0");
             }),
             Catch::Contains("UTF-16"));
}

TEST_CASE("numbers are whole cells") {
  double value = 0;
  for (const auto& [written, expected] :
       {std::pair{"1.5", 1.5}, {"-2e3", -2000.0}, {"+4", 4.0}, {".5", 0.5}, {"1e-400", 0.0}, {"-1e400", -INFINITY}}) {
    REQUIRE(parse_number(written, value));
    CHECK(value == expected);
  }
  for (const char* wrong : {"", "+", "+-1", "-+1", "1,5", "1 2", "0x10", "1e400x", "NA", "1.5kg", "nan", "-nan"})
    CHECK_FALSE(parse_number(wrong, value));
}

TEST_CASE("a number read in place is the one that strtod reads") {
  // Of a line with little behind the cell, and with as much as lets the reader look far ahead, also cell after cell.
  const std::string header = std::string(20, 'h') + "\n";
  const auto in_place = [&](const std::string& cell, char delimiter, float& out) {
    const std::string behind(80, 'x'), line = cell + delimiter;
    float far = 0;
    const auto read = [&](const std::string& rest, float& to) {
      const std::string text = header + rest;
      CsvReader reader(text, delimiter, "a.csv", header.size());
      return reader.start_record() && reader.take_f32(to) && reader.another_cell() && reader.cell().text[0] == 'x';
    };
    const bool near = read(line + "x\n", out);
    REQUIRE(near == read(line + behind, far));
    const std::string cells = header + line + "-7.5" + delimiter + line + behind;
    CsvReader reader(cells, delimiter, "a.csv", header.size());
    REQUIRE(reader.start_record());
    float several[3] = {};
    const size_t taken = reader.take_short_f32s(several, 3);
    REQUIRE((taken == 0 || near));
    REQUIRE(reader.at() == header.size() + std::array<size_t, 4>{0, line.size(), 0, 2 * line.size() + 5}[taken]);
    if (near) REQUIRE(far == out);
    for (size_t k = 0; k < taken; k += 2) REQUIRE(several[k] == out);
    if (taken) REQUIRE(several[1] == -7.5f);
    return near;
  };
  uint64_t state = 1;
  const auto draw = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  for (int i = 0; i < 50000 / kSmaller; ++i) {
    std::string cell = draw(2) ? "" : draw(2) ? "-" : "+";
    const uint64_t digits = 1 + draw(20), point = draw(24);
    for (uint64_t k = 0; k < digits; ++k) {
      if (k == point) cell += '.';
      cell += char('0' + draw(10));
    }
    if (draw(4) == 0) cell += "e" + std::to_string(int(draw(30)) - 20);
    if (draw(4) == 0) cell += std::string(draw(3), ' ');
    float value = 0;
    INFO(cell);
    REQUIRE(in_place(cell, ';', value));
    const double expected = std::strtod(cell.c_str(), nullptr);
    REQUIRE(value == float(expected));
    double whole = 0;
    REQUIRE(parse_number(cell.substr(0, cell.find(' ')), whole));
    REQUIRE(whole == expected);
  }
  float value = 7;
  for (const char* wrong : {"", "-", ".", "+-1", "1.2.3", "1e", "1e400", "1e39", "inf", "nan", "\"1\"", "1 2", "0x1"})
    CHECK_FALSE(in_place(wrong, ';', value));
  // A delimiter that a number may have in it is never read as a part of one.
  CHECK_FALSE(in_place("1", '5', value));
  CHECK_FALSE(in_place("1", 'e', value));
}

TEST_CASE("short numbers are read row by row, others are left") {
  const std::string header = std::string(20, 'h') + "\n";
  const std::string line = header + "1,-20,3.25,1e3, 5,6,7" + std::string(80, '0') + "\n";
  CsvReader reader(line, ',', "a.csv", header.size());
  REQUIRE(reader.start_record());
  float got[8] = {};
  CHECK(reader.take_short_f32s(got, 2) == 2);
  CHECK(reader.take_short_f32s(got + 2, 5) == 1);
  CHECK(got[0] == 1);
  CHECK(got[1] == -20);
  CHECK(got[2] == 3.25f);
  CHECK(reader.take_short_f32s(got, 5) == 0);
  CHECK(reader.cell().text == "1e3");
}

TEST_CASE("the first of some characters is found") {
  const std::string all = std::string(40, 'a') + ',' + std::string(20, 'b') + '"' + '\0' + "x,";
  for (size_t begin = 0; begin <= all.size(); ++begin)
    for (size_t end = begin; end <= all.size(); ++end) {
      const std::string part = all.substr(begin, end - begin);
      const char* const from = part.data();
      REQUIRE(find_first_of(from, from + part.size(), ',', '\0') - from ==
              std::ptrdiff_t(std::min(part.find_first_of(std::string(",\0", 2)), part.size())));
    }
}

TEST_CASE("a line has so many cells at most, and no more are held") {
  const std::string commas(CsvReader::kMostCells + 10, ',');
  CHECK(error_of([&] { parse(commas); }) == text("data: a.csv:1:", CsvReader::kMostCells + 1,
                                                 ": this row has more than ", CsvReader::kMostCells, " cells"));
}

TEST_CASE("lines that are not blank are counted") {
  uint64_t state = 7;
  for (int i = 0; i < 400; ++i) {
    std::string text;
    for (int k = 0; k < i; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += std::string_view("1a, \n\r ,\"11111111")[(state >> 33) % (i % 2 ? 17 : 6)];
    }
    int64_t lines = 0;
    bool blank = true;
    for (const char c : text + "\n") {
      const bool end = c == '\n' || c == '\r';
      lines += end && !blank;
      blank = end || (blank && c == ' ');
    }
    INFO(text);
    CHECK(count_lines(text).lines == lines);
    CHECK(count_lines(text).quotes == (text.find('"') != text.npos));
  }
}

TEST_CASE("lines of a table are counted outside of quoted cells") {
  CHECK(count_whole_lines("a,b\n1,2\r\n\n\r3,4\r") == 3);
  CHECK(count_whole_lines("\"a\"\n \"b\n\nc\" \n\"d\"\"\n\"\n\"e\n") == 3);
  CHECK(count_whole_lines("\xef\xbb\xbf\"a\n\"\n") == 1);
  for (const char* within : {"a\n5\" pipe\n", "a\n\xc3\xa9\"\n", "a\n5 \" pipe\n", "\"a\"b\"\n"})
    CHECK(count_whole_lines(within) == 0);
}

namespace {

// A table larger than what read_table() keeps in memory: numbers, a colour, numbers, and the target. `change` may alter
// the line of a row.
constexpr int kRowsOfLarge = 30000;

std::string large_table(const std::string& end, const std::function<void(int, std::string&)>& change) {
  const std::string colours[] = {"red", "green", "blue"};
  std::string out = "a,b,colour,c,\"y\"" + end;
  for (int i = 0; i < kRowsOfLarge; ++i) {
    std::string line = text(0.25 * i, ",-", i, ".5,", colours[i % 3], ",", 1000000 - i);
    line += std::string(300 - line.size(), ' ') + text(",", i, ".125");
    change(i, line);
    out += line + end;
  }
  return out;
}

Table read_large(const TempDir& dir, const std::string& content) {
  CsvParams params;
  params.path = dir.write("large.csv", content);
  TableLayout layout;
  return read_table(params, params.path, layout);
}

void check_large(const Table& table) {
  REQUIRE(table.features.shape() == Shape{kRowsOfLarge, 4});
  REQUIRE(table.texts.at(2).texts == std::vector<std::string>{"red", "green", "blue"});
  const auto x = table.features.as<float>();
  int64_t wrong = 0;
  for (int i = 0; i < kRowsOfLarge; ++i) {
    const float* const row = x.data() + 4 * i;
    wrong += row[0] != float(0.25 * i) || row[1] != float(-0.5 - i) || row[2] != float(i % 3) ||
             row[3] != float(1000000 - i);
    wrong += table.targets[0][size_t(i)] != text(i, ".125");
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a large table is read in pieces, and faults are told as ever") {
  const TempDir dir;
  const auto as_it_is = [](int, std::string&) {};
  for (const char* end : {"\n", "\r\n"}) {
    const Table table = read_large(dir, large_table(end, as_it_is));
    CHECK_FALSE(table.file->is_held());
    check_large(table);
    CHECK(error_of([&] { table.fail_at_target(20000, 0, "is wrong"); }) ==
          "data: " + table.path + ":20002:302: is wrong");
    CHECK(error_of([&] { table.fail_at(table.texts.at(2).first[1], "here"); }) ==
          "data: " + table.path + ":3:11: here");
  }
  const auto with = [&](int row, const std::string& from, const std::string& to) {
    return large_table("\n", [&](int i, std::string& line) {
      if (i == row) line.replace(line.find(from), from.size(), to);
    });
  };
  // A quote anywhere, a blank line, and a line longer than a piece.
  const Table quoted = read_large(dir, with(25000, "green", "\"green\""));
  CHECK_FALSE(quoted.file->is_held());
  check_large(quoted);
  CHECK(error_of([&] { quoted.fail_at_target(25001, 0, "is wrong"); }) ==
        "data: " + quoted.path + ":25003:302: is wrong");
  check_large(read_large(dir, with(24999, "red", "red  ") + " \n\n"));
  check_large(read_large(dir, with(24999, "red", std::string(3 << 20, ' ') + "red")));
  CHECK(error_of([&] { read_large(dir, with(25000, "6250", "x6250")); }) ==
        "data: " + dir.path() +
            "/large.csv:25002:1: column 'a': expected a number, found 'x6250'; mend the cell, or "
            "give the column a kind, category or ignore, under columns");
  CHECK(error_of([&] { read_large(dir, with(25000, "6250", "1e99")); }) ==
        "data: " + dir.path() +
            "/large.csv:25002:1: column 'a': expected a number up to f32's largest, 3.4e38, found '1e99'");
  CHECK(error_of([&] { read_large(dir, with(25000, "6250,", "")); }) ==
        "data: " + dir.path() + "/large.csv:25002:297: this row has 4 cells, the first row 5");
}

TEST_CASE("a large table with quoted cells is read by several threads, wherever its lines end") {
  const TempDir dir;
  const std::string colours[] = {"red", "green", "blue"};
  // Line ends in the first cells of some rows; and so many in each row that parts begin in such a cell.
  for (const std::string& behind : {std::string(300, ' '), "\"" + std::string(400, '\n') + "\""}) {
    const auto colour = [&](int i) { return colours[i % 3] + (i % 5 == 0 ? "\r\n" : ""); };
    const auto content = [&](int wrong) {
      std::string out = "colour,note,x,y\n";
      for (int i = 0; i < kRowsOfLarge; ++i)
        out += text('"', colour(i), "\",", behind, ",", i == wrong ? "\"0.5 \"\"\"" : text(0.25 * i), ",\"", i,
                    ".125\"\n");
      return out;
    };
    const Table table = read_large(dir, content(-1));
    CHECK_FALSE(table.file->is_held());
    REQUIRE(table.features.shape() == Shape{kRowsOfLarge, 3});
    REQUIRE(table.targets[0].size() == size_t(kRowsOfLarge));
    const auto x = table.features.as<float>();
    const std::vector<std::string>& texts = table.texts.at(0).texts;
    int64_t wrong = 0;
    for (int i = 0; i < kRowsOfLarge; ++i)
      wrong += texts.at(size_t(x[size_t(3 * i)])) != colour(i) || x[size_t(3 * i + 2)] != float(0.25 * i) ||
               table.targets[0][size_t(i)] != text(i, ".125");
    CHECK(wrong == 0);
    CHECK(table.texts.at(0).rows == std::vector<int64_t>{2000, 8000, 8000, 8000, 2000, 2000});
    constexpr int kWrong = 25000;
    const int64_t lines = 2 + kWrong + kWrong / 5 + 1 + (kWrong + 1) * std::ranges::count(behind, '\n');
    CHECK_THAT(error_of([&] { read_large(dir, content(kWrong)); }),
               Catch::Matchers::Contains(text("large.csv:", lines, ":")) &&
                   Catch::Matchers::Contains("column 'x': expected a number, found '0.5 \"'"));
  }
}

TEST_CASE("a quote within a cell misleads nobody in a large table") {
  const TempDir dir;
  // Behind the lone quote, a piece seems to end well where a quoted cell does not.
  const auto colour = [](int i) { return i == kRowsOfLarge / 2 ? "2\" pipe" : i % 2 ? "\"red\nor blue\"" : "green"; };
  std::string content = "colour,x,y\n";
  for (int i = 0; i < kRowsOfLarge; ++i) content += text(colour(i), ",", i, std::string(300, ' '), ",", i, ".5\n");
  const Table table = read_large(dir, content);
  REQUIRE(table.features.shape() == Shape{kRowsOfLarge, 2});
  CHECK(table.texts.at(0).texts == std::vector<std::string>{"green", "red\nor blue", "2\" pipe"});
  CHECK(table.texts.at(0).rows == std::vector<int64_t>{kRowsOfLarge / 2 - 1, kRowsOfLarge / 2, 1});
  int64_t wrong = 0;
  for (int i = 0; i < kRowsOfLarge; ++i)
    wrong += table.features.as<float>()[size_t(2 * i + 1)] != float(i) || table.targets[0][size_t(i)] != text(i, ".5");
  CHECK(wrong == 0);
}
