// Samples that are drawn from every class in proportion, by all readers alike.
#include "datasets/stratify.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>

#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

std::vector<int32_t> labels_of(const std::vector<int64_t>& sizes) {
  std::vector<int32_t> out;
  for (size_t c = 0; c < sizes.size(); ++c) out.insert(out.end(), size_t(sizes[c]), int32_t(c));
  return out;
}

// How many of each class are among the last `taken` of the order.
std::vector<int64_t> taken_of(const std::vector<int64_t>& sizes, int64_t taken, uint64_t seed) {
  const std::vector<int32_t> labels = labels_of(sizes);
  const std::vector<int64_t> order = order_by_class(labels, int64_t(sizes.size()), taken, seed, "x");
  CHECK(std::set<int64_t>(order.begin(), order.end()).size() == labels.size());
  CHECK(order == order_by_class(labels, int64_t(sizes.size()), taken, seed, "x"));
  std::vector<int64_t> out(sizes.size());
  for (size_t i = order.size() - size_t(taken); i < order.size(); ++i) ++out[size_t(labels[size_t(order[i])])];
  return out;
}

using Counts = std::vector<int64_t>;

Counts counts(const Split& split, int64_t classes) {
  Counts out(static_cast<size_t>(classes));
  for (int64_t i = 0; i < split.size(); ++i) ++out[size_t(split.label(i))];
  return out;
}

std::string table_of(const Counts& sizes) {
  std::string out = "x,k\n";
  int64_t i = 0;
  for (size_t c = 0; c < sizes.size(); ++c)
    for (int64_t k = 0; k < sizes[c]; ++k) out += text(++i, ",", "class", c, "\n");
  return out;
}

}  // namespace

TEST_CASE("each class gives its share, rounded up or down") {
  CHECK(taken_of({50, 30, 20}, 20, 1) == Counts{10, 6, 4});
  CHECK(taken_of({90, 10}, 10, 1) == Counts{9, 1});
  Counts one_more{0, 0, 0};
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Counts sizes{33, 33, 34, 7}, found = taken_of(sizes, 20, seed);
    int64_t sum = 0;
    for (size_t c = 0; c < sizes.size(); ++c) {
      const double share = double(sizes[c]) * 20 / 107;
      CHECK(double(found[c]) > share - 1);
      CHECK(double(found[c]) < share + 1);
      sum += found[c];
    }
    CHECK(sum == 20);
    const Counts equal = taken_of({10, 10, 10}, 4, seed);  // which class gives two follows from the seed
    CHECK(std::ranges::count(equal, 1) == 2);
    ++one_more[size_t(std::ranges::find(equal, 2) - equal.begin())];
  }
  for (const int64_t times : one_more) CHECK(times > 0);
}

TEST_CASE("the last sample of a class stays where others can be taken") {
  CHECK(taken_of({1, 1, 98}, 50, 3) == Counts{0, 0, 50});
  CHECK(taken_of({2, 2, 2}, 3, 3) == Counts{1, 1, 1});
  CHECK(taken_of({1, 1, 2}, 1, 3) == Counts{0, 0, 1});
  const Counts most = taken_of({1, 1, 2}, 2, 3);
  CHECK(most[0] + most[1] == 1);
  CHECK(taken_of({3, 0, 3}, 2, 3) == Counts{1, 0, 1});
  CHECK(taken_of({4, 4}, 8, 3) == Counts{4, 4});
}

TEST_CASE("another seed takes other samples, and every sample of a class is as likely") {
  const std::vector<int32_t> labels = labels_of({20, 20});
  std::array<int, 40> times{};
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const auto order = order_by_class(labels, 2, 10, seed, "x");
    for (size_t i = 30; i < 40; ++i) ++times[size_t(order[i])];
  }
  // 500 of 2000 are expected; the deviation is sqrt(2000 / 4 * 3 / 4) = 19.
  for (const int n : times) CHECK((n > 400 && n < 600));
}

TEST_CASE("test, validation and subset of a table are drawn by class") {
  const TempDir dir;
  const std::string path = dir.write("a.csv", table_of({180, 20}));
  const auto set = make("CSV", {{"path", path}, {"test", "0.2"}, {"validation", "0.1"}, {"subset_pct", "50"}});
  const Data data = set->load(offline("", 5));
  CHECK(counts(data.test, 2) == Counts{36, 4});
  CHECK(counts(data.validation, 2) == Counts{7, 1});  // of 72 and 8
  CHECK(counts(data.train, 2) == Counts{65, 7});
  CHECK(agrees(set->check(offline("", 5)), data));
  CHECK(values(data.test.inputs) == values(set->load(offline("", 5)).test.inputs));
  CHECK(values(data.test.inputs) != values(set->load(offline("", 6)).test.inputs));
}

TEST_CASE("samples of several targets are drawn by the first target that is one class") {
  const TempDir dir;
  std::string rows = "x,price,grade,place\n";
  for (int i = 0; i < 200; ++i)
    rows += text(i, ",", i, ".5,", i < 180 ? "low" : "high", ",", i % 2 ? "in" : "out", "\n");
  const std::string path = dir.write("a.csv", rows);
  const std::string targets = "{price: number, grade: classes, place: classes}";
  const auto of_high = [](const Split& split) {
    int64_t out = 0;
    for (int64_t i = 0; i < split.size(); ++i) out += split.targets.at(3 * i + 1) == 0;  // high, low
    return Counts{split.size() - out, out};
  };
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Data data = make("CSV", {{"path", path}, {"targets", targets}, {"test", "0.2"}, {"validation", "0.1"}})
                          ->load(offline("", seed));
    CHECK(of_high(data.test) == Counts{36, 4});
    CHECK(of_high(data.validation) == Counts{14, 2});
    CHECK(of_high(data.train) == Counts{130, 14});
    const Data fold =
        make("CSV", {{"path", path}, {"targets", targets}, {"folds", "5"}, {"fold", "2"}})->load(offline("", seed));
    CHECK(of_high(fold.test) == Counts{36, 4});
    // A run that began with older rules goes on with the shares of samples without classes.
    DataContext former = offline("", seed);
    former.rules = kRulesOfTargetClasses - 1;
    const auto shares_of = [&](const char* given, const DataContext& context) {
      const auto set = make("CSV", {{"path", path}, {"targets", given}, {"ignore", "[grade, place]"}, {"test", "0.2"}});
      return values(set->load(context).test.inputs);
    };
    const Data old = make("CSV", {{"path", path}, {"targets", targets}, {"test", "0.2"}})->load(former);
    CHECK(values(old.test.inputs) == shares_of("{price: number}", offline("", seed)));
  }
}

TEST_CASE("a run of an old checkpoint draws as it did") {
  const TempDir dir;
  const std::string path = dir.write("a.csv", table_of({180, 20}));
  DataContext old = offline("", 5);
  old.rules = 1;
  const Data data = make("CSV", {{"path", path}, {"test", "0.2"}})->load(old);
  CHECK(data.rules == 1);
  auto order = drawn_order(200, 5, "csv/test");
  std::vector<double> wanted;
  for (size_t i = 160; i < 200; ++i) wanted.push_back(double(order[i] + 1));
  std::ranges::sort(wanted);
  CHECK(values(data.test.inputs) == wanted);
}

TEST_CASE("images in memory and streamed are drawn by class alike") {
  const TempDir dir;
  for (int i = 0; i < 40; ++i) dir.write(text("images/", i < 30 ? "a" : "b", "/", i, ".png"), numbered_png(i, 2));
  Keys keys{{"path", dir / "images"}, {"test", "0.2"}, {"validation", "0.25"}};
  const auto held = make("ImageFolder", keys);
  const Data data = held->load(offline("", 2));
  CHECK(counts(data.test, 2) == Counts{6, 2});
  CHECK(counts(data.validation, 2) == Counts{6, 2});
  CHECK(counts(data.train, 2) == Counts{18, 6});
  CHECK(agrees(held->check(offline("", 2)), data));
  keys.push_back({"stream", "true"});
  const Data streamed = make("ImageFolder", keys)->load(offline("", 2));
  for (const auto& [one, other] : {std::pair(&data.train, &streamed.train), {&data.validation, &streamed.validation}}) {
    REQUIRE(one->size() == other->size());
    CHECK(one->identity == other->identity);
  }
}

TEST_CASE("a share of validation samples, and what it cannot be") {
  const auto validation = [](const std::string& value) {
    return make("Iris", {{"test", "0"}, {"validation", value}})->load(offline()).validation.size();
  };
  CHECK(validation("0.1") == 15);
  CHECK(validation("0.5") == 75);
  CHECK(validation("1") == 1);
  CHECK(validation("20") == 20);
  CHECK(error_of([&] { validation("1.5"); }) ==
        "config: validation: 1.5 is neither a number of samples nor a share below 1");
  CHECK(error_of([&] { validation("0.001"); }) ==
        "config: validation: 150 training samples are too few to keep a share of 0.001 apart");
  CHECK_THAT(error_of([&] { validation("0.999"); }), Catch::Contains("too few to keep a share of 0.999"));
}

TEST_CASE("classes without a training sample are a warning that names them") {
  const TempDir dir;
  std::vector<std::string> warnings;
  DataContext context = offline();
  context.warnings = &warnings;
  const auto warned = [&](const std::string& name, const Keys& keys) {
    warnings.clear();
    make(name, keys)->load(context);
    return join(warnings, "|");
  };
  const std::string path = dir.write("a.csv", table_of({5, 5, 5, 5}));
  const std::pair<std::string, std::string> kind = {"columns", "{x: number}"};
  CHECK(warned("CSV", {{"path", path}, {"test", "0.25"}, {"validation", "5"}, kind}).empty());
  CHECK(warned("CSV", {{"path", path}, {"test", "0"}, {"subset_pct", "15"}, kind})
            .starts_with(text(path, ": no training sample is of class 'class")));
  // The same of several targets, by name: the last rows are for the validation.
  const std::string several = dir.write("b.csv", "x,c,l\n1,a,p;q\n2,a,p\n3,b,p\n");
  const auto of_several = [&](const char* percent) {
    return warned("CSV",
                  {{"path", several}, {"test", "0"}, {"targets", "{c: classes, l: labels}"}, {"subset_pct", percent}});
  };
  CHECK(of_several("100").empty());
  CHECK_THAT(of_several("34"), Catch::Contains(several + ": the target 'c': no training sample is of class '"));
  const std::string many = dir.write("m.csv", table_of(std::vector<int64_t>(13, 1)));
  CHECK(warned("CSV", {{"path", many}, {"test", "0"}, {"subset_pct", "8"}})
            .ends_with(" and 2 more; the net cannot learn what it never sees"));
  // A drawn set lacks classes by accident, and may be as large as one likes.
  CHECK(warned("UniformRandom", {{"ntrain", "1"}, {"nout", "13"}, {"seed", "1"}}).empty());
  context.some_classes = true;  // of a net that is evaluated, and learns nothing
  CHECK(warned("CSV", {{"path", path}, {"test", "0"}, {"subset_pct", "15"}, kind}).empty());
}
