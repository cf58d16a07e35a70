#include "neon/train/class_names.h"

#include <catch2/catch.hpp>

#include "datasets/sample_meaning_json.h"
#include "neon/core/error.h"
#include "neon/train/checkpoint.h"
#include "tests/support/temp_folder.h"

using namespace neon;
using Names = std::vector<std::string>;

namespace {

Tensor labels(const std::vector<int32_t>& values) {
  Tensor out(DType::i32, {int64_t(values.size())});
  std::ranges::copy(values, out.as<int32_t>().begin());
  return out;
}

struct Labelled : SampleReader {
  int64_t size() const override { return 3; }
  Shape sample() const override { return {1, 1, 1}; }
  int32_t label(int64_t index) const override { return int32_t(index); }
  int32_t read(int64_t index, std::span<uint8_t> pixels, ReadScratch&) const override {
    pixels[0] = uint8_t(index);
    return int32_t(index);
  }
  uint32_t checksum(int64_t index) const override { return uint32_t(index); }
};

std::string error_of(const Names& here, const Names& trained) {
  Data data;
  data.source = "photos";
  data.class_names = here;
  try {
    match_classes(data, trained, "m.safetensors");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::data);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("labels get the numbers that their names have in the net") {
  Data data;
  data.class_names = {"dog", "ant", "cat"};  // trained: ant 0, cat 1, dog 2
  data.train.targets = labels({0, 1, 2, 2});
  data.test.reader = std::make_shared<Labelled>();
  match_classes(data, {"ant", "cat", "dog"}, "m.safetensors");
  CHECK(data.class_names == Names{"ant", "cat", "dog"});
  const auto held = data.train.targets.as<int32_t>();
  CHECK(std::vector<int32_t>(held.begin(), held.end()) == std::vector<int32_t>{2, 0, 1, 1});
  ReadScratch scratch;
  for (const auto& [index, label] : {std::pair(0, 2), {1, 0}, {2, 1}}) {
    uint8_t pixel = 9;
    CHECK(data.test.reader->label(index) == label);
    CHECK(data.test.reader->read(index, {&pixel, 1}, scratch) == label);
    CHECK(pixel == index);
  }
}

TEST_CASE("boxes and steps get the numbers, too, and what has no class keeps none") {
  struct Boxed : RowReader {
    int64_t size() const override { return 1; }
    size_t input_bytes() const override { return 1; }
    size_t target_bytes() const override { return 12 * sizeof(float); }
    DType dtype() const override { return DType::u8; }
    DType target_dtype() const override { return DType::f32; }
    int64_t label_count() const override { return 2; }
    int32_t label(int64_t index) const override { return index == 0 ? 2 : -1; }
    void read_row(int64_t, std::span<std::byte>, std::span<std::byte> target, ReadScratch&) const override {
      const float boxes[] = {2, 0.25f, 0, 1, 1, 1, -1, 0, 0, 0, 0, 0};
      std::memcpy(target.data(), boxes, sizeof boxes);
    }
  };
  Data data;
  data.class_names = {"dog", "ant", "cat"};
  data.train.rows = std::make_shared<Boxed>();
  data.test.targets = Tensor(DType::f32, {1, 2, 6});
  for (int64_t i = 0; i < 12; ++i) data.test.targets.set(i, i == 0 ? 0 : i == 6 ? -1 : 0.5);
  data.validation.targets = labels({0, -1});
  match_classes(data, {"ant", "cat", "dog"}, "m.safetensors");
  CHECK((data.train.label(0) == 1 && data.train.label(1) == -1));
  float boxes[12];
  ReadScratch scratch;
  data.train.rows->read_row(0, {}, std::as_writable_bytes(std::span(boxes)), scratch);
  CHECK((boxes[0] == 1 && boxes[1] == 0.25f && boxes[5] == 1 && boxes[6] == -1));
  for (int64_t i = 0; i < 12; ++i) CHECK(data.test.targets.at(i) == (i == 0 ? 2 : i == 6 ? -1 : 0.5));
  CHECK((data.validation.label(0) == 2 && data.validation.label(1) == -1));
}

TEST_CASE("classes that only one side has are listed") {
  CHECK(error_of({"ant", "cat"}, {"ant", "cat"}) == "no error");
  CHECK(error_of({}, {"ant"}) == "no error");
  CHECK(error_of({"ant"}, {}) == "no error");
  const std::string renamed = error_of({"bird", "zairplane"}, {"airplane", "bird"});
  CHECK(
      renamed.starts_with("photos: its classes are not those of m.safetensors; unknown to the net: 'zairplane'; "
                          "missing here: 'airplane'"));
  CHECK(error_of({"a", "b", "c"}, {"a", "b"}).find("unknown to the net: 'c'; rename") != std::string::npos);
  CHECK(error_of({"a"}, {"a", "b"}).find("m.safetensors; missing here: 'b'") != std::string::npos);
  CHECK(error_of({"a", "b"}, {"a", "b", "b"}) != "no error");
  for (const Names& others : {Names{"b", "a"}, {"a", "b"}}) CHECK(same_classes({"a", "b"}, others));
  for (const Names& others : {Names{"a"}, {"a", "c"}, {"a", "b", "c"}, {"a", "b", "b"}, {}})
    CHECK(!same_classes({"a", "b"}, others));
  Names many;
  for (int i = 0; i < 1000; ++i) many.push_back(text("class", i));
  const std::string cut = error_of({"a"}, many);
  CHECK((cut.find("'class7' and 992 more") != std::string::npos && cut.size() < 500));
  // A checkpoint holds UTF-8 alone; U+FFFD stands for what is none.
  CHECK(error_of({"caf\xe9", "tea"}, {"caf\xef\xbf\xbd", "tea"}) == "no error");
}

TEST_CASE("classes of a target among several get the numbers that their names have in the net") {
  const std::vector<NamedTarget> trained = {{"class", TargetKind::classes, 3, {"ant", "cat", "dog"}, {}},
                                            {"sample", TargetKind::number, 2, {}, {}}};
  const auto data_of = [&](const Names& names) {
    Data data;
    data.source = "photos";
    data.targets = trained;
    data.targets[0].names = names, data.targets[0].width = int64_t(names.size());
    data.test.targets = Tensor(DType::f32, {2, 3});
    for (int64_t i = 0; i < 6; ++i) data.test.targets.set(i, i == 3 ? 1 : i == 0 ? 0 : 0.5);
    return data;
  };
  Data data = data_of({"cat", "dog"});
  match_target_classes(data, trained, "m.safetensors", true);
  CHECK(data.targets == trained);
  const auto rows = data.test.targets.as<float>();
  CHECK(std::vector<float>(rows.begin(), rows.end()) == std::vector<float>{1, 0.5, 0.5, 2, 0.5, 0.5});
  Data other = data_of({"cat", "cow"});
  CHECK_THROWS_WITH(match_target_classes(other, trained, "m.safetensors", true),
                    Catch::Contains("photos: its classes are not those of m.safetensors; unknown to the net: 'cow'"));
}

TEST_CASE("targets with the names of a checkpoint's classes get its numbers, others keep theirs") {
  const auto target = [](const char* name, const Names& classes) {
    NamedTarget out;
    out.name = name, out.kind = TargetKind::classes, out.names = classes, out.width = int64_t(classes.size());
    return out;
  };
  SampleMeaning trained;
  trained.sample = {3};
  trained.targets = {target("colour", {"blue", "red"}), target("size", {"big", "small"})};
  TempFolder folder;
  const std::string path = folder / "m.safetensors";
  const MeaningTexts texts = write_meaning(trained, "t.csv");
  CheckpointSaver(path, 0).save({{}, {{"neon.data", texts.data}, {"neon.classes", texts.classes}}}, 1);
  Data data;
  data.targets = {target("size", {"small", "large"}), target("colour", {"red", "blue"})};
  data.train.targets = Tensor(DType::f32, {2, 2});
  for (int64_t i = 0; i < 4; ++i) data.train.targets.set(i, i < 2 ? 0 : 1);
  match_classes_of_weights(data, path);
  CHECK(data.targets[0].names == Names{"small", "large"});
  CHECK(data.targets[1].names == Names{"blue", "red"});
  for (int64_t i = 0; i < 4; ++i) CHECK(data.train.targets.at(i) == (i == 1 || i == 2 ? 1 : 0));
  match_classes_of_weights(data, folder / "none.safetensors");
  CHECK(data.targets[1].names == Names{"blue", "red"});
}
