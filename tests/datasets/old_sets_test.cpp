// Data sets of neon 0.9.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "datasets/macrobatches.h"
#include "datasets/pickle.h"
#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

// As Python 2 pickled with protocol 2; see the comments of its pickletools.
std::string number_text(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += char(value >> (8 * i));
  return out;
}
std::string short_text(const std::string& word) { return "U" + number_text(word.size(), 1) + word + "q\x01"; }
std::string long_text(const std::string& word) { return "T" + number_text(word.size(), 4) + word; }

// A NumPy array of 32 bits.
std::string pickled_array(const std::vector<int>& values) {
  std::string bytes;
  for (int value : values) bytes += number_text(uint64_t(uint32_t(value)), 4);
  return "cnumpy.core.multiarray\n_reconstruct\nq\x02"
         "cnumpy\nndarray\nq\x03" +
         std::string("K\0", 2) +
         "\x85q\x04U\x01"
         "b\x87Rq\x05(K\x01K" +
         number_text(values.size(), 1) +
         "\x85"
         "cnumpy\ndtype\nU\x02i4" +
         std::string("K\0K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb", 29) + "\x89" +
         long_text(bytes) + "tb";
}

std::string macrobatch(const std::vector<std::string>& images, const std::vector<int>& labels) {
  std::string list = "]q\x06(";
  for (const std::string& image : images) list += long_text(image);
  return "\x80\x02}q\x07(" + short_text("data") + list + "e" + short_text("labels") + "}" + short_text("l_id") +
         pickled_array(labels) + "s" + short_text("targets") + "Nu.";
}

// A cache of whole numbers.
std::string macrobatch_cache(const std::vector<std::pair<std::string, int>>& numbers) {
  std::string out = "\x80\x02}(";
  for (const auto& [key, number] : numbers) out += short_text(key) + "M" + number_text(uint64_t(number), 2);
  return out + "u.";
}

}  // namespace

TEST_CASE("MobyDick: a letter's token is its code in ASCII less 31, any other character's 0") {
  const TempDir dir;
  DataContext context;
  context.data_dir = dir / "";
  std::string novel = "A ~\r\n\xc3\xa9z";  // letters, a line's end, e acute
  while (novel.size() < 1000) novel += 'x';
  dir.write("MOBYDICK/pg2701.txt", novel);
  const Data data = make("MobyDick", {{"steps", "5"}})->load(context);
  CHECK(data.tokens == 96);
  const auto inputs = data.train.inputs.as<int32_t>(), targets = data.train.targets.as<int32_t>();
  const std::vector<int32_t> expected = {'A' - 31, 1, '~' - 31, 1, 0, 'z' - 31};
  for (size_t i = 0; i < 5; ++i) {
    CHECK(inputs[i] == expected[i]);
    CHECK(targets[i] == expected[i + 1]);
  }
}

TEST_CASE("Housing: 13 facts, and the price behind them") {
  const TempDir dir;
  DataContext context;
  context.data_dir = dir / "";
  std::string rows;
  for (int i = 0; i < 10 * 14; ++i) rows += text(i % 14 ? "  " : "\n ", i, ".5");
  dir.write("housing/housing.data", rows);
  const Data data = make("Housing", {{"test", "0.2"}})->load(context);
  CHECK(data.train.size() == 8);
  CHECK(data.test.size() == 2);
  for (int64_t i = 0; i < 8; ++i) CHECK(data.train.targets.at(i) == data.train.inputs.at(i * 13) + 13);  // of one row
  dir.write("housing/housing.data", rows + " 7 8");
  CHECK_THROWS_WITH(make("Housing")->load(context), Catch::Contains("has 142 numbers, expected 14 for each suburb"));
  dir.write("housing/housing.data", rows + "\n red");
  CHECK_THROWS_WITH(make("Housing")->load(context), Catch::Contains("housing.data:12: expected a number, found 'red'"));
}

TEST_CASE("SparseNet: patches side by side of photographs in a MATLAB file, of either order of bytes") {
  const int64_t rows = 5, columns = 7, photographs = 2, side = 2;
  const auto pixel = [](int64_t y, int64_t x, int64_t k) { return 0.5 * double(y + 10 * x + 100 * k) - 3; };
  const auto matlab = [&](bool swapped, const std::vector<int64_t>& sizes) {
    const auto bytes_of = [&](auto value) {
      std::string out(sizeof value, ' ');
      std::memcpy(out.data(), &value, sizeof value);
      if (swapped) std::ranges::reverse(out);
      return out;
    };
    const auto element = [&](uint32_t type, const std::string& bytes) {
      return bytes_of(type) + bytes_of(uint32_t(bytes.size())) + bytes + std::string((8 - bytes.size() % 8) % 8, '\0');
    };
    std::string numbers, shape;
    for (int64_t k = 0; k < photographs; ++k)
      for (int64_t x = 0; x < columns; ++x)
        for (int64_t y = 0; y < rows; ++y) numbers += bytes_of(pixel(y, x, k));
    for (int64_t size : sizes) shape += bytes_of(int32_t(size));
    const std::string matrix = element(6, bytes_of(uint32_t(6)) + bytes_of(uint32_t(0))) + element(5, shape) +
                               element(1, "IMAGES") + element(9, numbers);
    std::string head = "MATLAB 5.0 MAT-file";
    head.resize(124, ' ');
    return head + bytes_of(uint16_t(0x0100)) + bytes_of(uint16_t(('M' << 8) | 'I')) + element(14, matrix);
  };
  const TempDir dir;
  DataContext context;
  context.data_dir = dir / "";
  CHECK_THROWS_WITH(make("SparseNet")->load(context),
                    Catch::Contains("IMAGES.mat is not in ") && Catch::Contains("curl"));
  for (const bool swapped : {false, true}) {
    dir.write("SPARSENET/IMAGES.mat", matlab(swapped, {rows, columns, photographs}));
    const Data data = make("SparseNet", {{"patch", "2"}})->load(context);
    CHECK(data.sample == Shape{1, side, side});
    CHECK(data.train.targets.empty());
    REQUIRE(data.train.size() == photographs * 2 * 3);
    int64_t at = 0;
    for (int64_t k = 0; k < photographs; ++k)
      for (int64_t top = 0; top + side <= rows; top += side)
        for (int64_t left = 0; left + side <= columns; left += side)
          for (int64_t y = 0; y < side; ++y)
            for (int64_t x = 0; x < side; ++x) CHECK(data.train.inputs.at(at++) == pixel(top + y, left + x, k));
    CHECK_THROWS_WITH(make("SparseNet")->load(context),
                      Catch::Contains("IMAGES is (5, 7, 2), expected (rows, columns, "));
  }
  dir.write("SPARSENET/IMAGES.mat", matlab(false, {rows, columns, photographs + 1}));
  CHECK_THROWS_WITH(make("SparseNet")->load(context), Catch::Contains("an array has other numbers than its sizes say"));
}

TEST_CASE("macrobatches of neon 0.9 are read as they are") {
  const TempDir dir;
  const auto image_of = [](double grey) {
    Tensor image(DType::u8, {8, 8, 3});
    for (int64_t i = 0; i < image.elements(); ++i) image.set(i, grey);
    return jpeg_of(image);
  };
  dir.write("i1k/dataset_cache.pkl", macrobatch_cache({{"val_start", 10}, {"ntrain", 2}}));
  dir.write("i1k/data_batch_0", macrobatch({image_of(10), image_of(200)}, {0, 1}));
  dir.write("i1k/data_batch_1", macrobatch({image_of(60)}, {1}));
  dir.write("i1k/data_batch_10", macrobatch({image_of(120), image_of(250)}, {1, 0}));
  const auto load = [&] {
    return make("ImageFolder", {{"path", dir / "i1k"}, {"normalize", "false"}, {"stream", "false"}})
        ->load(DataContext());
  };
  const Data data = load();
  REQUIRE(data.train.size() == 3);
  const Split& evaluated = data.validation.size() ? data.validation : data.test;
  REQUIRE(evaluated.size() == 2);
  CHECK(data.classes == 2);
  std::vector<std::pair<int, double>> train, test;
  for (int64_t i = 0; i < 3; ++i) train.emplace_back(data.train.label(i), data.train.inputs.at(i * 192));
  for (int64_t i = 0; i < 2; ++i) test.emplace_back(evaluated.label(i), evaluated.inputs.at(i * 192));
  std::sort(train.begin(), train.end()), std::sort(test.begin(), test.end());
  CHECK(train == std::vector<std::pair<int, double>>{{0, 10}, {1, 60}, {1, 200}});
  CHECK(test == std::vector<std::pair<int, double>>{{0, 250}, {1, 120}});
  dir.write("i1k/data_batch_1", macrobatch({image_of(60)}, {1, 0}));
  CHECK_THROWS_WITH(load(), Catch::Contains("data_batch_1: has 1 images and 2 labels"));
  dir.write("i1k/data_batch_1",
            "\x80\x02}(U\x04"
            "data");
  CHECK_THROWS_WITH(load(), Catch::Contains("data_batch_1: is no pickle of neon 0.9: byte 10 ends the file too early"));
}

TEST_CASE("macrobatches: the cache says which to use, and the spec may say others") {
  const TempDir dir;
  for (const int number : {0, 1, 2, 3, 10, 11}) {  // each has one image of its number as grey, of class 0 or 1
    Tensor image(DType::u8, {8, 8, 3});
    for (int64_t i = 0; i < image.elements(); ++i) image.set(i, 10 * number);
    dir.write(text("i1k/data_batch_", number), macrobatch({jpeg_of(image)}, {number % 2}));
  }
  using Greys = std::vector<double>;
  const auto greys_of = [](const Split& split) {
    Greys out;
    for (int64_t i = 0; i < split.size(); ++i) out.push_back(split.inputs.at(i * 192));
    std::ranges::sort(out);
    return out;
  };
  const auto load = [&](const std::string& chosen) {
    Keys keys = {{"path", dir / "i1k"}, {"normalize", "false"}, {"stream", "false"}};
    if (!chosen.empty()) keys.emplace_back("macrobatches", chosen);
    return make("ImageFolder", keys)->load(DataContext());
  };
  const auto check = [&](const std::string& chosen, const Greys& train, const Greys& validation) {
    const Data data = load(chosen);
    CHECK(greys_of(data.train) == train);
    CHECK(greys_of(data.validation.size() ? data.validation : data.test) == validation);
  };
  dir.write("i1k/dataset_cache.pkl", macrobatch_cache({{"val_start", 10}}));
  check("", {0, 10, 20, 30}, {100, 110});
  dir.write("i1k/dataset_cache.pkl",
            macrobatch_cache({{"ntrain", 2}, {"train_start", 1}, {"val_start", 10}, {"nval", 1}}));
  check("", {10, 20}, {100});
  DataContext earlier;
  earlier.rules = kRulesOfMacrobatches - 1;
  const Keys plain{{"path", dir / "i1k"}, {"normalize", "false"}, {"stream", "false"}};
  CHECK(greys_of(make("ImageFolder", plain)->load(earlier).train) == Greys{0, 10, 20, 30});
  check("{ntrain: 3}", {10, 20, 30}, {100});
  check("{train_start: 0}", {0, 10}, {100});
  check("{val_start: 11, nval: 1}", {10, 20}, {110});
  check("{val_start: 3}", {10, 20}, {30});
  CHECK_THROWS_WITH(
      load("{ntrain: 4}"),
      Catch::Contains("i1k: has no data_batch_4; ntrain is 4 and train_start 1 by dataset_cache.pkl and"));
  CHECK_THROWS_WITH(load("{nval: 3}"), Catch::Contains("has no data_batch_12; nval is 3 and val_start 10 by"));
  CHECK_THROWS_WITH(load("{val_start: 2}"), Catch::Contains("data_batch_2 is to train and to validate with: ntrain 2 "
                                                            "from train_start 1 on reach val_start 2"));
  CHECK_THROWS_WITH(load("{ntrain: 0}"), Catch::Contains("0 is not at least 1"));
  dir.write("i1k/dataset_cache.pkl", macrobatch_cache({{"ntrain", 2}}));
  CHECK_THROWS_WITH(load(""), Catch::Contains("has no val_start, ") && Catch::Contains("{val_start: NUMBER}"));
  check("{val_start: 10}", {0, 10}, {100, 110});
  dir.write("other/cat/1.jpg", "");
  CHECK_THROWS_WITH(
      make("ImageFolder", {{"path", dir / "other"}, {"macrobatches", "{ntrain: 1}"}})->load(DataContext()),
      Catch::Contains("has no dataset_cache.pkl; leave macrobatches out"));
}

TEST_CASE("a pickle that is cut or changed anywhere is refused, or read") {
  const std::string whole = macrobatch({"abc"}, {1, 2});
  for (size_t end = 0; end < whole.size(); ++end)
    CHECK_THROWS_AS(Pickle(std::string_view(whole).substr(0, end), "p"), Error);
  for (size_t at = 0; at < whole.size(); ++at)
    for (int change : {1, 0x20, 0x80}) {
      std::string changed = whole;
      changed[at] = char(changed[at] ^ change);
      try {
        const Pickle pickle(changed, "p");
        if (const PickleNode* const labels = pickle.find(pickle.root(), "labels"); labels && !labels->items.empty())
          pickle.integers_of(pickle.node(labels->items.back()), "labels");
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::data);
      }
    }
}
