// Images with tables of boxes: CSV and COCO's JSON give the same targets, images are stretched with their boxes, and
// faults are told with their place.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "image_support.h"
#include "neon/core/box_rows.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

// Two images of different sizes, each with one bright block.
void write_blocks(const TempDir& dir) {
  const auto block = [](int64_t height, int64_t width, int64_t left, int64_t top, int64_t right, int64_t bottom) {
    Tensor image(DType::u8, {height, width, 1});
    for (int64_t i = 0; i < image.elements(); ++i) {
      const int64_t x = i % width, y = i / width;
      image.set(i, x >= left && x < right && y >= top && y < bottom ? 250 : 10);
    }
    return png_of(image);
  };
  dir.write("images/a.png", block(40, 60, 15, 8, 45, 24));
  dir.write("images/b.png", block(24, 24, 6, 12, 18, 24));
  dir.write("images/none.png", block(24, 30, 0, 0, 0, 0));
}

Data load_boxes(const TempDir& dir, const std::string& table, Keys more = {}, int rules = kDataRules) {
  more.push_back({"path", dir / table}), more.push_back({"root", dir / "images"});
  more.push_back({"size", "[12, 36]"}), more.push_back({"channels", "1"});
  DataContext context = offline();
  context.rules = rules;
  return make("BoxImages", more)->load(context);
}

std::string refused(const TempDir& dir, const std::string& table, const std::string& content, Keys more = {}) {
  dir.write(table, content);
  return error_of([&] { load_boxes(dir, table, more); });
}

}  // namespace

TEST_CASE("boxes of CSV and JSON tables go with their images, whatever size these are brought to") {
  const TempDir dir;
  write_blocks(dir);
  dir.write("t.csv",
            "filename,width,height,class,xmin,ymin,xmax,ymax,difficult\na.png,60,40,zebra,15,8,45,24,0\n"
            "b.png,24,24,ant,6,12,18,24,1\na.png,60,40,ant,0,0,60,20,\nnone.png,30,24,,,,,,\n");
  dir.write("t.json", R"({"images": [{"id": 7, "file_name": "a.png"}, {"id": 3, "file_name": "b.png"},
      {"id": 9, "file_name": "none.png"}], "categories": [{"id": 2, "name": "ant"}, {"id": 5, "name": "zebra"}],
      "annotations": [{"image_id": 7, "category_id": 5, "bbox": [15, 8, 30, 16]},
      {"image_id": 3, "category_id": 2, "bbox": [6, 12, 12, 12], "iscrowd": 1},
      {"image_id": 7, "category_id": 2, "bbox": [0, 0, 60, 20], "iscrowd": 0}]})");
  for (const char* table : {"t.csv", "t.json"}) {
    INFO(table);
    const Data data = load_boxes(dir, table);
    REQUIRE(data.train.inputs.shape() == Shape{3, 12, 36, 1});
    REQUIRE(data.train.targets.shape() == Shape{3, 2, 6});
    CHECK((data.label_of == LabelOf::box && data.class_names == std::vector<std::string>{"ant", "zebra"}));
    const double expected[3][2][6] = {{{1, 0.25, 0.2, 0.75, 0.6, 0}, {0, 0, 0, 1, 0.5, 0}},
                                      {{0, 0.25, 0.5, 0.75, 1, 1}, {-1, 0, 0, 0, 0, 0}},
                                      {{-1, 0, 0, 0, 0, 0}, {-1, 0, 0, 0, 0, 0}}};
    for (int64_t i = 0; i < 36; ++i)
      CHECK(data.train.targets.at(i) == Approx(expected[i / 12][i / 6 % 2][i % 6]).margin(1e-7));
    // The middle of each block is bright, and its surroundings are dark, at the place that the box says.
    for (int64_t n = 0; n < 2; ++n) {
      const auto share = [&](int64_t k) { return data.train.targets.at(n * 12 + k); };
      for (int64_t y = 0; y < 12; ++y)
        for (int64_t x = 0; x < 36; ++x) {
          const double v = (double(y) + 0.5) / 12, u = (double(x) + 0.5) / 36, off = 0.07;
          const bool inside = u > share(1) + off && u < share(3) - off && v > share(2) + off && v < share(4) - off;
          const bool outside = u < share(1) - off || u > share(3) + off || v < share(2) - off || v > share(4) + off;
          const double pixel = data.train.inputs.at((n * 12 + y) * 36 + x);
          if (inside) CHECK(pixel > 200);
          if (outside) CHECK(pixel < 60);
        }
    }
  }
  CHECK(load_boxes(dir, "t.csv", {{"most", "5"}}).train.targets.shape() == Shape{3, 5, 6});
  dir.write("test.csv", "image,class,x1,y1,x2,y2\nb.png,zebra,1,1,5,5\n");
  const Data with_test = load_boxes(dir, "t.csv", {{"test_path", dir / "test.csv"}});
  CHECK((with_test.test.size() == 1 && with_test.test.targets.at(0) == 1));
}

TEST_CASE("streamed images with boxes are those that are held in memory") {
  const TempDir dir;
  write_blocks(dir);
  dir.write("t.csv",
            "image,class,x1,y1,x2,y2\na.png,zebra,15,8,45,24\nb.png,ant,6,12,18,24\na.png,ant,0,0,60,20\n"
            "none.png,,,,,\n");
  dir.write("test.csv", "image,class,x1,y1,x2,y2\nb.png,zebra,1,1,5,5\n");
  for (const Keys& keys : {Keys{}, Keys{{"test_path", dir / "test.csv"}}, Keys{{"validation", "1"}}}) {
    Keys held = keys, streamed = keys;
    held.emplace_back("stream", "false");
    streamed.emplace_back("stream", "true");
    const Data a = load_boxes(dir, "t.csv", held), b = load_boxes(dir, "t.csv", streamed);
    for (const auto& [one, other] :
         {std::pair(&a.train, &b.train), {&a.test, &b.test}, {&a.validation, &b.validation}}) {
      REQUIRE(other->size() == one->size());
      CHECK(other->identity == one->identity);
      if (one->size() == 0) continue;
      REQUIRE((other->rows && other->inputs.empty() && other->dtype() == DType::u8));
      CHECK((other->rows->target() == Shape{2, 6} && other->rows->target_dtype() == DType::f32));
      REQUIRE(other->label_count() == one->label_count());
      for (int64_t i = 0; i < one->label_count(); ++i) CHECK(other->label(i) == one->label(i));
      for (int64_t i = 0; i < one->size(); ++i) {
        ReadScratch scratch;
        Tensor pixels(DType::u8, one->inputs.rows(i, 1).shape()), boxes(DType::f32, one->targets.rows(i, 1).shape());
        other->rows->read_row(i, std::as_writable_bytes(pixels.as<uint8_t>()),
                              std::as_writable_bytes(boxes.as<float>()), scratch);
        CHECK(values(pixels) == values(one->inputs.rows(i, 1)));
        CHECK(values(boxes) == values(one->targets.rows(i, 1)));
      }
    }
  }
  Keys keys = {{"path", dir / "t.csv"}, {"root", dir / "images"}, {"size", "8"}, {"stream", "true"}};
  CHECK(make("BoxImages", keys)->check(offline()).streamed);
}

TEST_CASE("copies of an image with boxes stay on one side") {
  const TempDir dir;
  std::string table = "image,class,x1,y1,x2,y2\n";
  for (int i = 0; i < 24; ++i) {
    Tensor image(DType::u8, {12, 36, 1});
    for (int64_t k = 0; k < image.elements(); ++k) image.set(k, 10 * (i / 3));  // three of each
    dir.write(text("images/", i, ".png"), png_of(image));
    table += text(i, ".png,ant,1,1,5,5\n");
  }
  dir.write("t.csv", table);
  for (const Keys& keys : {Keys{{"validation", "6"}}, Keys{{"folds", "4"}, {"fold", "1"}}})
    for (const char* stream : {"false", "true"}) {
      Keys all = keys;
      all.emplace_back("stream", stream);
      const Data data = load_boxes(dir, "t.csv", all);
      const Split& apart = data.validation.size() > 0 ? data.validation : data.test;
      CHECK(apart.size() == 6);
      const auto grey = [](const Split& split, int64_t i) {
        if (!split.rows) return split.inputs.at(i * 12 * 36);
        Tensor pixels(DType::u8, {12, 36, 1}), boxes(DType::f32, {1, 6});
        ReadScratch scratch;
        split.rows->read_row(i, std::as_writable_bytes(pixels.as<uint8_t>()), std::as_writable_bytes(boxes.as<float>()),
                             scratch);
        return pixels.at(0);
      };
      for (int64_t i = 0; i < apart.size(); ++i)
        for (int64_t k = 0; k < data.train.size(); ++k) CHECK(grey(apart, i) != grey(data.train, k));
    }
  // A run that began with older rules goes on as it drew.
  const Data former = load_boxes(dir, "t.csv", {{"validation", "6"}, {"stream", "false"}}, kRulesOfTargetClasses - 1);
  std::set<double> there, apart;
  for (int64_t i = 0; i < former.validation.size(); ++i) apart.insert(former.validation.inputs.at(i * 12 * 36));
  for (int64_t k = 0; k < former.train.size(); ++k) there.insert(former.train.inputs.at(k * 12 * 36));
  CHECK(there.size() + apart.size() > 8);  // some are on both sides
}

TEST_CASE("tables of boxes are refused with the place of a fault") {
  const TempDir dir;
  write_blocks(dir);
  const auto says = [](const std::string& text) { return Catch::Contains(text); };
  const std::string head = "image,class,x1,y1,x2,y2\n";
  CHECK_THAT(refused(dir, "t.csv", "image,class,x1,y1,x2\n"), says("t.csv:1:1: the header names no column y2"));
  CHECK_THAT(refused(dir, "t.csv", "image,klass,x1,y1,x2,y2\n"),
             says("t.csv:1:7: column 'klass' is unknown; expected image, class"));
  CHECK_THAT(refused(dir, "t.csv", "image,file,class,x1,y1,x2,y2\n"), says("a second column of what is image"));
  CHECK_THAT(refused(dir, "t.csv", head), says("t.csv: has no box"));
  CHECK_THAT(refused(dir, "t.csv", head + "a.png,ant,1,1,5\n"),
             says("t.csv:2:1: expected 6 cells, as the header has, found 5"));
  CHECK_THAT(refused(dir, "t.csv", head + "a.png,ant,1,one,5,5\n"), says("t.csv:2:13: 'one' is no number of pixels"));
  CHECK_THAT(refused(dir, "t.csv", head + "a.png,,1,1,5,5\n"), says("a box without a class"));
  CHECK_THAT(refused(dir, "t.csv", head + "a.png,ant,5,1,5,9\n"),
             says("t.csv:2: the box from 5, 1 to 5, 9 does not lie in its image of 60 x 40 pixels"));
  CHECK_THAT(refused(dir, "t.csv", head + "a.png,ant,5,1,62,9\n"), says("does not lie in its image of 60 x 40"));
  CHECK_THAT(refused(dir, "t.csv", head + "c.png,ant,5,1,9,9\n"),
             says("has no image 'c.png'; root: gives another folder"));
  CHECK_THAT(refused(dir, "t.csv", head + "a.png,ant,1,1,5,5\na.png,ant,1,1,5,5\n", {{"most", "1"}}),
             says("most: 1, and 'a.png' has 2 boxes"));
  dir.write("test.csv", head + "a.png,aunt,1,1,5,5\n");
  CHECK_THAT(refused(dir, "t.csv", head + "a.png,ant,1,1,5,5\n", {{"test_path", dir / "test.csv"}}),
             says("test.csv:2: class 'aunt' is not one of the training table's; did you mean ant?"));
  CHECK_THAT(refused(dir, "t.json", "{\"images\": []}"),
             says("t.json: is no JSON file of boxes, with images, annotations and categories"));
  CHECK_THAT(
      refused(dir, "t.json", R"({"images": [], "categories": [{"id": 1, "name": "a"}], "annotations": [{"image_id": 4,
      "category_id": 1, "bbox": [1, 1, 2, 2]}]})"),
      says("t.json: annotations[0]: image_id is not in the lists of the file"));
}
