// CIFAR-10 and CIFAR-100: small stand-ins of their files, unpacked and in the archive.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "datasets/cifar_files.h"
#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

// Pixel (y, x) of channel c of record `seed`.
uint8_t pixel(int seed, int64_t y, int64_t x, int64_t c) { return uint8_t(seed * 31 + y * 5 + x * 3 + c * 70); }

std::string record(int seed, const std::string& labels) {
  std::string out = labels;
  for (int64_t c = 0; c < 3; ++c)
    for (int64_t y = 0; y < 32; ++y)
      for (int64_t x = 0; x < 32; ++x) out += char(pixel(seed, y, x, c));
  return out;
}

std::string lines(int count, const std::string& stem) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text(stem, i, "\n");
  return out + "\n";
}

Files cifar10() {
  Files out{{"cifar-10-batches-bin/batches.meta.txt", lines(10, "class ")}};
  for (int batch = 1; batch <= 5; ++batch)
    out.emplace_back(text("cifar-10-batches-bin/data_batch_", batch, ".bin"),
                     record(2 * batch, {char(batch)}) + record(2 * batch + 1, {char(9 - batch)}));
  out.emplace_back("cifar-10-batches-bin/test_batch.bin", record(50, {7}));
  return out;
}

Data load_cifar(const TempDir& dir, const std::string& name, const Keys& keys = {}) {
  return make(name, keys)->load(offline(dir.path()));
}

void check_cifar10(const Data& data) {
  CHECK(data.sample == Shape{3, 32, 32});
  CHECK(data.channels_last);
  CHECK(data.class_names[9] == "class 9");
  CHECK(values(data.train.targets) == std::vector<double>{1, 8, 2, 7, 3, 6, 4, 5, 5, 4});
  CHECK(values(data.test.targets) == std::vector<double>{7});
  for (int64_t i = 0; i < 10; ++i)
    for (const auto& [y, x, c] : {std::array<int64_t, 3>{0, 0, 0}, {0, 1, 2}, {31, 30, 1}, {17, 4, 2}})
      CHECK(data.train.inputs.at(((i * 32 + y) * 32 + x) * 3 + c) == pixel(int(i) + 2, y, x, c));
}

}  // namespace

namespace {

std::string number_of_bytes(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += char(value >> (8 * i));
  return out;
}
std::string word_of_python(const std::string& word) { return "U" + number_of_bytes(word.size(), 1) + word; }

// A file as Python 2 pickled it with protocol 2; see the comments of its pickletools.
std::string pickled_batch(const std::vector<int>& labels, const std::string& pixels) {
  std::string list = "](";
  for (int label : labels) list += "K" + number_of_bytes(uint64_t(label), 1);
  const std::string array = "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" + std::string("K\0", 2) +
                            "\x85U\x01" + "b\x87R(K\x01K" + number_of_bytes(labels.size(), 1) + "M" +
                            number_of_bytes(3072, 2) + "\x86" + "cnumpy\ndtype\nU\x02u1" +
                            std::string("K\0K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb", 29) +
                            "\x89T" + number_of_bytes(pixels.size(), 4) + pixels + "tb";
  return "\x80\x02}(" + word_of_python("data") + array + word_of_python("labels") + list + "eu.";
}

// The set of cifar10(), for Python.
Files pickled_cifar10() {
  std::string names = "](";
  for (int i = 0; i < 10; ++i) names += word_of_python(text("class ", i));
  Files out{{"cifar-10-batches-py/batches.meta", "\x80\x02}(" + word_of_python("label_names") + names + "eu."}};
  for (int batch = 1; batch <= 5; ++batch)
    out.emplace_back(text("cifar-10-batches-py/data_batch_", batch),
                     pickled_batch({batch, 9 - batch}, record(2 * batch, "") + record(2 * batch + 1, "")));
  out.emplace_back("cifar-10-batches-py/test_batch", pickled_batch({7}, record(50, "")));
  return out;
}

}  // namespace

TEST_CASE("CIFAR-10 of the version for Python, which older neons fetched") {
  const Variable cache("NEON_CACHE_DIR", "/nonexistent/cache");
  const TempDir folder, archive;
  for (const auto& [name, content] : pickled_cifar10()) folder.write("CIFAR10/" + name, content);
  archive.write("cifar-10-python.tar", tar_of(pickled_cifar10()));
  REQUIRE(std::system(text("gzip ", archive / "cifar-10-python.tar").c_str()) == 0);
  check_cifar10(load_cifar(folder, "CIFAR10"));
  check_cifar10(load_cifar(archive, "CIFAR10"));
  folder.write("CIFAR10/cifar-10-batches-py/data_batch_2", pickled_batch({1, 2}, record(1, "")));
  CHECK_THAT(error_of([&] { load_cifar(folder, "CIFAR10"); }),
             Catch::Contains("cifar-10-batches-py/data_batch_2: 2 and 2 labels, and 3072 pixels"));
  std::string by_columns = pickled_batch({1, 2}, record(1, "") + record(2, ""));
  by_columns[by_columns.find("tb\x89T") + 2] = '\x88';
  folder.write("CIFAR10/cifar-10-batches-py/data_batch_2", by_columns);
  CHECK_THAT(error_of([&] { load_cifar(folder, "CIFAR10"); }), Catch::Contains("column by column, in Fortran's order"));
}

TEST_CASE("CIFAR-10 from its files and from the archive") {
  const Variable cache("NEON_CACHE_DIR", "/nonexistent/cache");
  const TempDir folder, archive;
  for (const auto& [name, content] : cifar10()) folder.write("cifar10/" + name, content);
  archive.write("cifar-10-binary.tar", tar_of(cifar10()));
  REQUIRE(std::system(text("gzip ", archive / "cifar-10-binary.tar").c_str()) == 0);
  const Data data = load_cifar(folder, "CIFAR10"), packed = load_cifar(archive, "CIFAR10");
  check_cifar10(data);
  check_cifar10(packed);
  CHECK(agrees(make("CIFAR10")->check(offline(folder.path())), data));
  CHECK(packed.source == archive / "cifar-10-binary.tar.gz");
  CHECK(load_cifar(folder, "CIFAR10", {{"validation", "4"}}).validation.size() == 4);
}

TEST_CASE("CIFAR-10 has 16 classes where they are padded, and no warning of those without samples") {
  const Variable cache("NEON_CACHE_DIR", "/nonexistent/cache");
  const TempDir dir;
  for (const auto& [name, content] : cifar10()) dir.write("cifar10/" + name, content);
  std::vector<std::string> plain, padded;
  const auto load = [&](const Keys& keys, std::vector<std::string>& warnings) {
    DataContext context = offline(dir.path());
    context.warnings = &warnings;
    return make("CIFAR10", keys)->load(context);
  };
  CHECK(load({}, plain).classes == 10);
  const Data data = load({{"pad_classes", "true"}}, padded);
  CHECK(data.classes == 16);
  CHECK(data.padding_classes == 6);
  CHECK(agrees(make("CIFAR10", {{"pad_classes", "true"}})->check(offline(dir.path())), data));
  check_cifar10(data);
  REQUIRE(data.class_names.size() == 16);
  CHECK(data.class_names[15] == "padding 15");
  CHECK(make("CIFAR10", {{"pad_classes", "true"}, {"autoencoder", "true"}})->load(offline(dir.path())).classes == 0);
  REQUIRE(plain.size() == 1);  // of classes 0 and 9
  CHECK(padded == plain);
}

TEST_CASE("CIFAR-100 has labels of classes and of groups") {
  const Variable cache("NEON_CACHE_DIR", "/nonexistent/cache");
  const TempDir dir;
  dir.write("cifar-100-binary/train.bin", record(1, {19, 99}) + record(2, {3, 0}));
  dir.write("cifar-100-binary/test.bin", record(3, {4, 50}));
  dir.write("cifar-100-binary/fine_label_names.txt", lines(100, "fine "));
  dir.write("cifar-100-binary/coarse_label_names.txt", lines(20, "group "));
  const Data fine = load_cifar(dir, "CIFAR100"), coarse = load_cifar(dir, "CIFAR100", {{"coarse_labels", "true"}});
  CHECK(values(fine.train.targets) == std::vector<double>{99, 0});
  CHECK(fine.class_names.size() == 100);
  CHECK(values(coarse.train.targets) == std::vector<double>{19, 3});
  CHECK(coarse.class_names[19] == "group 19");
  CHECK(coarse.classes == 20);
  CHECK(coarse.train.inputs.at(3 * 33 + 1) == pixel(1, 1, 1, 1));
}

TEST_CASE("files that are not CIFAR's are errors") {
  const Variable cache("NEON_CACHE_DIR", "/nonexistent/cache");
  const TempDir dir;
  CHECK(error_of([&] {
          load_cifar(dir, "CIFAR10");
        }).find("neither cifar-10-binary.tar.gz nor its files are in one of ") != std::string::npos);
  for (const auto& [name, content] : cifar10()) dir.write(name, content);
  dir.write("cifar-10-batches-bin/data_batch_3.bin", record(1, {10}) + record(1, {0}));
  CHECK(error_of([&] { load_cifar(dir, "CIFAR10"); }) == text("data: ", dir / "cifar-10-batches-bin/data_batch_3.bin",
                                                              ": the label of record 0 is 10, there are 10 classes"));
  dir.write("cifar-10-batches-bin/data_batch_3.bin", record(1, {1}).substr(1));
  CHECK(error_of([&] { load_cifar(dir, "CIFAR10"); })
            .starts_with(text("data: ", dir / "cifar-10-batches-bin/data_batch_3.bin",
                              ": 3072 bytes are not a multiple of the record, 3073 bytes")));
  const auto check = [&] { make("CIFAR10")->check(offline(dir.path())); };
  CHECK(error_of(check) == error_of([&] { load_cifar(dir, "CIFAR10"); }).substr(0, error_of(check).size()));
  CHECK(error_of(check).find("data_batch_3.bin: 3072 bytes are not a multiple") != std::string::npos);
  for (const char* gone : {"data_batch_3.bin", "batches.meta.txt"}) {
    for (const auto& [name, content] : cifar10()) dir.write(name, content);
    std::filesystem::remove(dir / (std::string("cifar-10-batches-bin/") + gone));
    CHECK(error_of(check) == text("data: ", dir / "cifar-10-batches-bin", ": lacks ", gone, " of CIFAR10"));
  }
  Files cut = cifar10();
  cut.back().second.pop_back();
  const TempDir packed;
  packed.write("cifar-10-binary.tar.gz", tar_of(cut));
  CHECK(error_of([&] { load_cifar(packed, "CIFAR10"); })
            .starts_with(
                text("data: ", packed / "cifar-10-binary.tar.gz", ": test_batch.bin: 3072 bytes are not a multiple")));
  dir.write("cifar-100-binary.tar.gz", tar_of(cifar10()));
  CHECK(error_of([&] {
          load_cifar(dir, "CIFAR100");
        }).find("lacks train.bin; is this the binary version of CIFAR100?") != std::string::npos);
  const TempDir of_python;
  of_python.write("cifar-10-python.tar.gz", tar_of({pickled_cifar10().front()}));
  CHECK_THAT(error_of([&] { load_cifar(of_python, "CIFAR10"); }),
             Catch::Contains("lacks data_batch_1; is this the version for Python of CIFAR10?"));
}

TEST_CASE("the same images as JPEGs may stand in, and a warning says so") {
  const Variable cache("NEON_CACHE_DIR", "/nonexistent/cache");
  const TempDir dir;
  for (int k = 0; k < 10; ++k) dir.write(text("jpegs/class", k, "/0.png"), png_of(picture(32, 32, 3, k)));
  Setting setting = object("CIFAR10");
  setting.entries[0].value =
      Setting::map({{"fallback", object("ImageFolder", {{"path", "jpegs"}, {"test", "none"}}), {}}});
  const auto set = Registry<Dataset>::get().create(setting);
  std::vector<std::string> warnings;
  DataContext context = offline(dir.path());
  context.warnings = &warnings;
  CHECK(set->load(context).train.size() == 10);
  CHECK(warnings ==
        std::vector<std::string>{"CIFAR10 is not here; ImageFolder stands in, so results say nothing about CIFAR10",
                                 "to get CIFAR10: neon data fetch CIFAR10"});
  const DataCheck check = set->check(context);
  CHECK_FALSE(check.found);
  CHECK(check.train_size == 10);
}
