#include "datasets/csv.h"

#include <catch2/catch.hpp>

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
  CHECK((cells[1].line == 1 && cells[1].column == 3));
  CHECK((cells[2].line == 2 && cells[2].column == 5));
  REQUIRE(reader.next(cells));
  CHECK((cells[0].line == 3 && cells[0].column == 3));
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
  for (const char* wrong : {"", "+", "+-1", "-+1", "1,5", "1 2", "0x10", "1e400x", "NA", "1.5kg"})
    CHECK_FALSE(parse_number(wrong, value));
}
