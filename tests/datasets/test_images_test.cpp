// Images that are kept for the test where no folder says which.
#include "datasets/test_images.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

using PartCounts = std::vector<int64_t>;
using ImageNames = std::set<std::string>;

// So many different images of each class: FOLDER/c0/0.png ...
void write_classes(const TempDir& dir, const std::string& folder, const PartCounts& sizes) {
  int kind = 0;
  for (size_t c = 0; c < sizes.size(); ++c)
    for (int64_t i = 0; i < sizes[c]; ++i) dir.write(text(folder, "/c", c, "/", i, ".png"), numbered_png(kind++));
}

std::shared_ptr<ImageSet> open_photos(const std::string& path, Keys keys = {}, uint64_t seed = 0,
                                      std::vector<std::string>* warnings = nullptr) {
  keys.emplace_back("path", path);
  DataContext context = offline("", seed);
  context.warnings = warnings;
  return make("ImageFolder", keys)->images(context);
}

ImageNames tested_images(const ImageSet& set) {
  ImageNames out;
  for (const LabelledImage& image : set.images)
    if (image.part == LabelledImage::test) out.insert(image.name);
  return out;
}

PartCounts counts_of_part(const ImageSet& set, LabelledImage::Part part) {
  PartCounts out(size_t(set.classes));
  for (const LabelledImage& image : set.images)
    if (image.part == part) ++out[size_t(image.label)];
  return out;
}

}  // namespace

TEST_CASE("a folder without test images keeps a fifth of each class for the test") {
  const TempDir dir;
  const PartCounts sizes{23, 10, 4, 1};
  write_classes(dir, "photos", sizes);
  std::vector<std::string> warnings;
  const auto set = open_photos(dir / "photos", {}, 0, &warnings);
  const PartCounts test = counts_of_part(*set, LabelledImage::test);
  const auto taken = std::llround(0.2 * 38);
  CHECK(test[0] + test[1] + test[2] + test[3] == taken);
  for (size_t c = 0; c < sizes.size(); ++c) {
    const double share = double(sizes[c] * taken) / 38;
    CHECK(std::abs(double(test[c]) - share) < 1);
  }
  CHECK(test[3] == 0);  // the only image of a class is to train with
  CHECK(warnings == std::vector<std::string>{text("note: ", dir / "photos",
                                                  ": has no test images, so 8 of its 38 are kept for the test, ",
                                                  "the same in every run; test: none trains with all")});
  for (uint64_t seed = 1; seed < 5; ++seed)
    CHECK(tested_images(*open_photos(dir / "photos", {}, seed)) == tested_images(*set));
}

TEST_CASE("load and check keep the same images for the test, in memory and streamed") {
  const TempDir dir;
  write_classes(dir, "photos", {9, 6});
  for (const char* stream : {"false", "true"}) {
    const auto set = make("ImageFolder", {{"path", dir / "photos"}, {"stream", stream}});
    const Data data = set->load(offline());
    const DataCheck check = set->check(offline());
    CHECK(data.train.size() == 12);
    CHECK(data.test.size() == 3);
    CHECK(check.train_size == 12);
    CHECK(check.test_size == 3);
    CHECK(check.class_counts == PartCounts{9 - check.test_size + 1, 5});  // 1.8 and 1.2 of 3 are 2 and 1
  }
}

TEST_CASE("a folder and an archive of it keep the same images for the test") {
  const TempDir dir;
  write_classes(dir, "photos", {20, 20});
  REQUIRE(std::system(text("cd ", dir.path(), " && tar cf a.tar photos && tar czf b.tgz -C photos c1 c0").c_str()) ==
          0);
  const ImageNames names = tested_images(*open_photos(dir / "photos"));
  CHECK(tested_images(*open_photos(dir / "b.tgz")) == names);
  ImageNames longer;
  for (const std::string& name : names) longer.insert("photos/" + name);
  CHECK(tested_images(*open_photos(dir / "a.tar")) == longer);
}

TEST_CASE("files of the same bytes are all kept for the test, or none of them") {
  const TempDir dir;
  // 30 different images: every third is there three times, some of them in both classes.
  for (int i = 0; i < 30; ++i)
    for (int copy = 0; copy < (i % 3 ? 1 : 3); ++copy)
      dir.write(text("photos/c", (i + copy * (i % 2)) % 2, "/", i, "-", copy, ".png"), numbered_png(i));
  for (const char* share : {"auto", "0.2", "0.5"})
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const auto set = open_photos(dir / "photos", {{"test", share}}, seed);
      std::map<std::string, std::set<int>> parts;  // by image
      for (const LabelledImage& image : set->images) {
        const std::string file = image.name.substr(image.name.rfind('/') + 1);
        parts[file.substr(0, file.find('-'))].insert(image.part);
      }
      CHECK(parts.size() == 30);
      for (const auto& [image, of_it] : parts) CHECK(of_it.size() == 1);
      CHECK(tested_images(*set).size() == (share == std::string("0.5") ? 25 : 10));
    }
}

TEST_CASE("images of the same size are told apart by their bytes") {
  const TempDir dir;
  for (const auto& [name, content] : Files{{"a/0.png", "xx"}, {"a/1.png", "yy"}, {"b/2.png", "xx"}, {"b/3.png", "z"}})
    dir.write("photos/" + name, content);
  CHECK(same_bytes(*open_photos(dir / "photos", {{"test", "none"}})) == PartCounts{0, 1, 0, 3});
}

TEST_CASE("images of the same size and the same end are told apart by their beginnings") {
  const TempDir dir;
  const std::string end(10'000, 'e');
  for (const auto& [name, begin] : Files{{"a/0.png", "xx"}, {"a/1.png", "yy"}, {"b/2.png", "xx"}})
    dir.write("photos/" + name, begin + end);
  dir.write("photos/b/3.png", "xx" + end.substr(1) + "f");
  REQUIRE(std::system(text("cd ", dir / "photos", " && tar cf ../a.tar a b && tar czf ../a.tgz a b").c_str()) == 0);
  for (const char* place : {"photos", "a.tar", "a.tgz"})
    CHECK(same_bytes(*open_photos(dir / place, {{"test", "none"}})) == PartCounts{0, 1, 0, 3});
}

TEST_CASE("a share of one's own is drawn by the seed, and none keeps no images") {
  const TempDir dir;
  write_classes(dir, "photos", {20, 12});
  const std::string path = dir / "photos";
  const ImageNames first = tested_images(*open_photos(path, {{"test", "0.25"}}, 1));
  CHECK(counts_of_part(*open_photos(path, {{"test", "0.25"}}, 1), LabelledImage::test) == PartCounts{5, 3});
  CHECK(tested_images(*open_photos(path, {{"test", "0.25"}}, 1)) == first);
  CHECK(tested_images(*open_photos(path, {{"test", "0.25"}}, 2)) != first);
  std::vector<std::string> warnings;
  for (const char* none : {"none", "0"})
    CHECK(tested_images(*open_photos(path, {{"test", none}}, 0, &warnings)).empty());
  CHECK(warnings.empty());
  for (const char* wrong : {"some", "1", "-0.1", "nan", ""})
    CHECK(error_of([&] {
            open_photos(path, {{"test", wrong}});
          }) == text("config: test: '", wrong, "' is neither auto, nor none, nor a share from 0 to below 1"));
}

TEST_CASE("test images of its own, or too few of them, leave a set as it is") {
  const TempDir dir;
  write_classes(dir, "photos/train", {10, 10});
  write_classes(dir, "photos/test", {1, 1});
  std::vector<std::string> warnings;
  CHECK(tested_images(*open_photos(dir / "photos", {}, 0, &warnings)) == ImageNames{"test/c0/0.png", "test/c1/0.png"});
  CHECK(tested_images(*open_photos(dir / "photos", {{"test", "none"}}, 0, &warnings)).size() == 2);
  CHECK(warnings.empty());
  CHECK(error_of([&] {
          open_photos(dir / "photos", {{"test", "0.5"}});
        }) == text("config: test: 0.5 of the training images, but ", dir / "photos", " has test images of its own"));
  write_classes(dir, "few", {1, 1});
  CHECK(tested_images(*open_photos(dir / "few", {}, 0, &warnings)).empty());
  CHECK(warnings ==
        std::vector<std::string>{text("note: ", dir / "few", ": 2 images are too few to keep some for the test")});
  // All images are the same file.
  for (int i = 0; i < 10; ++i) dir.write(text("same/c", i % 2, "/", i, ".png"), png_of(picture(6, 6, 3)));
  CHECK(error_of([&] {
          open_photos(dir / "same", {{"test", "0.5"}});
        }) ==
        text("data: ", dir / "same", ": too few of its 10 images differ in their bytes to test with some of them"));
}

TEST_CASE("test images that are trained with are counted, and one is named") {
  const TempDir dir;
  write_classes(dir, "photos/train", {5, 5});
  for (int i = 0; i < 3; ++i) dir.write(text("photos/test/c0/x", i, ".png"), numbered_png(i == 2 ? 100 : 7 - i));
  dir.write("photos/val/c1/y.png", numbered_png(1));
  std::vector<std::string> warnings;
  DataContext context = offline();
  context.warnings = &warnings;
  warn_of_copies(*open_photos(dir / "photos"), context);
  CHECK(warnings ==
        std::vector<std::string>{
            text(dir / "photos", ": 3 test or validation images have the same bytes as training images; the ",
                 "first: 'test/c0/x0.png' is 'train/c1/2.png'; remove them from one side"),
            text(dir / "photos", ": 3 images have the same bytes as an image of another class; the first: ",
                 "'test/c0/x0.png' is 'train/c1/2.png'; leave each in one class")});
  std::filesystem::remove_all(dir / "photos/test");
  std::filesystem::remove_all(dir / "photos/val");
  warnings.clear();
  warn_of_copies(*open_photos(dir / "photos"), context);
  CHECK(std::ranges::count_if(warnings, [](const std::string& line) { return line.find("bytes") != line.npos; }) == 0);
}

TEST_CASE("check finds images of several sizes, and the line that mends it") {
  const TempDir dir;
  write_classes(dir, "photos", {4, 4});
  dir.write("photos/c1/large.png", png_of(picture(5, 9, 3)));
  dir.write("photos/c1/bad.png", "no image");
  std::vector<std::string> warnings;
  DataContext context = offline();
  context.warnings = &warnings;
  const Keys keys{{"path", dir / "photos"}, {"test", "none"}};
  make("ImageFolder", keys)->check(context);
  CHECK(warnings ==
        std::vector<std::string>{text(dir / "photos", ": 1 of the first 9 images are not of the first one's 6 x 6 ",
                                      "pixels; add to the data set: size: 5, or size: auto, by the training images")});
  warnings.clear();
  make("ImageFolder", {keys[0], keys[1], {"size", "5"}})->check(context);
  CHECK(warnings.empty());
}

TEST_CASE("a run of an old checkpoint trains with all images, as it did") {
  const TempDir dir;
  write_classes(dir, "photos", {10, 10});
  DataContext old = offline("", 5);
  old.rules = 3;
  const auto images = [&](const char* test) {
    return make("ImageFolder", {{"path", dir / "photos"}, {"test", test}})->images(old);
  };
  CHECK(tested_images(*images("auto")).empty());
  std::vector<int32_t> labels(20);
  for (size_t i = 10; i < 20; ++i) labels[i] = 1;
  const std::vector<int64_t> order = order_by_class(labels, 2, 4, 5, "images/test");
  ImageNames wanted;
  for (size_t i = 16; i < 20; ++i) wanted.insert(images("none")->images[size_t(order[i])].name);
  CHECK(tested_images(*images("0.2")) == wanted);
}
