// Which first lines of tables are headers, which are samples, and which are refused.
#include <catch2/catch.hpp>

#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

// The number of samples of a table, or the error after its place.
std::string samples(const std::string& content, Keys keys = {}) {
  const TempDir dir;
  const std::string path = dir.write("a.csv", content);
  keys.push_back({"path", path});
  keys.push_back({"test", "0"});
  int64_t count = 0;
  const std::string error = error_of([&] { count = make("CSV", keys)->load(offline()).train.size(); });
  if (error == "no error") return std::to_string(count);
  const size_t at = error.find(path);
  return at == error.npos ? error : error.substr(at + path.size() - 5);
}

}  // namespace

TEST_CASE("only the columns of numbers say whether the first line is a header") {
  std::string rows;
  for (int i = 0; i < 20; ++i) rows += text("img", i, ",0.", i, ",0.2,", i % 2 ? "dog" : "cat", "\n");
  CHECK(samples(rows, {{"ignore", "[0]"}}) == "20");
  CHECK(samples("name,x,y,kind\n" + rows, {{"ignore", "[0]"}}) == "20");
  CHECK(samples("name,x,y,kind\n" + rows, {{"ignore", "[name]"}, {"target", "kind"}}) == "20");
  CHECK(samples("x,y,k\n1,2,a\n3,4,b\n") == "2");
  CHECK(samples("x,y,k\n1,2,0\n3,4,1\n") == "2");
  CHECK(samples(",x,k\n0,2,a\n1,4,b\n") == "2");  // as pandas names an index
  CHECK(samples("x,k\n1,a\n3,b\n") == "2");
  CHECK(samples("5,2,a\n3,4,b\n5,6,a\n") == "3");
  CHECK(samples("9,2,0\n3,4,1\n") == "2");
  CHECK(samples("0,1\n3,0\n5,1\n") == "3");
}

TEST_CASE("a missing mark in the first line is no name") {
  CHECK(samples("?,2,small\n1,2,large\n1,3,small\n") == "3");
  CHECK(samples("?,2,small\n1,2,large\n1,3,small\n", {{"impute", "false"}}) ==
        "a.csv:1:1: column 0: expected a number, found '?'; fill in or remove rows with missing values; header: true "
        "takes "
        "this line for names");
  CHECK_THAT(samples("NA,NA,a\n1,2,b\n1,3,a\n", {{"impute", "false"}}),
             Catch::StartsWith("a.csv:1:1: column 0: expected a number, found 'NA'"));
  CHECK(samples("unknown,2,a\n1,2,b\n1,3,a\n", {{"missing", "[unknown]"}, {"impute", "false"}})
            .starts_with("a.csv:1:1: column 0: expected a number, found 'unknown'; fill in"));
}

TEST_CASE("a first line that may be a header or a sample is refused, and the option named") {
  const std::string both = "this line may name the columns or be a sample: ",
                    mend = "; say header: true or header: false";
  const std::string mixed = "red,2,a\n1,2,b\n1,3,a\n", numbered = "0,1,2,label\n.1,.2,.3,a\n.1,.2,.3,b\n.1,.2,.3,a\n",
                    all_numbers = "0,1,2\n5,6,0\n7,8,1\n", texts = "red,a\n1,b\n2,a\n",
                    regression = "400,500,label\n3,4,.5\n4,5,.6\n";
  CHECK(samples(mixed) == "a.csv:1:1: " + both + "'red' is a text, '2' a number" + mend);
  CHECK(samples(numbered) == "a.csv:1:1: " + both +
                                 "its numbers are in order, and its target 'label' is the target of no other line" +
                                 mend);
  CHECK(samples(regression) == "a.csv:1:1: " + both +
                                   "its numbers are in order, and its target 'label' is the target of no other line" +
                                   mend);
  CHECK_THAT(samples("2019,2020,2021\n5,6,.5\n7,8,1\n"), Catch::Contains(both + "its cells are numbers that follow"));
  CHECK(samples("2019,2021,2024\n5,6,.5\n7,8,1\n") == "3");
  CHECK(samples(all_numbers) == "a.csv:1:1: " + both + "its cells are numbers that follow one another" + mend);
  CHECK(samples("1,2,3\n5,6,0\n7,8,1\n").ends_with(mend));
  CHECK(samples(texts) == "a.csv:1:1: " + both + "its target 'a' is the target of another line" + mend);
  CHECK(samples(numbered, {{"header", "true"}}) == "3");
  CHECK(samples(numbered, {{"header", "false"}}) == "4");
  CHECK(samples(numbered, {{"target", "label"}}) == "3");
  CHECK(samples(all_numbers, {{"header", "true"}}) == "2");
  CHECK(samples(all_numbers, {{"header", "false"}, {"task", "regression"}}) == "3");
  CHECK(samples(texts, {{"header", "true"}}) == "2");
  CHECK(samples(mixed, {{"header", "true"}}) == "2");
}

TEST_CASE("a column's name that is the index of another column is refused") {
  const std::string rows = "1,2,0\n5,6,0\n7,8,1\n";
  CHECK_THAT(samples(rows, {{"header", "true"}, {"target", "2"}}),
             Catch::StartsWith("a.csv and the index of column '0'; rename one of them"));
  CHECK_THAT(samples("last,x,k\n1,2,0\n2,3,1\n"),
             Catch::Contains("which is not the last column; give the target's index, 0 or 2"));
  CHECK(samples("x,last\n1,0\n2,1\n") == "2");
}

TEST_CASE("the first line of a list of images is a header where it cannot be a file") {
  const TempDir dir;
  const Tensor image(DType::u8, {2, 2, 3});
  for (const char* name : {"1.png", "2.png", "3.png"}) dir.write(name, png_of(image));
  const auto load = [&](const std::string& content, Keys keys = {}) {
    keys.push_back({"path", dir.write("l.csv", content)});
    std::string out;
    const std::string error = error_of([&] {
      const Data data = make("ImageList", keys)->load(offline());
      out = text(data.train.size(), " of ", data.classes, ":");
      for (const double label : values(data.train.targets)) out += text(" ", label);
    });
    const size_t at = error.find("l.csv");
    return error == "no error" ? out : at == error.npos ? error : error.substr(at);
  };
  CHECK(load("1.png,a\n2.png,b\n3.png,a\n") == "3 of 2: 0 1 0");
  CHECK(load("file,class\n1.png,a\n2.png,b\n") == "2 of 2: 0 1");
  CHECK(load("1.heic,a\n1.png,b\n2.png,a\n").ends_with("; say header: true or header: false"));
  CHECK(load("one,a\n1.png,b\n2.png,a\n")
            .ends_with("its class 'a' is the class of another line; say header: true or header: false"));
  CHECK(load("one,a\n1.png,b\n2.png,a\n", {{"header", "true"}}) == "2 of 2: 1 0");
  CHECK_THAT(load("one,a\n1.png,b\n2.png,a\n", {{"header", "false"}}),
             Catch::StartsWith("l.csv:1:1: there is no file"));
  // Labels by the rule of tables.
  CHECK(load("1.png,1.0\n2.png,0\n3.png,1\n") == "3 of 2: 1 0 1");
  CHECK_THAT(load("1.png,-1\n2.png,0\n3.png,1\n"),
             Catch::StartsWith("l.csv: has classes from -1 to 1: numbers as classes"));
  CHECK_THAT(load("1.png,NaN\n2.png,0\n3.png,1\n"),
             Catch::StartsWith("l.csv:1:7: the class 'NaN' marks a missing value"));
  CHECK_THAT(
      load("1.png,1\n2.png,2\n3.png,3\n"),
      Catch::StartsWith("l.csv: its classes are 3 different whole numbers from 1 to 3, not 0 to 2: say classes: 4"));
  CHECK(load("1.png,1\n2.png,2\n3.png,3\n", {{"classes", "5"}}) == "3 of 5: 1 2 3");
  CHECK(load("1.png,NA\n2.png,b\n3.png,NA\n", {{"missing", "[]"}}) == "3 of 2: 0 1 0");
}
