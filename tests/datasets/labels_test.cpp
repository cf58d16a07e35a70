// The rules for missing marks and labels that tables share.
#include "datasets/labels.h"

#include <catch2/catch.hpp>

#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

using Names = std::vector<std::string>;

void fail_with(size_t index, const std::string& message) { fail(ErrorKind::data, index, ": ", message); }

Names names_of(const std::vector<std::string_view>& labels) {
  const LabelNumbers numbers = label_numbers(labels, MissingMarks(), fail_with);
  return LabelClasses(labels, numbers.all_numbers, fail_with).names();
}

}  // namespace

TEST_CASE("a cell is missing, a number or a text") {
  const MissingMarks missing;
  for (const char* cell :
       {"", "?", "-", ".", "NA", "na", "N/A", "#N/A", "<NA>", "NaN", "nan", "-nan", "null", "NULL", "None"})
    CHECK(kind_of(cell, missing) == CellKind::missing);
  for (const char* cell : {"0", "-1", "+2", ".5", "1e3", "-0.0"}) CHECK(kind_of(cell, missing) == CellKind::number);
  for (const char* cell : {"a", "--", "n a", "1.5kg", "nane", "1,5"}) CHECK(kind_of(cell, missing) == CellKind::text);
  const MissingMarks none{Names{}}, own{Names{"Unknown"}};
  CHECK(kind_of("", none) == CellKind::missing);
  CHECK(kind_of("NA", none) == CellKind::text);
  CHECK(kind_of("nan", none) == CellKind::text);
  CHECK(kind_of("unknown", own) == CellKind::missing);
  CHECK(kind_of("?", own) == CellKind::text);
}

TEST_CASE("labels that are numbers are compared as numbers and sorted by value") {
  CHECK(names_of({"10", "2", "1.0", "1", "+1", "01", "2.", "1e1"}) == Names{"1", "2", "10"});
  CHECK(names_of({"-1", "1", "-1.0", "-0", "0"}) == Names{"-1", "0", "1"});
  CHECK(names_of({"0.50", ".5", "5e-1", "0.25"}) == Names{"0.25", "0.5"});
  // Whole numbers beyond 2^53 are told apart by their digits.
  CHECK(names_of({"9007199254740993", "9007199254740992", "09007199254740993.0"}) ==
        Names{"9007199254740992", "9007199254740993"});
  const std::vector<std::string_view> training{"1", "2.0"};
  const LabelClasses classes(training, true, fail_with);
  CHECK(classes.find("1.00") == 0);
  CHECK(classes.find("2") == 1);
  CHECK(classes.find("3") == -1);
  CHECK(classes.find("x") == -1);
}

TEST_CASE("labels among which there is a text are texts") {
  CHECK(names_of({"b", "a", "10", "2"}) == Names{"10", "2", "a", "b"});
  CHECK(error_of([] {
          names_of({"a", "1", "1.0"});
        }) == "data: 2: '1.0' is the same number as '1', but other classes are texts; write both alike");
  const std::vector<std::string_view> training{"a", "1"};
  const LabelClasses classes(training, false, fail_with);
  CHECK(classes.find("1") == 0);
  CHECK(classes.find("1.0") == -1);
}

TEST_CASE("a missing label is refused") {
  CHECK(error_of([] { names_of({"a", ""}); }) == "data: 1: is empty; fill in or remove rows with missing values");
  for (const char* mark : {"NA", "?", "null", "-", "NaN"})
    CHECK(error_of([&] {
            names_of({mark, "a"});
          }) == text("data: 0: '", mark,
                     "' marks a missing value; fill in or remove such rows, or say missing: [] where it is a class"));
  // Among numbers it is no class.
  CHECK(error_of([] {
          names_of({"2.5", "NaN"});
        }) == "data: 1: 'NaN' marks a missing value; fill in or remove such rows");
}

TEST_CASE("whole numbers are classes where they are 0 to k - 1, and asked about otherwise") {
  CHECK(ask_about_labels(0, 2, 3).empty());
  CHECK(ask_about_labels(0, 0, 1).empty());
  CHECK(ask_about_labels(5, 5, 1) == "all the whole number 5, not 0");
  CHECK(ask_about_labels(1, 3, 3) == "3 different whole numbers from 1 to 3, not 0 to 2");
  CHECK(ask_about_labels(0, 3, 3) == "3 different whole numbers from 0 to 3, not 0 to 2");
  CHECK(ask_about_labels(-1, 1, 3) == "3 different whole numbers from -1 to 1, not 0 to 2");
}
