// ImageNet's archives as they are given, made small: tars in a tar, and a devkit that says the classes of the images to
// validate with in MATLAB's form.
#include <zlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "datasets/file.h"
#include "datasets/image_samples.h"
#include "datasets/matlab.h"
#include "datasets/shard_folder.h"
#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

std::string little(uint64_t number, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += char(number >> (8 * i));
  return out;
}

// An element of a MATLAB file: short ones have their bytes in their head.
std::string element(uint32_t type, const std::string& bytes) {
  if (bytes.size() <= 4 && !bytes.empty())
    return little(type, 2) + little(bytes.size(), 2) + bytes + std::string(4 - bytes.size(), '\0');
  return little(type, 4) + little(bytes.size(), 4) + bytes + std::string((8 - bytes.size() % 8) % 8, '\0');
}

std::string matrix(uint8_t kind, uint32_t rows, uint32_t columns, const std::string& name, const std::string& rest) {
  return element(14, element(6, std::string(1, char(kind)) + std::string(7, '\0')) +
                         element(5, little(rows, 4) + little(columns, 4)) + element(1, name) + rest);
}

std::string compressed(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  REQUIRE(compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                   bytes.size()) == Z_OK);
  out.resize(size);
  return little(15, 4) + little(size, 4) + out;
}

using Synsets = std::vector<std::pair<int, std::string>>;

// meta.mat: numbers as the smallest type that holds them, texts as UTF-16, and fields that nobody reads.
std::string meta(const Synsets& synsets, bool packed) {
  const std::string names[] = {"ILSVRC2012_ID", "WNID", "words", "children"};
  std::string fields, rest;
  for (const std::string& name : names) fields += name + std::string(16 - name.size(), '\0');
  for (const auto& [number, name] : synsets) {
    std::string letters;
    for (char c : name) letters += little(uint8_t(c), 2);
    rest += matrix(6, 1, 1, "", element(number < 256 ? 2 : 4, little(uint64_t(number), number < 256 ? 1 : 2)));
    rest += matrix(4, 1, uint32_t(name.size()), "", element(4, letters));
    rest += matrix(4, 1, 3, "", element(16, "dog")) + matrix(6, 0, 0, "", element(9, ""));
  }
  const std::string all =
      matrix(2, uint32_t(synsets.size()), 1, "synsets", element(5, little(16, 4)) + element(1, fields) + rest);
  std::string header = "MATLAB 5.0 MAT-file";
  header.resize(124, ' ');
  return header + std::string("\0\1IM", 4) + matrix(6, 1, 1, "other", element(9, little(0, 8))) +
         (packed ? compressed(all) : all);
}

std::string gzipped(const TempDir& dir, const std::string& content) {
  const std::string path = dir / "x.gz";
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, content.data(), unsigned(content.size()));
  gzclose(file);
  return read_file(path);
}

const Synsets kSynsets = {{1, "n03"}, {2, "n01"}, {300, "n02"}};
const std::string kTruth = "300\n1\n2\n1\n";

// Colours of class k are those of kind k.
struct Archives {
  explicit Archives(const std::string& truth = kTruth, const Synsets& synsets = kSynsets, bool packed = true) {
    Files outer;
    for (int k = 1; k <= 3; ++k) {
      Files inner;
      for (int i = 0; i < 4; ++i) inner.push_back({text("n0", k, "_", i, ".JPEG"), jpeg_of(picture(8, 9, 3, k))});
      outer.push_back({text("n0", k, ".tar"), tar_of(inner)});
    }
    dir.write("ILSVRC2012_img_train.tar", tar_of(outer));
    Files validation;
    const int kinds[] = {2, 3, 1, 3};  // of 300, 1, 2, 1
    for (int i = 3; i >= 0; --i)
      validation.push_back({text("ILSVRC2012_val_0000000", i + 1, ".JPEG"), jpeg_of(picture(8, 9, 3, kinds[i]))});
    dir.write("ILSVRC2012_img_val.tar", tar_of(validation));
    dir.write("ILSVRC2012_devkit_t12.tar.gz",
              gzipped(dir, tar_of({{"ILSVRC2012_devkit_t12/readme.txt", "words"},
                                   {"ILSVRC2012_devkit_t12/data/meta.mat", meta(synsets, packed)},
                                   {"ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt", truth}})));
    std::filesystem::remove(dir / "x.gz");
  }
  std::string trouble() const {
    std::string out = error_of([&] { open_image_store(dir.path()); });
    for (size_t at = out.find(dir.path()); at != out.npos; at = out.find(dir.path()))
      out.replace(at, dir.path().size(), "D");
    return out;
  }
  TempDir dir;
};

}  // namespace

TEST_CASE("ImageNet's archives are read as they are given, tars in a tar") {
  for (const bool packed : {true, false}) {
    const Archives archives(kTruth, kSynsets, packed);
    const auto set = make("ImageFolder", {{"path", archives.dir.path()}});
    const Data data = set->load(offline());
    CHECK(agrees(set->check(offline()), data));
    CHECK(data.class_names == std::vector<std::string>{"n01", "n02", "n03"});
    REQUIRE(data.train.size() == 12);
    REQUIRE(data.test.size() == 4);
    for (const Split* split : {&data.train, &data.test})
      for (int64_t i = 0; i < split->size(); ++i) {
        const int kind = int(split->targets.at(i)) + 1;
        CHECK(farthest(split->inputs.rows(i, 1).reshaped({8, 9, 3}), picture(8, 9, 3, kind)) < 30);
      }
    std::multiset<double> labels;
    for (int64_t i = 0; i < 4; ++i) labels.insert(data.test.targets.at(i));
    CHECK(labels == std::multiset<double>{0, 1, 2, 2});
  }
}

TEST_CASE("ImageNet's archives are packed to shards") {
  const Archives archives;
  const TempDir out;
  pack_images(*make("ImageFolder", {{"path", archives.dir.path()}})->images(offline()), out / "shards", {});
  const Data packed = make("Shards", {{"path", out / "shards"}})->load(offline());
  CHECK((packed.train.size() == 12 && packed.test.size() == 4));
  for (int64_t i = 0; i < 12; ++i)
    CHECK(farthest(packed.train.inputs.rows(i, 1).reshaped({8, 9, 3}),
                   picture(8, 9, 3, int(packed.train.targets.at(i)) + 1)) < 30);
}

TEST_CASE(
    "without images to validate with there are those to train with; without the devkit their classes are unknown") {
  const Archives archives;
  std::filesystem::remove(archives.dir / "ILSVRC2012_devkit_t12.tar.gz");
  CHECK(archives.trouble() ==
        "data: D/ILSVRC2012_devkit_t12.tar.gz: no such file; it says the classes of the images of "
        "ILSVRC2012_img_val.tar, fetch it from where those are from");
  std::filesystem::remove(archives.dir / "ILSVRC2012_img_val.tar");
  CHECK(make("ImageFolder", {{"path", archives.dir.path()}})->check(offline()).train_size == 12);
}

TEST_CASE("archives of ImageNet that do not go together are told") {
  const std::string devkit = "data: D/ILSVRC2012_devkit_t12.tar.gz: ";
  CHECK(
      Archives("300\n1\n2\n").trouble() ==
      "data: ILSVRC2012_img_val.tar: ILSVRC2012_val_00000004.JPEG: expected ILSVRC2012_val_NUMBER.JPEG, of a number up "
      "to 3, as many as D/ILSVRC2012_devkit_t12.tar.gz has classes of images");
  CHECK(Archives("300\n1\n2\n7\n").trouble() == devkit + "image 4 is of class 7, which data/meta.mat does not have");
  CHECK_THAT(Archives("300\none\n").trouble(),
             Catch::Contains("ground_truth.txt:2: expected the number of a class, found 'one'"));
  CHECK(Archives(kTruth, {}).trouble() == devkit + "has no data/meta.mat; fetch it again");
}

TEST_CASE("damaged MATLAB files are data errors") {
  for (const bool packed : {true, false}) {
    const std::string whole = meta(kSynsets, packed);
    const auto read = [](const std::string& bytes) {
      return error_of([&] { read_matlab_structs(bytes, "synsets", "meta.mat"); });
    };
    CHECK(read(whole) == "no error");
    CHECK(read_matlab_structs(whole, "synsets", "meta.mat").at(2).at("WNID").text == "n02");
    CHECK(read_matlab_structs(whole, "synsets", "meta.mat").at(2).at("ILSVRC2012_ID").numbers ==
          std::vector<double>{300});
    for (size_t size = 0; size < whole.size(); size += 3) {
      INFO(size);
      CHECK_THAT(read(whole.substr(0, size)), Catch::StartsWith("data: meta.mat: "));
    }
    for (size_t at = 128; at < whole.size(); ++at) {
      std::string broken = whole;
      broken[at] = char(broken[at] ^ 0x81);
      const std::string said = read(broken);
      CHECK((said == "no error" || said.starts_with("data: meta.mat: ")));
    }
    CHECK(error_of([&] { read_matlab_structs(whole, "synset", "meta.mat"); }) ==
          "data: meta.mat: holds no struct array synset");
  }
}
