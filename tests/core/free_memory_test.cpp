#include "neon/core/free_memory.h"

#include <sys/sysinfo.h>

#include <catch2/catch.hpp>

using namespace neon;

TEST_CASE("some of the machine's memory is free") {
  struct sysinfo info {};
  REQUIRE(sysinfo(&info) == 0);
  const double all = double(info.totalram) * info.mem_unit;
  CHECK(free_memory() > double(16 << 20));
  CHECK(free_memory() <= all);
}
