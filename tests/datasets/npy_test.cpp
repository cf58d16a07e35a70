#include "datasets/npy.h"

#include <catch2/catch.hpp>

#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

std::string npy_error(const std::string& bytes) {
  return error_of([&] { read_npy(MemorySource(bytes, "a.npy")); });
}

std::string with_header(const std::string& literal, const std::string& payload = "") {
  const std::string padded = literal + "\n";
  return std::string("\x93NUMPY\x01\x00", 8) + char(padded.size() & 255) + char(padded.size() >> 8) + padded + payload;
}

}  // namespace

TEST_CASE("every element type of .npy is read, in both byte orders") {
  struct Case {
    const char* kind;
    DType dtype;
  };
  for (const auto& [kind, dtype] :
       {Case{"b1", DType::u8}, Case{"u1", DType::u8}, Case{"i1", DType::i8}, Case{"u2", DType::i32},
        Case{"i2", DType::i32}, Case{"u4", DType::i64}, Case{"i4", DType::i32}, Case{"u8", DType::i64},
        Case{"i8", DType::i64}, Case{"f2", DType::f16}, Case{"f4", DType::f32}, Case{"f8", DType::f64}})
    for (const char* order : {"byte", "little", "big"}) {
      const std::string path = golden(text(kind, "_", order, ".npy"));
      if ((kind[1] == '1') != (std::string(order) == "byte")) continue;
      INFO(path);
      const Tensor read = read_npy(path);
      REQUIRE(read.dtype() == dtype);
      REQUIRE(read.shape() == Shape{2, 3, 4});
      for (int64_t i = 0; i < 24; ++i) {
        const double expected = kind[0] == 'b'   ? double(i % 3 == 0)
                                : kind[0] == 'f' ? 0.25 * double(i) - 1
                                : kind[0] == 'u' ? double(7 * i + 3)
                                                 : double(7 * i - 20);
        CHECK(read.at(i) == (dtype == DType::i8 ? double(int8_t(int64_t(expected))) : expected));
      }
    }
}

TEST_CASE("versions 1 to 3, Fortran order, scalars, empty arrays and Python 2's sizes are read") {
  for (const char* file : {"version_1.npy", "version_2.npy", "version_3.npy"}) {
    const Tensor read = read_npy(golden(file));
    REQUIRE(read.shape() == Shape{5, 2});
    for (int64_t i = 0; i < 10; ++i) CHECK(read.at(i) == 0.25 * double(i) - 1);
  }
  const Tensor fortran = read_npy(golden("fortran.npy"));
  REQUIRE(fortran.shape() == Shape{2, 3, 4});
  for (int64_t i = 0; i < 24; ++i) CHECK(fortran.at(i) == double(7 * i - 20));
  const Tensor big = read_npy(golden("fortran_big.npy"));
  REQUIRE(big.shape() == Shape{3, 5});
  for (int64_t i = 0; i < 15; ++i) CHECK(big.at(i) == 0.25 * double(i) - 1);
  CHECK(read_npy(golden("scalar.npy")).shape() == Shape{});
  CHECK(read_npy(golden("scalar.npy")).at(0) == -1);
  CHECK(read_npy(golden("empty.npy")).shape() == Shape{0, 3});
  CHECK(values(read_npy(golden("python2.npy"))) == std::vector<double>{-20, -13, -6});
}

TEST_CASE("what is no plain array of numbers is refused, with the reason") {
  auto error = [](const char* file) { return error_of([&] { read_npy(golden(file)); }); };
  CHECK_THAT(error("object.npy"), Catch::StartsWith("data: ") && Catch::Contains("Python objects (a pickle"));
  CHECK_THAT(error("structured.npy"), Catch::Contains("structured array"));
  CHECK_THAT(error("text.npy"), Catch::Contains("holds text ('<U3')"));
  CHECK_THAT(error("complex.npy"), Catch::Contains("element type '<c8' is not read"));
  CHECK_THAT(error("u1.idx"), Catch::Contains("not a NumPy .npy file"));
  CHECK_THAT(error("stored.npz"), Catch::Contains("looks like a zip archive"));
}

TEST_CASE("malformed .npy headers are errors that name the place") {
  const std::string good = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }";
  CHECK(values(read_npy(MemorySource(with_header(good, std::string("\1\0\0\0\2\0\0\0", 8)), "a"))) ==
        std::vector<double>{1, 2});
  CHECK_THAT(npy_error(with_header(good, "1234567")), Catch::Contains("truncated: the header declares (2)"));
  CHECK_THAT(npy_error(with_header(good, "123456789")), Catch::Contains("1 bytes stand after the array"));
  CHECK_THAT(npy_error(with_header("{'descr': '<i4', 'shape': (2,)}")), Catch::Contains("a key is missing"));
  CHECK_THAT(npy_error(with_header("{'descr': '<i4', 'descr': '<i4'}")), Catch::Contains("second key 'descr'"));
  CHECK_THAT(npy_error(with_header("{'evil': 1}")), Catch::Contains("unknown key 'evil'"));
  CHECK_THAT(npy_error(with_header("{'descr: 1}")), Catch::Contains("a quoted text does not end"));
  CHECK_THAT(npy_error(with_header("{'shape': (-1,)}")), Catch::Contains("expected a size"));
  CHECK_THAT(npy_error(with_header("{'shape': (1,1,1,1,1,1,1,1,1)}")), Catch::Contains("more than 8 axes"));
  CHECK_THAT(npy_error(with_header("{'shape': (4611686018427387904, 4)}")),
             Catch::Contains("more elements than any file"));
  CHECK_THAT(npy_error(with_header("{'shape': (0, 4611686018427387904, 4)}")),
             Catch::Contains("more elements than any file"));
  CHECK_THAT(npy_error(with_header("{'fortran_order': 1}")), Catch::Contains("expected True or False"));
  CHECK_THAT(npy_error(with_header(good + "; import os")), Catch::Contains("something follows the dictionary"));
  CHECK_THAT(npy_error(std::string("\x93NUMPY\x07\x00\x02\x00{}", 12)), Catch::Contains(".npy version 7.0: 1 to 3"));
  CHECK_THAT(npy_error(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14)),
             Catch::Contains("declares a header of 4294967295"));
  CHECK_THAT(npy_error(with_header("{'descr': '<u8', 'fortran_order': False, 'shape': (1,)}", std::string(8, '\xff'))),
             Catch::Contains("element 0 is 18446744073709551615, more than 2^63 - 1"));
}

TEST_CASE("every truncation of an .npy file is an error") {
  const std::string whole = read_file(golden("f4_little.npy"));
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    CHECK_THAT(npy_error(whole.substr(0, size)), Catch::StartsWith("data: a.npy: "));
  }
}

TEST_CASE(".npz archives are read, stored and deflated") {
  for (const char* file : {"stored.npz", "deflated.npz"}) {
    INFO(file);
    const Npz archive(golden(file));
    CHECK(archive.names() == std::vector<std::string>{"x_train", "y_train", "x_test", "y_test"});
    CHECK(archive.header("x_train").shape == Shape{6, 2, 3});
    const Tensor x = archive.read("x_train");
    REQUIRE(x.shape() == Shape{6, 2, 3});
    for (int64_t i = 0; i < 36; ++i) CHECK(x.at(i) == double(uint8_t(7 * i + 3)));
    CHECK(values(archive.read("y_train")) == std::vector<double>{0, 2, 1, 0, 2, 1});
    CHECK_THAT(
        error_of([&] { archive.read("x_trian"); }),
        Catch::Contains("has no array 'x_trian'; did you mean x_train") && Catch::Contains("it has x_train, y_train"));
  }
}

TEST_CASE("a damaged .npz never crashes: each truncation is an error, each flipped byte an error or harmless") {
  TempDir dir;
  for (const char* file : {"stored.npz", "deflated.npz"}) {
    const std::string whole = read_file(golden(file));
    auto read_all = [](const std::string& path) {
      const Npz archive(path);
      for (const auto& name : archive.names()) archive.read(name);
    };
    for (size_t size = 0; size < whole.size(); size += 3) {
      const std::string path = dir.write("cut.npz", whole.substr(0, size));
      INFO(size);
      CHECK_THAT(error_of([&] { read_all(path); }), Catch::StartsWith("data: " + path));
    }
    size_t found = 0;
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string flipped = whole;
      flipped[at] = char(flipped[at] ^ 0xff);
      const std::string path = dir.write("flipped.npz", flipped);
      INFO(at);
      const std::string error = error_of([&] { read_all(path); });
      CHECK((error == "no error" || error.starts_with("data: ")));
      found += error != "no error";
    }
    // Times, versions and other fields that do not matter are few.
    CHECK(found > whole.size() * 6 / 10);
  }
  // A byte of a stored array, which nothing but its sum can find.
  std::string damaged = read_file(golden("stored.npz"));
  const size_t pixels = damaged.find("\x03\x0a\x11\x18");  // as above, 7 i + 3
  REQUIRE(pixels != damaged.npos);
  damaged[pixels + 2] = 'x';
  const Npz archive(dir.write("damaged.npz", damaged));
  CHECK(error_of([&] { archive.read("x_train"); }) ==
        "data: " + dir.path() + "/damaged.npz: member 'x_train.npy' is corrupt: its CRC-32 does not match");
  CHECK(values(archive.read("y_train")) == std::vector<double>{0, 2, 1, 0, 2, 1});
  const std::string text = dir.write("text.npz", "not a zip archive at all");
  CHECK_THAT(error_of([&] { Npz archive(text); }), Catch::Contains("not a zip archive; it looks like text"));
}
