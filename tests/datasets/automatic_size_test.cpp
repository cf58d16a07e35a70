// Images that are brought to a size of neon's choice.
#include <catch2/catch.hpp>

#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

TEST_CASE("size: auto takes the size of all training images, or the median of their shorter sides") {
  const TempDir dir;
  const auto write = [&](const std::string& name, int64_t height, int64_t width) {
    dir.write("pets/" + name + ".png", png_of(picture(height, width, 3, 0)));
  };
  std::vector<std::string> warnings;
  const auto load = [&](const std::string& set, const std::string& path) {
    DataContext context = offline(dir.path());
    context.warnings = &warnings;
    warnings.clear();
    return make(set, {{"path", path}, {"size", "auto"}, {"on_bad_sample", "skip"}})->load(context);
  };
  write("train/cat/0", 12, 20), write("train/dog/0", 12, 20), write("test/cat/0", 12, 20);
  CHECK(load("ImageFolder", "pets").image_size == SampleSize(12, 20));
  CHECK(warnings.empty());
  // Shorter sides 8, 12, 12, 30 and 40; neither those of test images nor those of damaged ones count.
  write("train/cat/1", 40, 90), write("train/dog/1", 31, 30), write("train/dog/2", 8, 9), write("test/dog/0", 2, 2);
  dir.write("pets/train/cat/9.png", "<html>");
  const Data data = load("ImageFolder", "pets");
  CHECK(data.sample == Shape{3, 12, 12});
  CHECK(data.train.size() == 5);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0] == text("note: ", dir.path(), "/pets: images of several sizes are brought to 12 x 12 pixels, the ",
                            "median of their shorter sides; size: N names another size"));
  dir.write("list.csv", "pets/train/cat/1.png,cat\npets/train/dog/1.png,dog\npets/test/cat/0.png,dog\n");
  CHECK(load("ImageList", "list.csv").image_size == SampleSize(30));
  for (const char* name : {"train/cat/0", "train/cat/1", "train/dog/0", "train/dog/1"}) write(name, 300, 299);
  CHECK(load("ImageFolder", "pets").image_size == SampleSize(256));
}

TEST_CASE("size: auto keeps the size of the images of a net that was trained before") {
  const TempDir dir;
  for (const char* name : {"train/cat/0", "train/dog/0", "test/cat/0"})
    dir.write(text("pets/", name, ".png"), png_of(picture(9, 9, 3, 0)));
  DataContext context = offline(dir.path());
  context.image_size = SampleSize(6, 7);
  CHECK(make("ImageFolder", {{"path", "pets"}, {"size", "auto"}})->check(context).sample == Shape{3, 6, 7});
}

TEST_CASE("size: auto is for folders and lists, and a size is no other word") {
  CHECK(error_of([] {
          make("Shards", {{"path", "shards"}, {"size", "auto"}});
        }) == "config: size: auto is for images of a folder or a list; give shards a number, as size: 64");
  CHECK(error_of([] {
          make("ImageFolder", {{"path", "pets"}, {"size", "largest"}});
        }).find("expected a number of pixels, [height, width] or auto, found 'largest'") != std::string::npos);
}
