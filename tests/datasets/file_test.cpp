#include "datasets/file.h"

#include <catch2/catch.hpp>

#include "datasets/gzip.h"
#include "datasets/hash.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

TEST_CASE("what a file looks like is told from its first bytes") {
  CHECK_THAT(looks_like("<!DOCTYPE html><html>"), Catch::Contains("an HTML page"));
  CHECK_THAT(looks_like("\n  <HTML>"), Catch::Contains("an HTML page"));
  CHECK(looks_like("\x1f\x8b\x08") == "a gzip file");
  CHECK(looks_like(std::string("\x80\x04\x95", 3)) == "a Python pickle");
  CHECK_THAT(looks_like("version https://git-lfs.github.com/spec/v1\n"), Catch::Contains("Git LFS pointer"));
  CHECK(looks_like("") == "an empty file");
  CHECK(looks_like("hello, world\n") == "text");
  CHECK(looks_like(std::string("\0\0\x08\x03", 4)) == "");
}

TEST_CASE("files that cannot be read are data errors with the path") {
  TempDir dir;
  CHECK(error_of([&] { read_file(dir / "none"); }) == "data: " + (dir / "none") + ": No such file or directory");
  dir.write("photo.jpg", "");
  CHECK(error_of([&] { read_file(dir / "phto.jpg"); }) ==
        "data: " + (dir / "phto.jpg") + ": No such file or directory; did you mean photo.jpg?");
  CHECK(error_of([&] { read_file(dir.path()); }) == "data: " + dir.path() + ": expected a file, this is a folder");
  const std::string path = dir.write("a", "12345");
  CHECK(read_file(path) == "12345");
  CHECK_THAT(error_of([&] { read_file(path, 4); }), Catch::StartsWith("data: " + path + ": 5 B is more than the 4 B"));
  CHECK_THAT(error_of([&] { make_folders(path + "/b"); }), Catch::StartsWith("data: " + path + "/b: cannot make"));
}

TEST_CASE("files of a folder are read whole, whatever their size, and fail as by their paths") {
  TempDir dir;
  make_folders(dir / "in");
  const OpenFolder folder(dir.path());
  std::string content = "of another file";
  for (const size_t size : {0, 1, 1000, 16383, 16384, 16385, 50000}) {
    std::string whole;
    for (size_t i = 0; i < size; ++i) whole += char(i * 7 + i / 256);
    const std::string path = dir.write("in/a", whole);
    INFO(size);
    folder.read("in/a", 50000, content);
    CHECK(content == whole);
    if (size > 0)
      CHECK(error_of([&] { folder.read("in/a", int64_t(size) - 1, content); }) ==
            error_of([&] { read_file(path, int64_t(size) - 1); }));
  }
  CHECK(error_of([&] { folder.read("in/none", 9, content); }) ==
        "data: " + (dir / "in/none") + ": No such file or directory");
  CHECK(error_of([&] { folder.read("in", 9, content); }) ==
        "data: " + (dir / "in") + ": expected a file, this is a folder");
  CHECK(error_of([&] { OpenFolder(dir / "in/a"); }) == "data: " + (dir / "in/a") + ": Not a directory");
}

TEST_CASE("gzip files are unpacked as they are read, plain ones read as they are") {
  TempDir dir;
  const std::string plain = read_file(golden("u1.idx"));
  CHECK(read_maybe_gzip(golden("u1.idx.gz")) == plain);
  CHECK(read_maybe_gzip(golden("u1.idx")) == plain);
  CHECK(read_maybe_gzip(dir.write("empty", "")).empty());
  CHECK_THAT(error_of([] { read_maybe_gzip(golden("u1.idx.gz"), 10); }), Catch::Contains("holds more than the 10 B"));
}

TEST_CASE("every truncation of a gzip file, and a flipped bit of its content, is an error") {
  TempDir dir;
  const std::string whole = read_file(golden("u1.idx.gz"));
  // From 2 bytes on it is recognised as gzip.
  for (size_t size = 2; size < whole.size(); ++size) {
    const std::string path = dir.write("cut.gz", whole.substr(0, size));
    INFO(size);
    CHECK_THAT(error_of([&] { read_maybe_gzip(path); }), Catch::StartsWith("data: " + path + ": "));
  }
  for (size_t at = 10; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = char(flipped[at] ^ 0x10);
    const std::string path = dir.write("flipped.gz", flipped);
    INFO(at);
    CHECK_THAT(error_of([&] { read_maybe_gzip(path); }), Catch::StartsWith("data: " + path + ": "));
  }
}

TEST_CASE("SHA-256 gives the sums of FIPS 180-2") {
  TempDir dir;
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string path = dir.write("a", std::string(1000000, 'a'));
  CHECK(sha256_of_file(path) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK_THAT(error_of([&] { sha256_of_file(dir / "none"); }), Catch::StartsWith("data: "));
}
