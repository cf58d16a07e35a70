#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>

#include "datasets/file.h"
#include "datasets/gzip.h"
#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr const char* kFiles[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                  "t10k-labels-idx1-ubyte"};

// No cache and no home of the user's; the four small files, 20 + 10 images, in `folder` of it.
struct Place {
  TempDir dir;
  Variable cache{"NEON_CACHE_DIR", (dir / "cache").c_str()};
  explicit Place(const std::string& folder = "mnist", bool unpacked = false) {
    for (const char* file : kFiles) {
      const std::string from = golden(std::string("mnist/") + file + ".gz");
      if (unpacked) dir.write(folder + "/" + file, read_maybe_gzip(from));
      else copy_file(from, dir / folder + "/" + file + ".gz");
    }
  }
  void replace(const std::string& file, const std::string& content) const {
    unlink((dir / "mnist/" + file + ".gz").c_str());
    dir.write("mnist/" + file, content);
  }
  std::string load_error() const {
    return error_of([&] { make("MNIST")->load(offline(dir.path())); });
  }
};

std::string idx(char type, std::initializer_list<uint32_t> sizes, const std::string& payload) {
  std::string out{0, 0, type, char(sizes.size())};
  for (uint32_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) out += char(size >> shift);
  return out + payload;
}

}  // namespace

TEST_CASE("MNIST is read from the data folder or the cache, gzip or not, under any of its folder names") {
  for (const char* folder : {"mnist", "MNIST", "MNIST/raw", ".", "cache/mnist"})
    for (bool unpacked : {false, true}) {
      const Place place(folder, unpacked);
      INFO(folder << " " << unpacked);
      const auto set = make("MNIST");
      const Data data = set->load(offline(place.dir.path()));
      REQUIRE(data.sample == Shape{1, 28, 28});
      REQUIRE(data.train.inputs.shape() == Shape{20, 1, 28, 28});
      REQUIRE(data.train.inputs.dtype() == DType::u8);
      REQUIRE(data.test.size() == 10);
      CHECK(data.train.inputs.at(13 * 784 + 500) == 13);
      CHECK(data.train.targets.at(13) == 3);
      CHECK(data.classes == 10);
      CHECK(data.class_names[7] == "7");
      CHECK(data.scale == 1.0f / 255.0f);
      CHECK(data.shift == 0);
      CHECK(agrees(set->check(offline(place.dir.path())), data));
    }
}

TEST_CASE("size adds a border, sym_range and normalize change scale and shift only") {
  const Place place;
  const Data data = make("MNIST", {{"size", "33"}, {"sym_range", "true"}})->load(offline(place.dir.path()));
  REQUIRE(data.train.inputs.shape() == Shape{20, 1, 33, 33});
  // 5 pixels more: 2 above and left, 3 below and right.
  for (int64_t y = 0; y < 33; ++y)
    for (int64_t x = 0; x < 33; ++x)
      CHECK(data.train.inputs.at((9 * 33 + y) * 33 + x) == (y >= 2 && y < 30 && x >= 2 && x < 30 ? 9 : 0));
  CHECK(0 * data.scale + data.shift == -1);
  CHECK(255 * data.scale + data.shift == 1);
  CHECK(make("MNIST", {{"normalize", "false"}})->load(offline(place.dir.path())).scale == 1);
}

TEST_CASE("MNIST that is not there says where it was looked for and how to get it") {
  TempDir dir;
  const Variable cache("NEON_CACHE_DIR", (dir / "cache").c_str());
  CHECK_THAT(error_of([&] { make("MNIST")->load(offline(dir.path())); }),
             Catch::StartsWith("data: MNIST: its files are in none of " + (dir / "mnist") + ", ") &&
                 Catch::Contains(dir / "cache/mnist") &&
                 Catch::Contains("; to get it: for f in train-images-idx3-ubyte") && Catch::Contains("https://"));
  const DataCheck check = make("MNIST")->check(offline(dir.path()));
  CHECK_FALSE(check.found);
  CHECK(check.missing == dir / "mnist/train-images-idx3-ubyte.gz");
  CHECK_THAT(check.command, Catch::Contains("curl -fL --create-dirs -o " + (dir / "mnist/$f.gz")));
  CHECK(check.sample == Shape{1, 28, 28});
  CHECK(check.classes == 10);
  copy_file(golden("mnist/t10k-labels-idx1-ubyte.gz"), dir / "mnist/t10k-labels-idx1-ubyte.gz");
  CHECK_THAT(error_of([&] { make("MNIST")->load(offline(dir.path())); }),
             Catch::Contains("(" + (dir / "mnist") + " lacks train-images-idx3-ubyte, train-labels"));
  CHECK(make("MNIST")->check(offline(dir.path())).missing ==
        dir / "mnist lacks train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte");
  // The sets' sizes are known, and so is their memory.
  CHECK(check.train_size == 60000);
  CHECK(check.test_size == 10000);
}

TEST_CASE("the fallback is used, with a warning that names it, when MNIST cannot be had") {
  TempDir dir;
  const Variable cache("NEON_CACHE_DIR", (dir / "cache").c_str());
  // A proxy that refuses connections stands for a machine without a network.
  const Variable proxy("https_proxy", "http://127.0.0.1:1"), direct("no_proxy", nullptr), upper("NO_PROXY", nullptr);
  DataContext context = offline(dir.path());
  std::vector<std::string> warnings;
  context.warnings = &warnings;
  Setting digits = object("Digits", {{"ntrain", "30"}, {"ntest", "20"}});
  Setting spec = object("MNIST", {{"validation", "5"}, {"sym_range", "true"}, {"size", "32"}});
  spec.entries[0].value.entries.push_back({"fallback", digits, {}});
  const auto set = Registry<Dataset>::get().create(spec);
  for (bool may_download : {false, true}) {
    context.may_download = may_download;
    warnings.clear();
    const auto start = std::chrono::steady_clock::now();
    const Data data = set->load(context);
    CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < 5);
    CHECK(data.train.inputs.shape() == Shape{25, 1, 32, 32});
    CHECK(data.sample == Shape{1, 32, 32});
    CHECK(data.validation.size() == 5);
    CHECK(data.test.size() == 20);
    CHECK(data.shift == -1);
    CHECK_THAT(data.source, Catch::StartsWith("Digits in place of MNIST"));
    const std::string tried = may_download ? " and could not be downloaded" : "";
    CHECK(warnings == std::vector<std::string>{
                          "MNIST is not here" + tried + "; Digits stands in, so results say nothing about MNIST",
                          "to get MNIST: neon data fetch MNIST"});
  }
  const DataCheck check = set->check(context);
  CHECK_FALSE(check.found);
  CHECK(check.train_size == 25);
  CHECK_THAT(check.source, Catch::StartsWith("Digits in place of MNIST"));
  CHECK_THAT(error_of([&] { make("MNIST")->load(context); }),
             Catch::StartsWith("data: MNIST: its files are in none of"));
  const std::pair<Setting, const char*> unsuited[] = {
      {object("Digits", {{"ntrain", "30"}, {"ntest", "20"}, {"autoencoder", "true"}}),
       "Digits: its samples are (1, 28, 28) of 0"},
      {object("Iris"), "Iris: its samples are (4) of 3"}};
  for (const auto& [fallback, samples] : unsuited) {
    spec.entries[0].value.entries.back().value = fallback;
    const std::string line = text("config: fallback ", samples, " classes, those of MNIST are (1, 28, 28) of 10");
    CHECK(error_of([&] { Registry<Dataset>::get().create(spec)->check(context); }) == line);
    CHECK(error_of([&] { Registry<Dataset>::get().create(spec)->load(context); }) == line);
  }
}

TEST_CASE("a fallback is held in memory") {
  TempDir dir;
  const Variable cache("NEON_CACHE_DIR", (dir / "cache").c_str());
  for (int i = 0; i < 10; ++i) dir.write(text("digits/train/", i, "/0.png"), png_of(picture(28, 28, 1, i)));
  Setting spec = object("MNIST");
  const auto with = [&](const char* stream) {
    const Keys keys = {{"path", dir / "digits"}, {"size", "28"}, {"channels", "1"}, {"stream", stream}};
    spec.entries[0].value.entries = {{"fallback", object("ImageFolder", keys), {}}};
    return Registry<Dataset>::get().create(spec);
  };
  DataContext context = offline(dir.path());
  context.room = [] { return 1.0; };
  const Data data = with("auto")->load(context);
  CHECK(data.train.inputs.shape() == Shape{10, 1, 28, 28});
  CHECK(with("auto")->check(context).train_size == 10);
  const std::string line =
      "config: fallback ImageFolder: a stand-in for MNIST is held in memory; leave stream: true out";
  CHECK(error_of([&] { with("true")->load(context); }) == line);
  CHECK(error_of([&] { with("true")->check(context); }) == line);
}

TEST_CASE("damaged MNIST files are errors with the path, never a reason to fall back") {
  {
    const Place place;
    place.replace(kFiles[0], "<html>404</html>");
    CHECK_THAT(place.load_error(),
               Catch::StartsWith("data: " + (place.dir / "mnist/train-images-idx3-ubyte: not an IDX file")));
    CHECK_THAT(error_of([&] {
                 make("MNIST", {{"fallback", "Digits"}})->load(offline(place.dir.path()));
               }),
               Catch::Contains("not an IDX file"));
    CHECK_THAT(error_of([&] { make("MNIST")->check(offline(place.dir.path())); }), Catch::Contains("not an IDX file"));
  }
  {
    const Place place;
    place.replace(kFiles[1], idx(8, {19}, std::string(19, '\1')));
    CHECK_THAT(place.load_error(), Catch::Contains("has 20 images, but " +
                                                   (place.dir / "mnist/train-labels-idx1-ubyte") + " has 19 labels"));
    CHECK_THAT(error_of([&] { make("MNIST")->check(offline(place.dir.path())); }), Catch::Contains("has 19 labels"));
  }
  {
    const Place place;
    place.replace(kFiles[3], idx(8, {10}, std::string(9, '\1') + '\x0a'));
    CHECK_THAT(place.load_error(), Catch::Contains("t10k-labels-idx1-ubyte: label 9 is 10: with 10 classes"));
  }
  {
    const Place place;
    place.replace(kFiles[0], idx(8, {20, 28, 27}, std::string(20 * 28 * 27, '\1')));
    CHECK_THAT(place.load_error(), Catch::Contains("holds (20, 28, 27), expected images of 28 x 28"));
  }
  {
    const Place place;
    place.replace(kFiles[0], idx(9, {20, 28, 28}, std::string(20 * 784, '\1')));
    CHECK_THAT(place.load_error(), Catch::Contains("its pixels are i8, expected bytes"));
  }
}

TEST_CASE("MNIST's labels under FashionMNIST's name are found out") {
  const Place place("fashion-mnist");
  const std::string first{5, 0, 4, 1, 9, 2, 1, 3, 1, 4, 3, 5, 3, 6, 1, 7};
  for (const char* file : {kFiles[0], kFiles[1]}) unlink((place.dir / "fashion-mnist/" + file + ".gz").c_str());
  place.dir.write(std::string("fashion-mnist/") + kFiles[0], idx(8, {60000, 28, 28}, std::string(60000 * 784, '\0')));
  place.dir.write(std::string("fashion-mnist/") + kFiles[1], idx(8, {60000}, first + std::string(60000 - 16, '\0')));
  CHECK_THAT(error_of([&] { make("FashionMNIST")->load(offline(place.dir.path())); }),
             Catch::Contains("these are the labels of MNIST, not of FashionMNIST"));
}

TEST_CASE("FashionMNIST of Debian's package is found where it is installed") {
  if (!folder_exists("/usr/share/datasets/fashion-mnist")) {
    WARN("skipped: package dataset-fashion-mnist is not installed");
    return;
  }
  TempDir dir;
  const Variable cache("NEON_CACHE_DIR", (dir / "cache").c_str());
  const auto set = make("FashionMNIST");
  const Data data = set->load(offline(dir.path()));
  CHECK(data.train.size() == 60000);
  CHECK(data.test.size() == 10000);
  CHECK(data.source == "/usr/share/datasets/fashion-mnist");
  CHECK(data.class_names[size_t(data.train.targets.at(0))] == "Ankle boot");
  std::vector<int> counts(10);
  for (int32_t label : data.train.targets.as<int32_t>()) ++counts[size_t(label)];
  CHECK(counts == std::vector<int>(10, 6000));
  double sum = 0;
  for (uint8_t pixel : data.train.inputs.as<uint8_t>()) sum += pixel;
  CHECK(sum / (60000 * 784.0) / 255 == Approx(0.2860).margin(0.00005));  // as published widely
  CHECK(agrees(set->check(offline(dir.path())), data));
  CHECK(set->check(offline(dir.path())).command == "apt-get install dataset-fashion-mnist");
}
