// Columns of many categories, whose cells become the numbers of rows of a table.
#include <catch2/catch.hpp>

#include "coded_table.h"
#include "datasets/table_json.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

using CodedRow = std::vector<double>;
using Names = std::vector<std::string>;

CodedRow coded_row(const Data& data, int64_t index) { return values(data.train.inputs.rows(index, 1)); }

// red in three rows, blue in two, green in one, and a row without a value.
const char* const kColours = "c,x,k\nred,1,a\nblue,1,b\nred,1,a\n,1,b\ngreen,1,a\nblue,1,b\nred,1,a\n";

Keys with(const std::string& columns, Keys keys = {{"test", "0"}}) {
  keys.emplace_back("columns", columns);
  return keys;
}

}  // namespace

TEST_CASE("a column of many categories becomes the number of a row") {
  const Keys keys = {{"test", "0"}, {"most_categories", "2"}, {"embed_above", "2"}};
  const CodedTable table = coded(kColours, keys);
  const ColumnCode& code = table.data.table.codes[0];
  CHECK(code.categories == Names{"blue", "red"});
  CHECK(code.embedded == 3);  // 1.6 * 3^0.56 = 2.96
  REQUIRE(table.data.sample == Shape{2});
  const double rows[] = {2, 1, 2, 0, 0, 1, 2};
  for (int64_t i = 0; i < 7; ++i) CHECK(coded_row(table.data, i) == CodedRow{rows[i], 0});
  CHECK(code.description() ==
        "category, 2 values, embedded in 3 numbers; rare, missing and unknown ones share a row of the table");
  REQUIRE(table.notes.size() == 1);
  CHECK_THAT(table.notes[0], Catch::Contains("column 'c' has 3 categories, from 'red' to 'green'; it is embedded in 3 "
                                             "numbers (embed_above), where 1 rare one shares a row with unknown ones"));
  const auto sample_of = [](const char* most_categories, const char* embed_above) {
    return coded(kColours, {{"test", "0"}, {"most_categories", most_categories}, {"embed_above", embed_above}})
        .data.sample;
  };
  CHECK(sample_of("2", "3") == Shape{4});
  CHECK(sample_of("3", "2") == Shape{5});
}

TEST_CASE("a spec decides whether a column is embedded, and in how many numbers") {
  CHECK(coded(kColours).data.table.codes[0].embedded == 0);
  const ColumnCode chosen = coded(kColours, with("{c: embed}")).data.table.codes[0];
  CHECK(chosen.embedded == 3);
  CHECK(chosen.categories == Names{"blue", "red"});
  const Keys many = {{"test", "0"}, {"most_categories", "2"}, {"embed_above", "1"}};
  const Data numbers = coded(kColours, with("{c: one_hot}", many)).data;
  CHECK(numbers.table.codes[0].embedded == 0);
  CHECK(coded_row(numbers, 0) == CodedRow{0, 1, 0, 0});
  CHECK(coded(kColours, with("{c: category}", many)).data.table.codes[0].embedded == 3);
  const Keys one = {{"test", "0"}, {"most_embedded", "1"}};
  CHECK(coded(kColours, with("{c: embed}", one)).data.table.codes[0].categories == Names{"red"});
  CHECK_THAT(error_of([] { coded(kColours, with("{c: embd}")); }), Catch::Contains("did you mean embed"));
}

TEST_CASE("a kind is written as it was read") {
  const auto written = [](const Setting& from) {
    ColumnChoice choice;
    Problems problems;
    Value_of<ColumnChoice>::read(from, choice, {}, problems);
    CHECK(problems.empty());
    return Value_of<ColumnChoice>::write(choice).to_string();
  };
  CHECK(written(Setting::scalar("embed")) == "embed");
  CHECK(written(Setting::map({{"embed", Setting::scalar("16"), {}}})) == "{embed: 16}");
}

TEST_CASE("samples that are targets have a number for each category") {
  const Keys keys = {{"test", "0"}, {"most_categories", "2"}, {"embed_above", "2"}, {"autoencoder", "true"}};
  CHECK(coded(kColours, keys).data.sample == Shape{4});
  CHECK_THAT(error_of([&] { coded(kColours, with("{c: embed}", keys)); }),
             Catch::Contains("column 'c' is embedded, and autoencoder makes the numbers of a sample the target"));
}

TEST_CASE("rows of a table are learned from training rows, and stored") {
  const TempDir dir;
  const std::string test = dir.write("test.csv", "k,x,c\na,1,pink\nb,1,red\na,1,green\nb,1,\n");
  const CodedTable table = coded(kColours, with("{c: embed}", {{"test", test}}));
  CHECK(values(table.data.test.inputs) == CodedRow{0, 0, 2, 0, 0, 0, 0, 0});
  CHECK_THAT(join(table.notes, "\n"),
             Catch::Contains("test.csv: column 'c': 'pink' and others, in 2 rows, are rare or unknown in training, and "
                             "share a row of the table with all such values"));
  const TableColumns& columns = table.data.table;
  CHECK(read_table_columns(table_json(columns)) == columns);
  nlohmann::json wrong = table_json(columns);
  wrong["codes"][1]["embedded"] = 3;
  CHECK_THAT(error_of([&] { read_table_columns(wrong); }), Catch::Contains("a column embedded in 3 numbers"));
}

TEST_CASE("the width of a table's rows") {
  // 1.6 * n^0.56 in Python
  CHECK(embedding_width(2) == 2);
  CHECK(embedding_width(102) == 21);
  CHECK(embedding_width(413) == 47);
  CHECK(embedding_width(10001) == 278);
  CHECK(embedding_width(1000000) == 600);
}
