// Cells of tables that seem to be numbers or dates, and are none as neon reads them.
#include "datasets/meant_cells.h"

#include <catch2/catch.hpp>

#include "datasets/meant_dates.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

// What a table of these cells, each in a row with a number and a target of its own, is refused with; its notes
// otherwise.
std::string said_of(const std::vector<std::string>& cells, const std::string& header = "number,cell,k\n",
                    bool cell_last = false, Keys keys = {}) {
  std::string content = header;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = "\"" + cells[i] + "\"";
    content += cell_last ? text(i, ",2.", i % 3, ',', cell, '\n') : text(i, ',', cell, i % 2 ? ",a\n" : ",b\n");
  }
  const TempDir dir;
  keys.push_back({"path", dir.write("a.csv", content)});
  keys.push_back({"test", "0"});
  std::vector<std::string> notes;
  DataContext context = offline("", 3);
  context.warnings = &notes;
  const std::string error = error_of([&] { make("CSV", keys)->load(context); });
  const std::string all = join(notes, "\n");
  const size_t at = error.find("a.csv");
  return error == "no error" ? all : error.substr(std::min(at, error.size()));
}

std::string said_of_target(const std::vector<std::string>& cells, const Keys& keys = {}) {
  return said_of(cells, "number,other,cell\n", true, keys);
}

}  // namespace

TEST_CASE("texts that seem to be numbers are told from others") {
  for (const char* cell : {"1,200", "1.200,50", "1,200.50", "1,234,567", "1 200",
                           "1\xc2\xa0"
                           "200",
                           "1'000", "1_000", "$5", "-$5", "$-5", "5 %", "12,5", "\xe2\x82\xac 3,99",
                           "3,99 \xe2\x82\xac", "12345,678", "5\t", "\t-5.5"})
    CHECK(seems_number(cell));
  for (const char* cell : {"", "$", "%", "red", "1.2.2020", "1.2.3", "10:30", "5 kg", "3D", "12 34", "1,20,300",
                           "1,,200", "2020-01-02", "1,200.", "a1,200", "1,2,3"})
    CHECK_FALSE(seems_number(cell));
}

TEST_CASE("a column of cells that seem to be numbers is refused") {
  CHECK_THAT(said_of({"1,200", "950", "1,300", "2,100"}),
             Catch::StartsWith("a.csv:2:3: column 'cell': '1,200' seems to be a number; write digits with a decimal "
                               "point alone, as in 1234.5, or give the column a kind, category or ignore"));
  CHECK_THAT(said_of({"many", "5 %", "6 %"}), Catch::StartsWith("a.csv:3:3: column 'cell': '5 %' seems"));
  CHECK(said_of({"many", "few", "5 %", "6 %"}) == "");  // half of them
  CHECK(said_of({"1,200", "950", "1,300"}, "number,cell,k\n", false, {{"columns", "{cell: category}"}}) == "");
}

TEST_CASE("a column of dates with another text, or of two forms, is refused") {
  CHECK_THAT(said_of({"2020-01-02", "unknown", "2020-02-03"}),
             Catch::StartsWith("a.csv:3:3: column 'cell': expected a date, as most cells have, found 'unknown'"));
  CHECK_THAT(said_of({"unknown", "2020-01-02", "2020-02-30", "2020-02-03", "2020-02-04"}),
             Catch::StartsWith("a.csv:2:3: column 'cell': expected a date"));
  CHECK_THAT(said_of({"13/2/2020", "1/2/2020", "3/14/2020"}),
             Catch::StartsWith("a.csv:4:3: column 'cell': '3/14/2020' is a date of another form than '13/2/2020'"));
  CHECK(said_of({"2020-01-02", "2020-02-03", "unknown"}, "number,cell,k\n", false, {{"missing", "[unknown]"}}) == "");
  CHECK(said_of({"2020-01-02", "never", "unknown"}) == "");
}

TEST_CASE("a column of dates that neon does not read is refused, and makes no categories") {
  for (const char* cell : {"5 Jan 2024", "Jan 5, 2024", "05-jan-24", "January 2024", "Sept 2024", "Mon, 5 Feb 2024",
                           "2024-05", "2024/12", "2024-05-31 14:05 CET", "31.5.2024 14 Uhr"})
    CHECK(seems_other_date(cell));
  for (const char* cell : {"2024-05-31", "may", "March", "2024", "1.5", "24-05", "2024-13", "Mark 5", "5 red Jan",
                           "jan feb 5", "", "10:30", "2024-05-31 never", "5 Jan 2024!"})
    CHECK_FALSE(seems_other_date(cell));
  CHECK_THAT(said_of({"5 Jan 2024", "6 Jan 2024", "9 Feb 2024"}),
             Catch::StartsWith("a.csv:2:3: column 'cell': '5 Jan 2024' seems to be a date; write dates as 2024-05-31"));
  CHECK_THAT(said_of({"2024-05-31 14:05 CET", "2024-05-31", "2024-05-30 14:05 CET"}),
             Catch::StartsWith("a.csv:2:3: column 'cell': '2024-05-31 14:05 CET' seems"));
  CHECK(said_of({"5 Jan 2024", "never", "often"}) == "");
  CHECK(said_of({"Jan", "Feb", "Jan"}) == "");
  CHECK(said_of({"5 Jan 2024", "6 Jan 2024"}, "number,cell,k\n", false, {{"columns", "{cell: category}"}}) == "");
  CHECK_THAT(said_of_target({"Jan 2024", "Feb 2024", "Mar 2024"}),
             Catch::StartsWith("a.csv:2:7: the target 'Jan 2024' is a date"));
}

TEST_CASE("a target of numbers or dates that neon cannot read is no class") {
  CHECK_THAT(said_of_target({"1.5", "n.a.", "2.5"}),
             Catch::StartsWith("a.csv:3:7: the target 'n.a.' is a text, and most others are numbers; mend the cell, or "
                               "remove the row, or say task: classes"));
  CHECK_THAT(said_of_target({"950", "1,200", "2,100"}),
             Catch::StartsWith("a.csv:3:7: the target '1,200' seems to be a number"));
  CHECK_THAT(said_of_target({"2020-01-02", "2020-01-03", "never"}),
             Catch::StartsWith("a.csv:2:7: the target '2020-01-02' is a date"));
  CHECK(said_of_target({"1.5", "n.a.", "2.5"}, {{"task", "classes"}}) == "");
  CHECK(said_of_target({"1", "2", "many", "few"}) == "");
}

TEST_CASE("names that differ in letter case or spaces alone are noted") {
  CHECK(alike_names({"yes", "no", "Yes"}, "classes") == "'yes' and 'Yes' are two classes");
  CHECK(alike_names({"New York", "NewYork"}, "categories") == "'New York' and 'NewYork' are two categories");
  CHECK(alike_names({"a", "A", "b"}, "classes") == "");
  CHECK_THAT(said_of_target({"yes", "no", "No"}), Catch::Contains("a.csv: 'No' and 'no' are two classes"));
  CHECK_THAT(said_of({"red", "Red", "blue"}), Catch::Contains("column 'cell': 'red' and 'Red' are two categories"));
}

TEST_CASE("identifiers differ where f32 has them as one number") {
  const std::vector<std::string> ids = {"500000001", "500000002", "500000003"};
  CHECK_THAT(said_of(ids, "number,customer_id,k\n"),
             Catch::Contains("'customer_id' is left out: its whole numbers all"));
  CHECK_THAT(said_of({ids[0], ids[1], ids[0]}, "number,customer_id,k\n"), !Catch::Contains("left out"));
}

TEST_CASE("numbers that f32 has only in coarse steps are a warning") {
  CHECK_THAT(said_of({"1700000000000", "1700000001000", "1700000900000"}),
             Catch::Contains("only in steps of 131072; subtract one"));
  CHECK_THAT(said_of({"500000001", "500000002", "500000003"}), Catch::Contains(", and all are one; subtract"));
  CHECK(said_of({"170000", "170001", "170002"}) == "");
  CHECK(said_of({"7", "7", "7"}) == "");
  // The same of a target, whose steps of 128 are more than all that it differs by.
  CHECK_THAT(
      said_of_target({"1700000000.5", "1700000010.5", "1700000020.5"}),
      Catch::Contains("a.csv: the target: f32 has numbers around 1.7e+09 only in steps of 128, and all are one"));
  CHECK(said_of_target({"1.5", "2.5", "3.5"}) == "");
}
