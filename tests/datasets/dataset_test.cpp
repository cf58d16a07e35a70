#include "datasets/dataset.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <set>

#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

Tensor floats(std::initializer_list<float> list, Shape shape) {
  Tensor out(DType::f32, shape);
  std::copy(list.begin(), list.end(), out.as<float>().begin());
  return out;
}

std::set<std::vector<double>> rows(const Split& split) {
  std::set<std::vector<double>> out;
  for (int64_t i = 0; i < split.size(); ++i) out.insert(values(split.inputs.rows(i, 1)));
  return out;
}

}  // namespace

TEST_CASE("labels are checked against the number of classes, with file, index, value and bound") {
  CHECK(values(class_labels(floats({0, 2, 1}, {3, 1}), 3, "a")) == std::vector<double>{0, 2, 1});
  CHECK(class_labels(floats({0, 2, 1}, {3, 1}), 3, "a").shape() == Shape{3});
  CHECK(error_of([] {
          class_labels(floats({0, 3, 1}, {3}), 3, "/d/labels.gz");
        }) == "data: /d/labels.gz: label 1 is 3: with 3 classes labels are whole numbers from 0 to 2");
  CHECK_THAT(error_of([] { class_labels(floats({0, -1}, {2}), 3, "a"); }), Catch::Contains("label 1 is -1"));
  CHECK_THAT(error_of([] { class_labels(floats({0.5f}, {1}), 3, "a"); }), Catch::Contains("label 0 is 0.5"));
  CHECK_THAT(error_of([] { class_labels(floats({NAN}, {1}), 3, "a"); }), Catch::Contains("label 0 is nan"));
  CHECK_THAT(error_of([] {
               class_labels(floats({1, 0}, {1, 2}), 3, "a");
             }),
             Catch::Contains("labels have shape (1, 2)"));
}

TEST_CASE("inputs that are not finite are errors with their place") {
  CHECK_THAT(error_of([] {
               input_array(floats({1, 2, 3, INFINITY}, {2, 2}), "x.npy");
             }),
             Catch::StartsWith("data: x.npy: row 1, element 1 is inf"));
  Tensor wide(DType::f64, {1, 2});
  wide.set(1, 1e300);
  CHECK_THAT(error_of([&] { input_array(wide, "x.npy"); }), Catch::Contains("row 0, element 1 is 1e+300"));
}

TEST_CASE("validation samples are drawn by the seed, and every sample is in exactly one place") {
  const auto set = make("Iris", {{"validation", "20"}, {"test", "0"}});
  const Data a = set->load(offline("", 1)), again = set->load(offline("", 1)), b = set->load(offline("", 2));
  CHECK(a.train.size() == 130);
  CHECK(a.validation.size() == 20);
  CHECK(a.test.size() == 0);
  CHECK(values(a.validation.inputs) == values(again.validation.inputs));
  CHECK(values(a.validation.inputs) != values(b.validation.inputs));
  // As multisets, train and validation together are the 150 flowers, each with its own label.
  auto pairs = [](const Data& data) {
    std::multiset<std::vector<double>> out;
    for (const Split* split : {&data.train, &data.validation})
      for (int64_t i = 0; i < split->size(); ++i) {
        auto row = values(split->inputs.rows(i, 1));
        row.push_back(split->targets.at(i));
        out.insert(row);
      }
    return out;
  };
  CHECK(pairs(a) == pairs(make("Iris", {{"test", "0"}})->load(offline())));
  // What is left keeps its order: the labels of Iris are sorted.
  const auto labels = values(a.train.targets);
  CHECK(std::is_sorted(labels.begin(), labels.end()));
  CHECK(agrees(set->check(offline()), a));
}

TEST_CASE("samples are targets beside their own, channel by channel, in the numbers that the net sees") {
  const auto make_set = [](const Keys& more) {
    Keys keys = {{"nin", "[3, 2, 4]"}, {"nout", "5"}, {"ntrain", "6"}, {"ntest", "2"}, {"bytes", "true"}};
    keys.insert(keys.end(), more.begin(), more.end());
    return make("UniformRandom", keys);
  };
  const Data plain = make_set({})->load(offline()), both = make_set({{"reconstruct", "true"}})->load(offline());
  REQUIRE(both.targets.size() == 2);
  CHECK(both.targets[0] == NamedTarget{"class", TargetKind::classes, 5, plain.class_names, {}});
  CHECK(both.targets[1] == NamedTarget{"sample", TargetKind::number, 24, {}, {}});
  CHECK(both.classes == 0);
  REQUIRE(both.test.targets.shape() == Shape{2, 25});
  for (int64_t i = 0; i < 2; ++i) {
    CHECK(both.test.targets.at(i * 25) == plain.test.label(i));
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t pixel = 0; pixel < 8; ++pixel) {
        const int64_t at = i * 24 + (plain.channels_last ? pixel * 3 + c : c * 8 + pixel);
        CHECK(both.test.targets.at(i * 25 + 1 + c * 8 + pixel) ==
              float(plain.test.inputs.at(at)) * plain.scale + plain.shift);
      }
  }
  const DataCheck check = make_set({{"reconstruct", "true"}})->check(offline());
  CHECK(check.targets == both.targets);
  CHECK(check.target == Shape{25});
  CHECK_THAT(error_of([&] {
               make_set({{"reconstruct", "true"}, {"autoencoder", "true"}})->load(offline());
             }),
             Catch::Contains("autoencoder and reconstruct: the first leaves no target but the sample; leave one out"));
  CHECK_THAT(error_of([] {
               make("CopyTask", {{"reconstruct", "true"}})->load(offline());
             }),
             Catch::Contains("reconstruct: the samples of"));
}

TEST_CASE("a subset is a share of the training samples and does not touch the test set") {
  const auto set = make("UniformRandom", {{"ntrain", "200"}, {"ntest", "50"}, {"nin", "3"}, {"subset_pct", "25"}});
  const Data all = make("UniformRandom", {{"ntrain", "200"}, {"ntest", "50"}, {"nin", "3"}})->load(offline());
  const Data part = set->load(offline());
  CHECK(part.train.size() == 50);
  CHECK(values(part.test.inputs) == values(all.test.inputs));
  const auto whole = rows(all.train);
  for (const auto& row : rows(part.train)) CHECK(whole.count(row) == 1);
  CHECK(rows(part.train).size() == 50);
  CHECK(agrees(set->check(offline()), part));
  CHECK(make("UniformRandom", {{"sample_pct", "0.01"}})->load(offline()).train.size() == 1);
}

TEST_CASE("a validation set that leaves nothing is a config error") {
  CHECK_THAT(error_of([] {
               make("Iris", {{"validation", "120"}})->load(offline());
             }),
             Catch::StartsWith("config: validation: 120 leaves none of the 120"));
  CHECK_THAT(error_of([] { make("Iris", {{"validation", "120"}})->check(offline()); }), Catch::Contains("leaves none"));
  CHECK_THAT(error_of([] { make("Iris", {{"subset_pct", "0"}}); }), Catch::Contains("is not in (0, 100]"));
}

TEST_CASE("a relative path is looked for here, beside the spec, then in the data folder") {
  TempDir dir;
  DataContext context = offline(dir / "data");
  context.spec_dir = dir / "spec";
  CHECK_THAT(error_of([&] { find_data_file("neon-x.csv", context); }),
             Catch::StartsWith("data: neon-x.csv: no such file; looked for neon-x.csv, ") &&
                 Catch::Contains(dir / "spec/neon-x.csv") && Catch::Contains(dir / "data/neon-x.csv"));
  const std::string data = dir.write("data/neon-x.csv", "");
  CHECK(find_data_file("neon-x.csv", context) == data);
  const std::string spec = dir.write("spec/neon-x.csv", "");
  CHECK(find_data_file("neon-x.csv", context) == spec);
  CHECK(find_data_file(data, context) == data);
  CHECK(error_of([&] { find_data_file("", context); }) == "config: the name of a file is empty");
  CHECK_THAT(error_of([&] { find_data_file(dir.path(), context); }), Catch::Contains("this is a folder"));
  for (const std::string& here : {std::string("."), std::filesystem::current_path().string()}) {
    context.spec_dir = context.data_dir = here;
    CHECK(context.places_of("a/x.csv") == std::vector<std::string>{"a/x.csv"});
  }
}

TEST_CASE("the data folder is NEON_DATA_DIR, else neon's own when it exists, else the cache") {
  TempDir dir;
  const Variable home("HOME", dir.path().c_str()), cache("NEON_CACHE_DIR", nullptr), xdg("XDG_CACHE_HOME", nullptr);
  {
    const Variable own("NEON_DATA_DIR", "~/mine");
    CHECK(default_data_dir() == dir / "mine");
  }
  const Variable none("NEON_DATA_DIR", nullptr);
  CHECK(default_data_dir() == dir / ".cache/neon");
  dir.write("nervana/data/x", "");
  CHECK(default_data_dir() == dir / "nervana/data");
}

TEST_CASE("rows are taken with their targets, whatever the element type") {
  Split all{floats({0, 1, 2, 3, 4, 5, 6, 7}, {4, 2}), Tensor(DType::i32, {4})}, first, rest;
  for (int64_t i = 0; i < 4; ++i) all.targets.set(i, double(10 * i));
  split_rows(all, {3, 1, 2, 0}, 2, first, rest);
  CHECK(values(first.inputs) == std::vector<double>{2, 3, 6, 7});
  CHECK(values(first.targets) == std::vector<double>{10, 30});
  CHECK(values(rest.inputs) == std::vector<double>{0, 1, 4, 5});
  CHECK(values(rest.targets) == std::vector<double>{0, 20});
}

TEST_CASE("an order drawn is a permutation, the same for the same seed and name") {
  auto order = drawn_order(1000, 7, "x");
  CHECK(order == drawn_order(1000, 7, "x"));
  CHECK(order != drawn_order(1000, 7, "y"));
  CHECK(order != drawn_order(1000, 8, "x"));
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 1000; ++i) REQUIRE(order[size_t(i)] == i);
}
