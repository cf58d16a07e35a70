#include "neon/core/paths.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/temp_folder.h"
#include "tests/support/variable.h"

using namespace neon;
using neon_test::Variable;

TEST_CASE("the cache folder follows NEON_CACHE_DIR, XDG_CACHE_HOME, HOME, in this order") {
  Variable home("HOME", "/home/ada"), xdg("XDG_CACHE_HOME", nullptr), own("NEON_CACHE_DIR", nullptr);
  CHECK(cache_dir() == "/home/ada/.cache/neon");
  {
    Variable relative("XDG_CACHE_HOME", "relative");
    CHECK(cache_dir() == "/home/ada/.cache/neon");
  }
  Variable given("XDG_CACHE_HOME", "/var/cache/");
  CHECK(cache_dir() == "/var/cache/neon");
  Variable mine("NEON_CACHE_DIR", "~/fast");
  CHECK(cache_dir() == "/home/ada/fast");
}

TEST_CASE("names after a dollar are variables of the environment") {
  Variable one("NEON_TEST_1", "/data"), none("NEON_TEST_2", nullptr);
  for (const auto& [given, meant] : {std::pair("$NEON_TEST_1/a", "/data/a"),
                                     {"x${NEON_TEST_1}y", "x/datay"},
                                     {"$NEON_TEST_1$NEON_TEST_1", "/data/data"},
                                     {"$NEON_TEST_1y $NEON_TEST_2", "$NEON_TEST_1y $NEON_TEST_2"},
                                     {"a$", "a$"},
                                     {"$/${}/${NEON_TEST_1", "$/${}/${NEON_TEST_1"},
                                     {"plain", "plain"}})
    CHECK(expand_variables(given) == meant);
}

TEST_CASE("a tilde is the home folder only at the start of a path") {
  Variable home("HOME", "/home/ada");
  CHECK(expand_home("~") == "/home/ada");
  CHECK(expand_home("~/data") == "/home/ada/data");
  CHECK(expand_home("~other/data") == "~other/data");
  CHECK(expand_home("a/~/b") == "a/~/b");
}

TEST_CASE("paths are joined with one slash") {
  CHECK(join_path("a", "b") == "a/b");
  CHECK(join_path("a/", "b") == "a/b");
  CHECK(join_path("", "b") == "b");
  CHECK(join_path("a", "/b") == "/b");
}

TEST_CASE("what lies within a folder is told by where links lead") {
  const TempFolder folder;
  std::filesystem::create_directories(folder / "run/sub");
  std::filesystem::create_directories(folder / "running");
  std::filesystem::create_symlink(folder / "running", folder / "run/out");
  std::filesystem::create_symlink(folder / "nothing", folder / "run/dangling");
  std::filesystem::create_symlink(folder / "run", folder / "link");
  const std::string run = folder / "run";
  for (const char* inside : {"run/a", "run/sub/a", "run/none/yet/a", "run/sub/../a", "link/a", "running/../run/a"})
    CHECK(lies_within(folder / inside, run));
  for (const char* outside : {"a", "running/a", "run/../a", "run/out/a", "run/dangling", "run/none/../../a"})
    CHECK_FALSE(lies_within(folder / outside, run));
  CHECK(lies_within(folder / "run/a", folder / "link"));
  CHECK_FALSE(lies_within(folder / "gone/a", folder / "gone"));
}
