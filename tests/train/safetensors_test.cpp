#include "neon/train/safetensors.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "neon/core/error.h"
#include "tests/support/temp_folder.h"

using namespace neon;
using Catch::Matchers::Contains;

namespace {

constexpr DType kAll[] = {DType::f64, DType::f32, DType::f16, DType::bf16,
                          DType::i64, DType::i32, DType::i8,  DType::u8};

// Every byte differs from its neighbours, so that a shift by any amount shows.
Tensor patterned(DType dtype, Shape shape) {
  Tensor out(dtype, shape);
  auto* bytes = static_cast<unsigned char*>(out.data());
  for (size_t i = 0; i < out.bytes(); ++i) bytes[i] = static_cast<unsigned char>(i * 37 + 11);
  return out;
}

void check_same(const Tensor* got, const Tensor& expected) {
  REQUIRE(got);
  CHECK(got->dtype() == expected.dtype());
  CHECK(got->shape() == expected.shape());
  CHECK((expected.bytes() == 0 || std::memcmp(got->data(), expected.data(), expected.bytes()) == 0));
}

std::string with_header(const std::string& json, size_t data_bytes) {
  const uint64_t length = json.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + json + std::string(data_bytes, '\1');
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

std::string reading_error(const std::string& path) {
  try {
    read_safetensors(path);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::data);
    CHECK_THAT(error.what(), Contains(path));
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("every dtype and shape comes back with the same bits") {
  TempFolder folder;
  TensorFile file;
  file.metadata = {{"spec", "layers:\n  - Affine: \"x\"\n"}, {"empty", ""}, {"caf\u00e9", "\u2603"}};
  const Shape shapes[] = {{}, {0}, {1}, {7}, {3, 0, 2}, {2, 3, 5}, {1, 1, 1, 2, 1, 1, 1, 3}};
  for (DType dtype : kAll)
    for (const Shape& shape : shapes) file.tensors.push_back({text(dtype, shape), patterned(dtype, shape)});
  write_safetensors(folder / "all.safetensors", file);
  const TensorFile back = read_safetensors(folder / "all.safetensors");
  CHECK(back.metadata == file.metadata);
  REQUIRE(back.tensors.size() == file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) check_same(back.find(name), tensor);
  CHECK(back.find("nobody") == nullptr);
  CHECK_FALSE(is_file(folder / "all.safetensors.part"));
}

TEST_CASE("a tensor larger than the write buffer comes back") {
  TempFolder folder;
  const Tensor large = patterned(DType::f32, {1000, 700}), small = patterned(DType::u8, {3});
  write_safetensors(folder / "large.safetensors", {{{"small", small}, {"large", large}, {"also", large}}, {}});
  const TensorFile back = read_safetensors(folder / "large.safetensors");
  check_same(back.find("large"), large);
  check_same(back.find("also"), large);
  check_same(back.find("small"), small);
}

TEST_CASE("files made by an independent writer are read") {
  const std::string golden = TEST_FOLDER "/golden/";
  const TensorFile file = read_safetensors(golden + "all_types.safetensors");
  REQUIRE(file.tensors.size() == 10);
  CHECK(file.metadata.at("caf\u00e9") == "line\n\"quoted\"");
  const auto values = [&](const char* name) {
    std::vector<double> out;
    for (int64_t i = 0; i < file.find(name)->elements(); ++i) out.push_back(file.find(name)->at(i));
    return out;
  };
  CHECK(values("u8") == std::vector<double>{0, 128, 255});
  CHECK(values("i8") == std::vector<double>{-128, 0, 127});
  CHECK(values("f16") == std::vector<double>{1, -2.5});
  CHECK(values("bf16") == std::vector<double>{1, -2.5});
  CHECK(values("f32") == std::vector<double>{1.5, -0.25, double(3e38f), double(0.1f)});
  CHECK(values("i32") == std::vector<double>{-2147483648.0, 2147483647.0});
  CHECK(values("f64") == std::vector<double>{0.1, -1e300});
  CHECK(file.find("i64")->as<int64_t>()[0] == INT64_MIN);
  CHECK(file.find("i64")->as<int64_t>()[1] == INT64_MAX);
  CHECK(values("scalar") == std::vector<double>{7});
  CHECK(file.find("scalar")->shape() == Shape{});
  CHECK(file.find("none")->shape() == Shape{0, 5});
  CHECK(file.find("f32")->shape() == Shape{2, 2});

  CHECK(read_safetensors(golden + "empty.safetensors").tensors.empty());
  CHECK(read_safetensors(golden + "only_metadata.safetensors").metadata.at("a") == "b");
  CHECK(read_safetensors(golden + "padded.safetensors").find("w")->at(1) == 2);
}

TEST_CASE("an independent reader reads what is written") {
  TempFolder folder;
  Tensor odd(DType::u8, {3}), wide(DType::f64, {2}), half(DType::bf16, {2, 1}), scalar(DType::i32, {}),
      none(DType::f32, {0});
  for (int i = 0; i < 3; ++i) odd.set(i, i + 1);
  wide.set(0, 1);
  wide.set(1, NAN);
  half.set(0, 1);
  half.set(1, -2.5);
  scalar.set({}, -2);
  write_safetensors(
      folder / "ours.safetensors",
      {{{"odd", odd}, {"wide", wide}, {"half", half}, {"scalar", scalar}, {"none", none}}, {{"k", "v w"}}});
  const auto [status, out] =
      output_of("/usr/bin/python3 " TEST_FOLDER "/read_safetensors.py " + folder / "ours.safetensors");
  CHECK(status == 0);
  // IEEE 754: 1.0 is 3ff0..., the quiet NaN 7ff8...; bf16 is the upper half of f32.
  CHECK(out ==
        "metadata k v w\n"
        "half BF16 [2, 1] 803f20c0\n"
        "none F32 [0] -\n"
        "odd U8 [3] 010203\n"
        "scalar I32 [] feffffff\n"
        "wide F64 [2] 000000000000f03f000000000000f87f\n");
}

namespace {

struct Malformed {
  std::string json;
  size_t data;
  const char* message;
};

// (header, bytes of data, words of the message)
std::vector<Malformed> malformed_headers() {
  const std::string w = entry("F32", "[2]", "[0,8]");
  return {
      {"", 0, "does not begin with '{'"},
      {" {}", 0, "does not begin with '{'"},
      {"[]", 0, "does not begin with '{'"},
      {"{", 0, "not JSON at its character"},
      {"{}}", 0, "not JSON at its character"},
      {"{\"w\xff\":1}", 0, "not JSON at its character"},
      {R"({"w":)" + w + "}", 7, "its tensors take 8 bytes, and 7 follow the header"},
      {R"({"w":)" + w + "}", 9, "its tensors take 8 bytes, and 9 follow the header"},
      {R"({"w":)" + w + R"(,"w":)" + w + "}", 8, "'w' is there twice"},
      {R"({"a":)" + w + R"(,"b":)" + entry("F32", "[2]", "[4,12]") + "}", 12,
       "'b' begins at byte 4 of the data, where 8"},
      {R"({"a":)" + w + R"(,"b":)" + entry("F32", "[1]", "[12,16]") + "}", 16,
       "'b' begins at byte 12 of the data, where 8"},
      {R"({"w":)" + entry("F32", "[2]", "[8,0]") + "}", 8,
       "data_offsets [8, 0] are not the 8 bytes that F32 (2) takes"},
      {R"({"w":)" + entry("F32", "[3]", "[0,8]") + "}", 8, "data_offsets [0, 8] are not the 12 bytes"},
      {R"({"w":)" + entry("F33", "[2]", "[0,8]") + "}", 8, "dtype 'F33' is unknown; expected one of F64, F32"},
      {R"({"w":)" + entry("F32", "[-2]", "[0,8]") + "}", 8, "the number -2 has no place there"},
      {R"({"w":)" + entry("F32", "[2.0]", "[0,8]") + "}", 8, "the number '2.0' has no place there"},
      {R"({"w":)" + entry("F32", "[1e999]", "[0,8]") + "}", 8, "not JSON"},
      {R"({"w":)" + entry("F32", "[99999999999999999999]", "[0,8]") + "}", 8, "has no place there"},
      {R"({"w":)" + entry("F32", "[4611686018427387904,4]", "[0,0]") + "}", 0, "more than any file can hold"},
      {R"({"w":)" + entry("F32", "[4294967296,4294967296,0]", "[0,0]") + "}", 0, "more than any file can hold"},
      {R"({"w":)" + entry("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]") + "}", 8, "more than 8 numbers"},
      {R"({"w":)" + entry("F32", "[2]", "[0]") + "}", 8, "data_offsets has 1 numbers"},
      {R"({"w":)" + entry("F32", "[2]", "[0,8,8]") + "}", 8, "data_offsets has 3 numbers"},
      {R"({"w":)" + entry("F32", "[[2]]", "[0,8]") + "}", 8, "a list has no place there"},
      {R"({"w":)" + entry("F32", "[{}]", "[0,8]") + "}", 8, "an object has no place there"},
      {R"({"w":)" + entry("F32", "2", "[0,8]") + "}", 8, "tensor 'w': shape: the number 2 has no place there"},
      {R"({"w":{"dtype":"F32","shape":[2]}})", 8, "tensor 'w': no data_offsets"},
      {R"({"w":{"shape":[2],"data_offsets":[0,8]}})", 8, "tensor 'w': no dtype"},
      {R"({"w":{"dtype":"F32","data_offsets":[0,8]}})", 8, "tensor 'w': no shape"},
      {R"({"w":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8, "dtype is there twice"},
      {R"({"w":{"dtype":"F32","shape":[2],"offsets":[0,8]}})", 8, "key 'offsets' is unknown"},
      {R"({"w":{"dtype":{"a":{}},"shape":[2],"data_offsets":[0,8]}})", 8, "an object has no place there"},
      {R"({"w":{"dtype":null,"shape":[2],"data_offsets":[0,8]}})", 8, "null has no place there"},
      {R"({"w":true})", 0, "tensor 'w': true or false has no place there"},
      {R"({"w":"F32"})", 0, "the text 'F32' has no place there"},
      {R"({"w":[1]})", 0, "a list has no place there"},
      {R"({"__metadata__":{"a":1}})", 0, "metadata 'a': the number 1 has no place there"},
      {R"({"__metadata__":{"a":["b"]}})", 0, "metadata 'a': a list has no place there"},
      {R"({"__metadata__":{"a":"b","a":"c"}})", 0, "metadata 'a' is there twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "'__metadata__' is there twice"},
      {R"({"__metadata__":"a"})", 0, "the text 'a' has no place there"},
      {"{\"w\\n\\u0001" + std::string(200, 'x') + "\":1}", 0, "tensor 'w\\n\\x01xxx"},
  };
}

}  // namespace

TEST_CASE("malformed headers are refused with the reason") {
  TempFolder folder;
  const std::string path = folder / "bad.safetensors";
  for (const Malformed& c : malformed_headers()) {
    INFO(c.json);
    put_file(path, with_header(c.json, c.data));
    const std::string error = reading_error(path);
    CHECK_THAT(error, Contains(c.message));
    CHECK(error.find('\n') == std::string::npos);
    CHECK(error.size() < 400);
  }
}

TEST_CASE("deep nesting and long lists are refused without running out of stack or memory") {
  TempFolder folder;
  const std::string path = folder / "bad.safetensors";
  const size_t depth = 1'000'000;
  put_file(path, with_header("{\"w\":" + std::string(depth, '[') + std::string(depth, ']') + "}", 0));
  CHECK_THAT(reading_error(path), Contains("a list has no place there"));
  std::string objects;
  for (size_t i = 0; i < depth; ++i) objects += "{\"dtype\":";
  put_file(path, with_header(objects, 0));
  CHECK_THAT(reading_error(path), Contains("an object has no place there"));
}

TEST_CASE("lengths that do not fit the file are refused") {
  TempFolder folder;
  const std::string path = folder / "bad.safetensors";
  const auto with_length = [&](uint64_t length) {
    put_file(path, std::string(reinterpret_cast<const char*>(&length), 8) + "{}");
    return reading_error(path);
  };
  CHECK_THAT(with_length(3), Contains("a header of 3 bytes does not fit a file of 10 bytes"));
  CHECK_THAT(with_length(100'000'001), Contains("does not fit"));
  CHECK_THAT(with_length(UINT64_MAX), Contains("does not fit"));
  CHECK_THAT(with_length(UINT64_MAX - 7), Contains("does not fit"));
  CHECK(with_length(2) == "no error");
}

TEST_CASE("what is not a readable file is refused") {
  TempFolder folder;
  CHECK_THAT(reading_error(folder / "nobody"), Contains("No such file"));
  CHECK_THAT(reading_error(folder.path()), Contains("it is a folder"));
  CHECK_THAT(reading_error("/dev/null"), Contains("not a regular file"));
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THAT(reading_error(folder / "pipe"), Contains("not a regular file"));
}

TEST_CASE("cut off at any byte: an error, never a tensor") {
  TempFolder folder;
  const std::string path = folder / "cut.safetensors",
                    whole = file_content(TEST_FOLDER "/golden/all_types.safetensors");
  for (size_t length = 0; length < whole.size(); ++length) {
    put_file(path, whole.substr(0, length));
    INFO(length);
    CHECK(reading_error(path) != "no error");
  }
}

TEST_CASE("any bit flipped: an error or a file of the same size, never a crash") {
  TempFolder folder;
  const std::string path = folder / "flip.safetensors",
                    whole = file_content(TEST_FOLDER "/golden/all_types.safetensors");
  size_t data_bytes = 0;
  for (const auto& named : read_safetensors(TEST_FOLDER "/golden/all_types.safetensors").tensors)
    data_bytes += named.tensor.bytes();
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = char(flipped[bit / 8] ^ (1 << bit % 8));
    put_file(path, flipped);
    INFO(bit);
    try {
      size_t got = 0;
      for (const auto& named : read_safetensors(path).tensors) got += named.tensor.bytes();
      CHECK(got == data_bytes);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::data);
    }
  }
}

TEST_CASE("what cannot be written is refused and leaves nothing") {
  TempFolder folder;
  const std::string path = folder / "out.safetensors";
  const Tensor one(DType::f32, {1});
  CHECK_THROWS_WITH(write_safetensors(path, {{{"w", one}, {"w", one}}, {}}), Contains("two tensors are named 'w'"));
  CHECK_THROWS_WITH(write_safetensors(path, {{{"__metadata__", one}}, {}}), Contains("cannot be named __metadata__"));
  CHECK_THROWS_WITH(write_safetensors(path, {{{"\xff", one}}, {}}), Contains("not UTF-8"));
  CHECK_THROWS_WITH(write_safetensors(path, {{{"w", one}}, {{"k", "\xc0"}}}), Contains("not UTF-8"));
  CHECK_THROWS_WITH(write_safetensors(path, {{{"w", Tensor()}}, {}}), Contains("has no data"));
  CHECK_THROWS_WITH(write_safetensors(folder.path(), {}), Contains("it is a folder"));
  CHECK_THROWS_WITH(write_safetensors("/dev/null", {}), Contains("not a regular file"));
  CHECK_THROWS_WITH(write_safetensors(folder / "no/such/out", {}), Contains("No such file"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a symbolic link stays a link") {
  TempFolder folder;
  std::filesystem::create_directory(folder / "disk");
  put_file(folder / "disk/real", "old");
  std::filesystem::create_symlink("disk/real", folder / "link");
  write_safetensors(folder / "link", {{{"w", Tensor(DType::f32, {1})}}, {}});
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(read_safetensors(folder / "disk/real").find("w"));
  std::filesystem::remove(folder / "disk/real");
  CHECK_THROWS_WITH(write_safetensors(folder / "link", {}), Contains("it is a symbolic link"));
}
