// Tar archives of every writer, and hostile ones.
#include "datasets/tar.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "datasets/file.h"
#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

std::map<std::string, std::string> contents(const std::string& path) {
  std::map<std::string, std::string> out;
  TarReader tar(path);
  while (tar.next()) {
    CHECK(out.count(tar.name()) == 0);
    const std::string name = tar.name();
    const int64_t size = tar.size();
    out[name] = tar.content();
    CHECK(int64_t(out[name].size()) == size);
  }
  CHECK_FALSE(tar.next());
  return out;
}

std::string tar_trouble(const TempDir& dir, const std::string& archive) {
  const std::string path = dir.write("x.tar", archive);
  std::string out = error_of([&] { contents(path); });
  if (const size_t at = out.find(path); at != out.npos) out.replace(at, path.size(), "x.tar");
  return out;
}

}  // namespace

TEST_CASE("archives of every format that tar writes") {
  const TempDir dir;
  const std::string long_name = "in/" + std::string(90, 'd') + "/" + std::string(150, 'f') + ".txt";
  std::string all;
  for (int i = 0; i < 200000; ++i) all += char(i * 7);
  const std::map<std::string, std::string> files = {
      {"in/empty", ""}, {"in/a/block", std::string(512, 'b')}, {"in/a/large", all}, {long_name, "long"}};
  for (const auto& [name, content] : files) dir.write(name, content);
  for (const char* format : {"gnu", "pax", "ustar", "oldgnu"})
    for (const char* options : {"", "z"}) {
      INFO(format << options);
      std::map<std::string, std::string> wanted = files;
      std::string left_out;
      if (std::string(format) == "ustar") left_out = " --exclude='*ffff*'", wanted.erase(long_name);
      const std::string path = dir / "x.tar";
      REQUIRE(std::system(text("cd ", dir.path(), " && tar c", options, "f x.tar --format=", format, left_out, " ./in")
                              .c_str()) == 0);
      CHECK(contents(path) == wanted);
    }
}

TEST_CASE("a file that is not read is passed over") {
  const TempDir dir;
  TarReader tar(dir.write("x.tar", tar_of({{"a", std::string(1000, 'a')}, {"b", "bytes"}})));
  REQUIRE((tar.next() && tar.next()));
  CHECK(tar.content() == "bytes");
}

TEST_CASE("long names and sizes of pax headers") {
  const TempDir dir;
  const std::string name(300, 'n');
  const std::string record = text(name.size() + 10, " path=", name, "\n");
  CHECK(
      contents(dir.write("x.tar", tar_member("PaxHeaders/x", record, 'x') + tar_of({{"short", "1"}, {"next", "2"}}))) ==
      std::map<std::string, std::string>{{name, "1"}, {"next", "2"}});
}

TEST_CASE("hostile and damaged archives are errors") {
  const TempDir dir;
  CHECK(
      tar_trouble(dir, tar_of({{"a/../../b", "x"}})) ==
      "data: x.tar: a/../../b: this name could lead out of the archive, as it is absolute or has a '..'; make it anew");
  CHECK(tar_trouble(dir, tar_of({{"/etc/passwd", "x"}})).find("could lead out of the archive") != std::string::npos);
  CHECK(tar_trouble(dir, tar_member("holes", "", 'S') + tar_of({}))
            .ends_with("holes: is a sparse file; make the archive without --sparse"));
  CHECK(tar_trouble(dir, tar_member("link", "", '2') + tar_of({})).find("is no file (a link or a device, type '2')") !=
        std::string::npos);
  CHECK(tar_trouble(dir, tar_member("pipe", "", '6') + tar_of({})).find("is no file") != std::string::npos);
  const std::string good = tar_of({{"a", std::string(3000, 'a')}, {"b", "b"}});
  CHECK(tar_trouble(dir, good) == "no error");
  CHECK(tar_trouble(dir, good.substr(0, 2000)) ==
        "data: x.tar: a: truncated: the archive ends within this file; fetch it again");
  CHECK(tar_trouble(dir, good.substr(0, 3700)).find("truncated") != std::string::npos);
  CHECK(tar_trouble(dir, good.substr(0, 200)).find("too short for a tar archive") != std::string::npos);
  CHECK(tar_trouble(dir, std::string(2000, 'x')) == "data: x.tar: expected a tar archive; it looks like text");
  std::string flipped = good;
  flipped[3584 + 3] = 'x';  // in the second header
  CHECK(tar_trouble(dir, flipped) ==
        "data: x.tar: no tar archive, or a damaged one: a header with a wrong sum before byte 4096");
  flipped = good;
  flipped[3] = 'x';  // in the first
  CHECK(tar_trouble(dir, flipped) ==
        "data: x.tar: no tar archive, or a damaged one: a header with a wrong sum before byte 512");
  // Between two files, where every file that is there is whole; and before the end.
  for (const size_t cut : {3584u, 4608u})
    CHECK(tar_trouble(dir, good.substr(0, cut)) ==
          text("data: x.tar: ends at byte ", cut,
               " without the zeros that end an archive, as one that was cut short; fetch or make it again"));
  CHECK(tar_trouble(dir, good.substr(0, 4608 + 512)) == "no error");
  CHECK(tar_trouble(dir, good + std::string(9000, '\0')) == "no error");
  CHECK(tar_trouble(dir, good + good).find("x.tar: more follows after the archive's end at byte 5120; ") !=
        std::string::npos);
  // A terabyte that is not there.
  std::string liar = tar_member("big", "");
  liar.replace(124, 11, "20000000000");
  unsigned sum = 0;
  liar.replace(148, 8, "        ");
  for (size_t i = 0; i < 512; ++i) sum += uint8_t(liar[i]);
  char octal[8];
  std::snprintf(octal, sizeof octal, "%06o", sum);
  liar.replace(148, 7, octal, 7);
  CHECK(tar_trouble(dir, liar + std::string(5000, 'x')).find("truncated") != std::string::npos);
}

TEST_CASE("labels of volumes and lists of folders are passed over, sparse files refused by name") {
  const TempDir dir;
  dir.write("in/a/1.txt", "one");
  dir.write("in/b/2.txt", "two");
  const std::map<std::string, std::string> wanted = {{"in/a/1.txt", "one"}, {"in/b/2.txt", "two"}};
  const auto made = [&](const std::string& options) {
    REQUIRE(std::system(text("cd ", dir.path(), " && rm -f x.tar snapshot && tar cf x.tar ", options, " in").c_str()) ==
            0);
    return dir / "x.tar";
  };
  for (const char* format : {"gnu", "posix"}) {
    INFO(format);
    CHECK(contents(made(text("--format=", format, " --label=photos"))) == wanted);
    CHECK(contents(made(text("--format=", format, " --listed-incremental=snapshot"))) == wanted);
  }
  REQUIRE(std::system(text("truncate -s 1M ", dir.path(), "/in/b/2.txt").c_str()) == 0);
  for (const char* format : {"gnu", "posix --sparse-version=0.0", "posix --sparse-version=0.1", "posix"}) {
    INFO(format);
    CHECK_THAT(error_of([&] { contents(made(text("--format=", format, " --sparse"))); }),
               Catch::EndsWith("x.tar: in/b/2.txt: is a sparse file; make the archive without --sparse"));
  }
}

TEST_CASE("a hole behind the end of an archive is not read to its end") {
  const TempDir dir;
  const std::string path = dir.write("x.tar", tar_of({{"a", "bytes"}}));
  const int64_t size = file_size(path);
  REQUIRE(std::system(text("truncate -s +1M ", path).c_str()) == 0);
  CHECK(contents(path).size() == 1);
  REQUIRE(std::system(text("truncate -s 64G ", path).c_str()) == 0);
  CHECK(error_of([&] { contents(path); }) == text("data: ", path,
                                                  ": more than 64.0 MiB of zeros follow the archive's end at byte ",
                                                  size - 512, "; cut the file off there"));
}
