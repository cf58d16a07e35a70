#include "datasets/idx.h"

#include <catch2/catch.hpp>

#include "datasets/file.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

// A header of that type with those sizes, big-endian.
std::string header(char type, std::initializer_list<uint32_t> sizes) {
  std::string out{0, 0, type, char(sizes.size())};
  for (uint32_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) out += char(size >> shift);
  return out;
}

std::string idx_error(const std::string& bytes) {
  return error_of([&] { parse_idx(bytes, "a.idx"); });
}

}  // namespace

TEST_CASE("every element type of IDX is read, from memory, files and gzip files") {
  struct Case {
    const char* file;
    DType dtype;
    double step, start;
  };
  for (const auto& [file, dtype, step, start] :
       {Case{"u1.idx", DType::u8, 7, 3}, Case{"u1.idx.gz", DType::u8, 7, 3}, Case{"i1.idx", DType::i8, 7, -20},
        Case{"i2.idx", DType::i32, 7, -20}, Case{"i4.idx", DType::i32, 7, -20}, Case{"f4.idx", DType::f32, 0.25, -1},
        Case{"f8.idx", DType::f64, 0.25, -1}}) {
    INFO(file);
    const Tensor read = read_idx(golden(file));
    REQUIRE(read.shape() == Shape{2, 3, 4});
    REQUIRE(read.dtype() == dtype);
    // i1 wraps at 128, as in the file.
    for (int64_t i = 0; i < 24; ++i)
      CHECK(read.at(i) == (dtype == DType::i8 ? double(int8_t(7 * i - 20)) : step * double(i) + start));
    CHECK(read_idx_header(golden(file)).shape == Shape{2, 3, 4});
  }
  const std::string bytes = read_file(golden("f4.idx"));
  CHECK(values(parse_idx(bytes, "f4")) == values(read_idx(golden("f4.idx"))));
}

TEST_CASE("what is not an IDX file is said, with what it looks like") {
  CHECK_THAT(idx_error("<html><body>404</body></html>"),
             Catch::StartsWith("data: a.idx: not an IDX file: starts with '3c 68 74 6d'") &&
                 Catch::Contains("it looks like an HTML page"));
  CHECK_THAT(idx_error(""), Catch::Contains("it looks like an empty file"));
  CHECK_THAT(idx_error(header(0x08, {})), Catch::Contains("not an IDX file"));
  CHECK_THAT(idx_error(header(0x0a, {1}) + "x"), Catch::Contains("not an IDX file"));
  CHECK_THAT(idx_error(header(0x08, {1, 1, 1, 1, 1, 1, 1, 1, 1}) + "x"), Catch::Contains("not an IDX file"));
}

TEST_CASE("a truncated IDX file, or one with more than its header says, is an error") {
  const std::string whole = read_file(golden("i4.idx"));
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    CHECK_THAT(idx_error(whole.substr(0, size)), Catch::StartsWith("data: a.idx: "));
  }
  CHECK_THAT(idx_error(whole + "x"), Catch::Contains("has bytes after its last element"));
  CHECK_THAT(idx_error(header(0x08, {5}) + "1234"), Catch::Contains("promises 5 elements, more than a file"));
  TempDir dir;
  const std::string path = dir.write("cut.idx", header(0x08, {5}) + "1234");
  CHECK(error_of([&] { read_idx(path); }) ==
        "data: " + path + ": truncated: 4 of 5 bytes of elements are there; fetch it again");
}

TEST_CASE("the header alone tells of a plain file that is cut short or too long") {
  TempDir dir;
  const std::string cut = dir.write("cut.idx", header(0x0d, {2, 3}) + std::string(23, 'x'));
  const std::string whole = dir.write("whole.idx", header(0x0d, {2, 3}) + std::string(24, 'x'));
  const std::string longer = dir.write("long.idx", header(0x0d, {2, 3}) + std::string(25, 'x'));
  CHECK(error_of([&] { read_idx_header(cut); }) ==
        "data: " + cut + ": truncated: 23 of 24 bytes of elements are there; fetch it again");
  CHECK(read_idx_header(whole).shape == Shape{2, 3});
  CHECK_THAT(error_of([&] { read_idx_header(longer); }), Catch::Contains("has bytes after its last element"));
}

TEST_CASE("absurd sizes are refused before memory is asked for") {
  CHECK_THAT(idx_error(header(0x0e, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff})),
             Catch::Contains("promises 4294967295 x 4294967295 x 4294967295 x 4294967295 elements, more than a file"));
  CHECK_THAT(idx_error(header(0x08, {1u << 31, 100})), Catch::Contains("more than a file of this size can hold"));
  // A size of zero must not hide an overflow of the others.
  CHECK_THAT(idx_error(header(0x08, {0, 0xffffffff, 0xffffffff, 0xffffffff})), Catch::Contains("more than a file"));
  CHECK_THAT(idx_error(header(0x08, {0xffff1074, 0x6d6c0000, 0})), Catch::Contains("more than a file"));
  CHECK(parse_idx(header(0x08, {0}), "empty").elements() == 0);
}
