// Cases shared among processes: with NEON_TEST_PART=I/N every Nth from the Ith on (I = 1 .. N), otherwise all. A test
// that takes a part has the tag [parts], by which tools/gpu_tests knows it.
#pragma once
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace neon::test {

template <typename Case>
std::vector<Case> part_of(std::vector<Case> all) {
  int part = 1, parts = 1;
  if (const char* given = std::getenv("NEON_TEST_PART"))
    REQUIRE((std::sscanf(given, "%d/%d", &part, &parts) == 2 && part >= 1 && part <= parts));
  std::vector<Case> out;
  for (size_t i = size_t(part) - 1; i < all.size(); i += size_t(parts)) out.push_back(std::move(all[i]));
  return out;
}

}  // namespace neon::test
