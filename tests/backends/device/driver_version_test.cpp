// The driver's version, from what it says in /proc.
#include <catch2/catch.hpp>

#include "backends/device/cuda_libraries.h"
#include "tests/support/temp_folder.h"

namespace neon {

namespace {

// As the driver would say it.
std::string found_in(const std::string& words) {
  const TempFolder folder;
  put_file(folder / "version", words);
  return driver_version(folder / "version");
}

}  // namespace

TEST_CASE("the driver's version is found in its own words, of either kind of module") {
  CHECK(found_in("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (root@host)  Thu "
                 "Jan 23 22:50:36 UTC 2025\nGCC version:  gcc version 12.2.0\n") == "570.86.15");
  CHECK(found_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104  Sat Aug 19 01:15:15 UTC 2023\n") ==
        "535.104");
  CHECK(found_in("") == "");
  CHECK(found_in("another driver\nGCC version 12.2.0\n") == "");
  CHECK(driver_version("/nowhere/version") == "");
}

}  // namespace neon
