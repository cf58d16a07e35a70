// Folds of a cross validation, by all readers alike.
#include "datasets/folds.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

using FoldCounts = std::vector<int64_t>;

FoldCounts counts_of_fold(const Split& split, int64_t classes) {
  FoldCounts out(static_cast<size_t>(classes));
  for (int64_t i = 0; i < split.size(); ++i) ++out[size_t(split.label(i))];
  return out;
}

// Columns x, which numbers the rows, and k, with so many rows of each class.
std::string numbered_table(const FoldCounts& sizes) {
  std::string out = "x,k\n";
  int64_t i = 0;
  for (size_t c = 0; c < sizes.size(); ++c)
    for (int64_t k = 0; k < sizes[c]; ++k) out += text(i++, ",class", c, "\n");
  return out;
}

Keys with_fold(Keys keys, int64_t folds, int64_t fold) {
  keys.emplace_back("folds", std::to_string(folds));
  keys.emplace_back("fold", std::to_string(fold));
  return keys;
}

// The inputs of a fold's test samples; those of the training samples must be all others.
std::multiset<double> tested_with(const std::string& name, const Keys& keys, int64_t folds, int64_t fold, int64_t n) {
  const auto set = make(name, with_fold(keys, folds, fold));
  const Data data = set->load(offline("", 3));
  CHECK(agrees(set->check(offline("", 3)), data));
  CHECK(data.test.size() == n / folds + (fold <= n % folds));
  CHECK(data.train.size() + data.test.size() == n);
  const auto test = values(data.test.inputs), train = values(data.train.inputs);
  std::multiset<double> out(test.begin(), test.end());
  for (const double x : train) CHECK_FALSE(out.contains(x));
  CHECK(values(set->load(offline("", 4)).test.inputs) == test);  // with another seed
  return out;
}

}  // namespace

TEST_CASE("each class is dealt out evenly, and so is the whole set") {
  for (const int64_t folds : {2, 3, 7, 40}) {
    const FoldCounts sizes{20, 13, 1, 6};
    GroupedSamples samples;
    for (size_t c = 0; c < sizes.size(); ++c) samples.labels.insert(samples.labels.end(), size_t(sizes[c]), int32_t(c));
    samples.classes = 4;
    samples.order = drawn_order(40, 1, "x");
    const std::vector<int64_t> fold = fold_of_each(samples, folds);
    for (int64_t k = 0; k < folds; ++k) {
      FoldCounts of_class(4);
      for (size_t i = 0; i < 40; ++i)
        if (fold[i] == k) ++of_class[size_t(samples.labels[i])];
      for (size_t c = 0; c < 4; ++c) {
        CHECK(of_class[c] >= sizes[c] / folds);
        CHECK(of_class[c] <= (sizes[c] + folds - 1) / folds);
      }
      CHECK(of_class[0] + of_class[1] + of_class[2] + of_class[3] == 40 / folds + (k < 40 % folds));
    }
  }
}

TEST_CASE("groups stay together, and other samples make up for them") {
  GroupedSamples samples;
  samples.labels.assign(30, 0);
  samples.order = drawn_order(30, 2, "x");
  for (int64_t i = 0; i < 30; ++i) samples.groups.push_back(i < 12 ? i / 4 : i);  // three groups of four
  const std::vector<int64_t> fold = fold_of_each(samples, 5);
  for (size_t i = 0; i < 12; ++i) CHECK(fold[i] == fold[i / 4 * 4]);
  for (int64_t k = 0; k < 5; ++k) CHECK(std::ranges::count(fold, k) == 6);
}

TEST_CASE("the folds of a table test each row once, with classes and with values") {
  const TempDir dir;
  const FoldCounts sizes{23, 11, 5};
  const std::string classes = dir.write("classes.csv", numbered_table(sizes));
  std::string rows = "x,y\n";
  for (int i = 0; i < 17; ++i) rows += text(i, ",", i * 0.5, "\n");
  const std::string regression = dir.write("values.csv", rows);
  for (const auto& [path, n] : {std::pair(classes, 39), {regression, 17}}) {
    std::multiset<double> all;
    for (int64_t fold = 1; fold <= 4; ++fold)
      all.merge(tested_with("CSV", {{"path", path}, {"columns", "{x: as_is}"}}, 4, fold, n));
    CHECK(std::set<double>(all.begin(), all.end()).size() == size_t(n));
    CHECK(all.size() == size_t(n));
  }
  const Data data = make("CSV", with_fold({{"path", classes}, {"validation", "0.25"}}, 4, 2))->load(offline());
  const FoldCounts test = counts_of_fold(data.test, 3);
  for (size_t c = 0; c < 3; ++c) CHECK((test[c] == sizes[c] / 4 || test[c] == sizes[c] / 4 + 1));
  CHECK(data.validation.size() == 7);  // of the 29 that are trained with
}

TEST_CASE("columns of a table are learned without the fold that is tested with") {
  const TempDir dir;
  const std::string path = dir.write("a.csv", numbered_table({10, 10}));
  const Data data = make("CSV", with_fold({{"path", path}}, 5, 3))->load(offline());
  double sum = 0;
  for (const double x : values(data.train.inputs)) sum += x;
  CHECK(std::abs(sum) < 1e-5);  // the mean of the training rows became 0
  double other = 0;
  for (const double x : values(data.test.inputs)) other += x;
  CHECK(std::abs(other) > 1e-3);
}

TEST_CASE("sets of the program, and images, have folds") {
  const Data iris = make("Iris", with_fold({}, 10, 10))->load(offline());
  CHECK(counts_of_fold(iris.test, 3) == FoldCounts{5, 5, 5});
  CHECK(counts_of_fold(iris.train, 3) == FoldCounts{45, 45, 45});
  const TempDir dir;
  // 24 different images: the first six are there twice, in both classes.
  for (int i = 0; i < 24; ++i)
    for (int copy = 0; copy < (i < 6 ? 2 : 1); ++copy)
      dir.write(text("photos/c", (i + copy) % 2, "/", i, "-", copy, ".png"), numbered_png(i));
  std::string list = "file,kind\n";
  for (int i = 0; i < 24; ++i)
    for (int copy = 0; copy < (i < 6 ? 2 : 1); ++copy)
      list += text("photos/c", (i + copy) % 2, "/", i, "-", copy, ".png,c", (i + copy) % 2, "\n");
  dir.write("list.csv", list);
  for (const auto& [name, path] : {std::pair("ImageFolder", "photos"), {"ImageList", "list.csv"}}) {
    std::map<std::string, int64_t> fold_of;
    int64_t images = 0;
    for (int64_t fold = 1; fold <= 3; ++fold) {
      const auto set = make(name, with_fold({{"path", dir / path}}, 3, fold));
      const auto given = set->images(offline());
      for (const LabelledImage& image : given->images) {
        if (image.part != LabelledImage::test) continue;
        ++images;
        const std::string file = image.name.substr(image.name.rfind('/') + 1);
        CHECK(fold_of.emplace(file.substr(0, file.find('-')), fold).first->second == fold);
      }
      const Data data = set->load(offline());
      CHECK(data.test.size() == 10);
      CHECK(agrees(set->check(offline()), data));
    }
    CHECK(images == 30);
    CHECK(fold_of.size() == 24);
  }
  // Validation images that are drawn have no copies among the others.
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const Data data =
        make("ImageFolder", with_fold({{"path", dir / "photos"}, {"validation", "6"}}, 3, 1))->load(offline("", seed));
    CHECK(data.validation.size() == 6);
    std::set<std::vector<double>> there;
    for (int64_t i = 0; i < data.validation.size(); ++i) there.insert(values(data.validation.inputs.rows(i, 1)));
    for (int64_t i = 0; i < data.train.size(); ++i) CHECK_FALSE(there.contains(values(data.train.inputs.rows(i, 1))));
  }
}

TEST_CASE("folds that cannot be are refused in one message") {
  const TempDir dir;
  const std::string path = dir.write("a.csv", numbered_table({6, 3}));
  const auto trouble = [&](Keys keys, int64_t folds, int64_t fold) {
    keys.emplace_back("path", path);
    const auto load = error_of([&] { make("CSV", with_fold(keys, folds, fold))->load(offline()); });
    CHECK(error_of([&] { make("CSV", with_fold(keys, folds, fold))->check(offline()); }) == load);
    return load;
  };
  CHECK(trouble({}, 5, 6) == "config: fold: 6 does not exist; give one of the 5 folds, 1 to 5");
  CHECK(trouble({}, 5, 0) == "config: folds: 5 needs the fold to test with: give fold: 1, up to fold: 5");
  CHECK(trouble({}, 1, 1) == "config: folds: 1 is too few; expected 2 or more, or 0 for none");
  CHECK(trouble({{"test", "0"}}, 0, 2) == "config: fold: 2 needs their number, as folds: 5");
  CHECK(trouble({}, 10, 1) == text("config: folds: ", path, " has 9 samples, too few for 10 folds"));
  for (const std::string& test : {std::string("0.25"), path})
    CHECK(trouble({{"test", test}}, 3, 1) ==
          text("config: folds: 3 folds test with every sample once, but ", path, " has ", test == path ? 9 : 2,
               " others to test with; leave folds out, or the key or folder that gives those"));
  for (int i = 0; i < 4; ++i) dir.write(text("photos/", i < 2 ? "train" : "test", "/c0/", i, ".png"), numbered_png(i));
  for (int i = 4; i < 8; ++i) dir.write(text("photos/", i < 6 ? "train" : "test", "/c1/", i, ".png"), numbered_png(i));
  const auto images = make("ImageFolder", with_fold({{"path", dir / "photos"}}, 2, 1));
  CHECK_THAT(error_of([&] { images->check(offline()); }), Catch::Contains("photos has 4 others to test with"));
  CHECK(error_of([&] {
          make("ImageFolder", with_fold({{"path", dir / "photos/train"}, {"test", "0.5"}}, 2, 1))->load(offline());
        }) == "config: folds and test: 0.5 are both given; leave one out");
  dir.write("book.txt", std::string(400, 'a') + std::string(400, 'b'));
  CHECK_THAT(error_of([&] {
               make("Text", with_fold({{"path", dir / "book.txt"}, {"steps", "8"}}, 2, 1))->load(offline());
             }),
             Catch::Contains("book.txt follow one another, so that neighbours of tested ones would be trained with"));
}

TEST_CASE("a class of fewer samples than folds is a warning") {
  const TempDir dir;
  std::vector<std::string> warnings;
  DataContext context = offline();
  context.warnings = &warnings;
  const std::string path = dir.write("a.csv", numbered_table({6, 3, 5}));
  make("CSV", with_fold({{"path", path}}, 5, 1))->load(context);
  CHECK(warnings ==
        std::vector<std::string>{
            text(path, ": fewer samples than the 5 folds are of class 'class1'; some folds test none of these")});
}
