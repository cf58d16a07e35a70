// Which sets are streamed, and that their samples are those that are held in memory.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "datasets/file.h"
#include "datasets/shard_folder.h"
#include "image_support.h"
#include "neon/core/free_memory.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

TEST_CASE("sets that can be streamed give the samples that they give in memory") {
  const TempDir dir;
  write_images(dir, 20, 9);
  const auto store = open_image_store(dir / "images");
  Files files;
  for (const std::string& name : store->names()) files.emplace_back(name, read_file(dir / ("images/" + name)));
  dir.write("images.tar", tar_of(files));
  pack(dir, "files", {});
  PackOptions as_pixels;
  as_pixels.pixels = true;
  pack(dir, "pixels", as_pixels);
  dir.write("list.csv", "images/train/even/0.png,x\nimages/train/odd/1.png,y\nimages/train/even/2.png,x\n");
  const std::vector<std::pair<std::string, Keys>> sets = {{"ImageFolder", {{"path", dir / "images"}, {"size", "5"}}},
                                                          {"ImageFolder", {{"path", dir / "images.tar"}}},
                                                          {"ImageList", {{"path", dir / "list.csv"}}},
                                                          {"Shards", {{"path", dir / "files"}}},
                                                          {"Shards", {{"path", dir / "pixels"}, {"subset_pct", "50"}}}};
  for (const auto& [name, keys] : sets) {
    INFO(name << " of " << keys.front().second);
    Keys streamed = keys, held = keys;
    streamed.emplace_back("stream", "true");
    held.emplace_back("stream", "false");
    const Data a = make(name, held)->load(offline()), b = make(name, streamed)->load(offline());
    CHECK(make(name, streamed)->check(offline()).streamed);
    CHECK_FALSE(make(name, held)->check(offline()).streamed);
    for (const auto& [one, other] : {std::pair{&a.train, &b.train}, {&a.test, &b.test}}) {
      CHECK(one->size() == other->size());
      CHECK((one->identity == other->identity && one->identity.empty() == (one->size() == 0)));
      if (one->size() == 0) continue;
      REQUIRE((other->reader && other->inputs.empty()));
      for (int64_t i = 0; i < one->size(); ++i) {
        ReadScratch scratch;
        Tensor pixels(DType::u8, one->inputs.rows(i, 1).shape());
        CHECK(other->reader->read(i, pixels.as<uint8_t>(), scratch) == one->label(i));
        CHECK(other->label(i) == one->label(i));
        CHECK(values(pixels) == values(one->inputs.rows(i, 1)));
      }
    }
  }
}

TEST_CASE("the memory of one huge file is given back with the next one") {
  const TempDir dir;
  write_images(dir, 4, 9);
  const std::string path = dir / "images/train/even/0.png";
  dir.write("images/train/even/0.png", read_file(path) + std::string(size_t(20) << 20, ' '));
  const Data data = make("ImageFolder", {{"path", dir / "images"}, {"stream", "true"}})->load(offline());
  std::vector<uint8_t> pixels(9 * 9 * 3);
  ReadScratch scratch;
  data.train.reader->read(0, pixels, scratch);
  CHECK(scratch.file.capacity() >= size_t(20) << 20);
  data.train.reader->read(1, pixels, scratch);
  CHECK(scratch.file.capacity() < 100'000);
  const char* const kept = scratch.file.data();
  data.train.reader->read(2, pixels, scratch);
  CHECK(scratch.file.data() == kept);
}

TEST_CASE("what is larger than its share of the room is streamed, unless it can only be read in order") {
  const TempDir dir;
  write_images(dir, 20, 9);
  DataContext context = offline();
  const double bytes = 21 * 9 * 9 * 3;
  int asked = 0;
  auto is_streamed = [&](const std::string& path, const Keys& more, double room) {
    Keys keys{{"path", path}};
    keys.insert(keys.end(), more.begin(), more.end());
    context.room = [&asked, room] { return ++asked, room; };
    return make("ImageFolder", keys)->load(context).train.reader != nullptr;
  };
  CHECK_FALSE(is_streamed(dir / "images", {}, 2 * bytes));
  CHECK(is_streamed(dir / "images", {}, 2 * bytes - 2));
  CHECK_FALSE(is_streamed(dir / "images", {{"memory_share", "0.9"}}, 2 * bytes - 2));
  // What is known without the room does not ask for it: on a GPU that costs a second.
  CHECK(asked == 3);
  CHECK_FALSE(is_streamed(dir / "images", {{"stream", "false"}}, 1));
  CHECK(is_streamed(dir / "images", {{"stream", "true"}}, 1e9));
  CHECK(asked == 3);
  std::vector<std::string> warnings;
  context.warnings = &warnings;
  const std::string packed = dir / "images.tar.gz";
  REQUIRE(std::system(("tar -C " + (dir / "images") + " -czf " + packed + " train").c_str()) == 0);
  CHECK_FALSE(is_streamed(packed, {{"test", "none"}}, 1));
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("images.tar.gz: a compressed archive is read from its start to its end only") !=
        std::string::npos);
  CHECK(error_of([&] {
          is_streamed(packed, {{"stream", "true"}}, 1);
        }).find("unpack it, or let neon data pack") != std::string::npos);
}

TEST_CASE("what is held in memory must fit in what is free") {
  const TempDir dir;
  const double of_image = 8192.0 * 8192 * 3;
  const int images = int(free_memory() / of_image) + 20;
  REQUIRE(images < 100'000);
  write_images(dir, images, 2);
  pack(dir, "files", {});
  for (const char* name : {"ImageFolder", "Shards"}) {
    INFO(name);
    const std::string path = dir / (std::string(name) == "Shards" ? "files" : "images");
    const std::string error = error_of([&] {
      make(name, {{"path", path}, {"size", "8192"}, {"stream", "false"}})->load(offline());
    });
    CHECK(error.starts_with("memory: " + path + ": its samples take "));
    CHECK(error.ends_with("that are free; give a smaller size, or stream: true"));
  }
}

TEST_CASE("where it is settled whether samples are streamed, the room is not asked") {
  const TempDir dir;
  write_images(dir, 20, 9);
  DataContext context = offline();
  const auto is_streamed = [&](const std::string& stream, bool settled, double room) {
    context.streams = settled;
    context.room = [room] { return room; };
    return make("ImageFolder", {{"path", dir / "images"}, {"stream", stream}})->load(context).train.reader != nullptr;
  };
  CHECK(is_streamed("auto", true, 1e12));
  CHECK_FALSE(is_streamed("auto", false, 1));
  CHECK(is_streamed("true", false, 1e12));
  CHECK_FALSE(is_streamed("false", true, 1));
}
