// Shards: what is written is read again, and what is damaged is an error.
#include "datasets/shard.h"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "datasets/shard_folder.h"
#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

Shard open(const std::string& path) { return Shard(std::make_unique<FileSource>(path)); }

std::string shard_trouble(const TempDir& dir, const std::string& bytes) {
  const std::string path = dir.write("x.shard", bytes);
  std::string out = error_of([&] {
    const Shard shard = open(path);
    for (int64_t i = 0; i < shard.size(); ++i) shard.content(i);
  });
  if (const size_t at = out.find(path); at != out.npos) out.replace(at, path.size(), "x.shard");
  return out;
}

}  // namespace

TEST_CASE("a shard gives back what was written, and is what its description says") {
  const TempDir dir;
  const std::vector<std::pair<std::string, int32_t>> samples = {{"first", 3}, {"", 0}, {std::string(70000, 'x'), 5}};
  ShardWriter writer(dir / "a.shard");
  for (const auto& [content, label] : samples) writer.add(content, label);
  writer.finish();
  CHECK_FALSE(file_exists(dir / "a.shard"));
  writer.keep();
  const Shard shard = open(dir / "a.shard");
  REQUIRE(shard.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(shard.content(int64_t(i)) == samples[i].first);
    CHECK(shard.label(int64_t(i)) == samples[i].second);
  }
  // By the description at the head of shard.h.
  const std::string bytes = read_file(dir / "a.shard");
  REQUIRE(bytes.size() == 70005 + 3 * 24 + 32);
  CHECK(bytes.substr(bytes.size() - 8) == "NEONSHRD");
  auto number = [&](size_t at, size_t size) {
    uint64_t out = 0;
    std::memcpy(&out, bytes.data() + at, size);
    return out;
  };
  CHECK((number(bytes.size() - 32, 8) == 70005 && number(bytes.size() - 24, 8) == 3));
  CHECK(number(70005 + 8, 4) == 5);
  CHECK(number(70005 + 12, 4) == crc32_z(0, reinterpret_cast<const Bytef*>("first"), 5));
  CHECK((number(70005 + 48, 8) == 5 && number(70005 + 48 + 16, 4) == 5));
}

TEST_CASE("damaged shards are errors") {
  const TempDir dir;
  ShardWriter writer(dir / "a.shard");
  writer.add("first", 3);
  writer.add("second", 1);
  writer.finish();
  writer.keep();
  const std::string good = read_file(dir / "a.shard");
  CHECK(shard_trouble(dir, good) == "no error");
  std::string flipped = good;
  flipped[7] = 'X';
  CHECK(shard_trouble(dir, flipped) ==
        "data: x.shard: sample 1: its checksum is wrong: the file was damaged; pack the data again");
  flipped = good;
  flipped[11 + 16] = 9;  // a label
  CHECK(shard_trouble(dir, flipped).find("its table has another checksum") != std::string::npos);
  CHECK(shard_trouble(dir, good.substr(0, good.size() - 1)).find("does not end as a shard does") != std::string::npos);
  CHECK(shard_trouble(dir, "short").find("5 bytes are too few") != std::string::npos);
  CHECK(shard_trouble(dir, good.substr(1)).find("its table has another size") != std::string::npos);
  flipped = good;
  flipped[good.size() - 12] = 2;
  CHECK(shard_trouble(dir, flipped) == "data: x.shard: a shard of version 2, this neon reads version 1");
  CHECK(error_of([&] { ShardWriter again(dir / "a.shard"); }).find("cannot be made: File exists") != std::string::npos);
}

TEST_CASE("a damaged index and a lost shard are errors that say where and how to mend it") {
  const TempDir dir;
  write_images(dir, 6, 9);
  pack(dir, "out", {});
  const std::string good = read_file(dir / "out/index.json"),
                    mend = "; neon data pack makes the folder anew from the images";
  const auto trouble = [&](const std::string& content) {
    dir.write("out/index.json", content);
    std::string out = error_of([&] { read_shard_index(dir / "out"); });
    CHECK(out.find("exception") == out.npos);
    const std::string head = "data: " + (dir / "out/index.json") + ": no index of shards, or a damaged one: ";
    if (out.starts_with(head) && out.ends_with(mend))
      return out.substr(head.size(), out.size() - head.size() - mend.size());
    return out;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string out = good;
    REQUIRE(out.find(from) != out.npos);
    return out.replace(out.find(from), from.size(), to);
  };
  CHECK(trouble(good) == "no error");
  // Written with a value a line, the first two are "{" and " \"neon_shards\": 1,".
  REQUIRE(good.starts_with("{\n \"neon_shards\": 1,\n \"pixels\": false,\n"));
  CHECK(trouble(with(": false", "; false")) == "line 3, column 10 is not JSON");
  CHECK(trouble("x" + good) == "line 1, column 1 is not JSON");
  CHECK(trouble(with("\"pixels\"", "\"pix\xffls\"")) == "line 3, column 6 is not JSON");
  CHECK(trouble(good + "}").ends_with(", column 1 is not JSON"));
  CHECK(trouble(good.substr(0, 24)) == "it ends too early, in line 3");
  CHECK(trouble("") == "it ends too early, in line 1");
  CHECK(trouble("[]") == "neon_shards is missing");
  CHECK(trouble(with("\"pixels\"", "\"pixel\"")) == "pixels is missing");
  CHECK(trouble(with(": false", ": 0")) == "pixels is not true or false");
  for (const char* number : {"\"6\"", "-6", "6.5", "1e300", "18446744073709551615", "null", "[6]"})
    CHECK(trouble(with("\"samples\": 6", text("\"samples\": ", number))) ==
          "parts.train[0].samples is no whole number from 0 to 9223372036854775807");
  CHECK(trouble(with("\"samples\": 6", "\"samples\": 1e999")) == "it holds a number beyond all that there are");
  CHECK(trouble(with("\"neon_shards\": 1", "\"neon_shards\": 1e999")) == "it holds a number beyond all that there are");
  CHECK(trouble(with("\"sample\": [", "\"sample\": [4000000000, ")).find("sample[0] is no whole number from 0 to ") ==
        0);
  CHECK(trouble(with("\"sample\": [", "\"sample\": [3, 3, 3, ")).find("sample has ") == 0);
  CHECK(trouble(with("\"sha256\"", "\"sha\"")) == "parts.train[0].sha256 is missing");
  CHECK(trouble(with("\"train\"", "\"training\"")) == "parts.train is missing");
  CHECK(trouble(with("\"validation\": []", "\"validation\": {}")) == "parts.validation is no list");
  CHECK(trouble(with("\"neon_shards\": 1", "\"neon_shards\": 2")) ==
        "data: " + (dir / "out/index.json") + ": shards of version 2, this neon reads version 1");
  dir.write("out/index.json", good);
  std::filesystem::remove(dir / "out/test-0000.shard");
  const std::string lost =
      "data: " + (dir / "out/test-0000.shard") + ": no such file, but index.json names this shard; put it back" + mend;
  CHECK(error_of([&] { make("Shards", {{"path", dir / "out"}, {"size", "9"}})->load(offline()); }) == lost);
  CHECK(error_of([&] { make("Shards", {{"path", dir / "out"}, {"size", "9"}})->check(offline()); }) == lost);
}

TEST_CASE("packing that fails leaves nothing in the way of the next try") {
  const TempDir dir;
  write_images(dir, 20, 9);
  dir.write("images/train/odd/bad.png", "no image");
  std::filesystem::create_directory(dir / "there");
  for (const char* to : {"new", "there"}) {
    CHECK(error_of([&] { pack(dir, to, {}); })
              .ends_with("bad.png: expected a JPEG, PNG, BMP, GIF, TIFF or WebP image; it looks like text (--skip_bad "
                         "leaves such files out)"));
    CHECK(folder_exists(dir / to) == (to == std::string("there")));
  }
  CHECK(std::filesystem::is_empty(dir / "there"));
  PackOptions skipping;
  skipping.images.on_bad_sample = "skip";
  // What was ended by force is removed, what somebody is writing is not.
  dir.write("there/train-0000.shard.part", "some of it");
  dir.write("there/test-0007.shard.part", "");
  CHECK(pack(dir, "there", skipping).left_out == 1);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir / "there")) names.insert(entry.path().filename());
  CHECK(names == std::set<std::string>{"index.json", "test-0000.shard", "test.names.json", "train-0000.shard",
                                       "train.names.json"});
  CHECK(error_of([&] { pack(dir, "there", skipping); }).find("there: is not empty; give a folder") !=
        std::string::npos);
  std::filesystem::create_directory(dir / "busy");
  const ShardWriter busy(dir / "busy/train-0000.shard");
  CHECK(error_of([&] {
          pack(dir, "busy", skipping);
        }).find("busy/train-0000.shard.part: another neon data pack is writing here") != std::string::npos);
  CHECK(file_exists(dir / "busy/train-0000.shard.part"));
  // Nor is the folder kept where nothing could be packed.
  dir.write("text/train/a/a.png", "x");
  dir.write("text/train/b/b.png", "x");
  CHECK(error_of([&] {
          pack_images(*make("ImageFolder", {{"path", dir / "text"}})->images(offline()), dir / "none", skipping);
        }).find("no training image can be read; the first: ") != std::string::npos);
  CHECK_FALSE(folder_exists(dir / "none"));
}

TEST_CASE("packed images are those of the folder, as files or as pixels") {
  const TempDir dir;
  write_images(dir, 20, 9);
  dir.write("images/train/odd/bad.png", "no image");
  for (bool pixels : {false, true}) {
    const std::string to = pixels ? "pixels" : "files";
    PackOptions options;
    CHECK(error_of([&] { pack(dir, to + "-not", options); }).find("bad.png: expected a JPEG, PNG") !=
          std::string::npos);
    options.images.on_bad_sample = "skip";
    options.pixels = pixels;
    options.shard_bytes = pixels ? 1200 : 700'000;
    const PackResult packed = pack(dir, to, options);
    CHECK(packed.left_out == 1);
    CHECK(packed.index.samples(LabelledImage::train) == 20);
    CHECK(packed.index.parts[LabelledImage::train].size() > 2);
    const Keys keys{{"path", dir / to}};
    const Data data = make("Shards", keys)->load(offline()),
               whole = make("ImageFolder", {{"path", dir / "images"}, {"on_bad_sample", "skip"}})->load(offline());
    CHECK(agrees(make("Shards", keys)->check(offline()), data));
    CHECK(data.class_names == whole.class_names);
    auto sorted = [&dir](const Split& split) {
      std::multiset<std::pair<std::string, std::vector<double>>> out;
      for (int64_t i = 0; i < split.size(); ++i) {
        std::vector<double> sample = values(split.inputs.rows(i, 1));
        sample.push_back(split.targets.at(i));
        std::string name = split.paths->path(split.number(i));
        if (const std::string images = dir / "images/"; name.starts_with(images)) name.erase(0, images.size());
        out.emplace(name, std::move(sample));
      }
      return out;
    };
    CHECK(sorted(data.train) == sorted(whole.train));
    CHECK(sorted(data.test) == sorted(whole.test));
    double sum = 0;
    for (int64_t i = 0; i < whole.train.inputs.elements(); i += 3) sum += whole.train.inputs.at(i);
    CHECK(packed.index.means[0] == Approx(sum / (20 * 81) / 255).epsilon(1e-12));
    CHECK(error_of([&] { pack(dir, to, options); }).find("is not empty; give a folder of its own") !=
          std::string::npos);
  }
  CHECK(error_of([&] {
          make("Shards", {{"path", dir / "images"}})->load(offline());
        }).find("has no index.json") != std::string::npos);
  CHECK(error_of([&] {
          make("Shards", {{"path", dir / "pixels"}, {"size", "5"}})->load(offline());
        }).find("holds pixels (3, 9, 9), not of size 5") != std::string::npos);
  CHECK(error_of([&] {
          make("Shards", {{"path", dir / "pixels"}, {"channels", "1"}})->load(offline());
        }).ends_with("holds pixels (3, 9, 9), not of 1 channels; give channels: 3, or pack the data again"));
  CHECK(make("Shards", {{"path", dir / "files"}, {"size", "5"}})->load(offline()).sample == Shape{3, 5, 5});
  // Of one class, for an autoencoder only.
  const Keys alike{{"path", dir / "alike"}, {"autoencoder", "true"}};
  dir.write("alike/only/a.png", png_of(picture(4, 4, 3)));
  pack_images(*make("ImageFolder", alike)->images(offline()), dir / "one", {});
  CHECK(make("Shards", {{"path", dir / "one"}, {"autoencoder", "true"}})->load(offline()).train.size() == 1);
  CHECK(error_of([&] {
          make("Shards", {{"path", dir / "one"}})->load(offline());
        }).ends_with("one: all samples are of class 'only', at least two classes are needed"));
}
