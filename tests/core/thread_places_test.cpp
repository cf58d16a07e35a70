#include "neon/core/thread_places.h"

#include <omp.h>
#include <sched.h>

#include <catch2/catch.hpp>

#include "neon/core/threads.h"

using namespace neon;

namespace {

cpu_set_t mask() {
  cpu_set_t out;
  REQUIRE(sched_getaffinity(0, sizeof out, &out) == 0);
  return out;
}

cpu_set_t only_first_of(const cpu_set_t& all) {
  cpu_set_t out;
  CPU_ZERO(&out);
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &all)) {
      CPU_SET(i, &out);
      break;
    }
  return out;
}

void give_both(const cpu_set_t& mask) {
#pragma omp parallel num_threads(2)
  sched_setaffinity(0, sizeof mask, &mask);
}

bool share_one() {
  int places[2] = {};
#pragma omp parallel num_threads(2)
  places[omp_get_thread_num()] = sched_getcpu();
  return places[0] == places[1];
}

}  // namespace

TEST_CASE("threads that share a processor are parted, and stay free") {
  if (available_threads() < 2) return;
  const cpu_set_t all = mask(), first = only_first_of(all);
  bool parted = false;
  // The system may part them first, or put them together again at once.
  for (int i = 0; i < 100 && !parted; ++i) {
    give_both(first);
    give_both(all);
    parted = part_threads(2) == 1 && !share_one();
  }
  CHECK(parted);
  const cpu_set_t after = mask();
  CHECK(CPU_EQUAL(&after, &all));
}

TEST_CASE("threads that are bound to one processor, and those apart, are left there") {
  const cpu_set_t all = mask(), first = only_first_of(all);
  give_both(first);
  CHECK(part_threads(2) == 0);
  CHECK(share_one());
  give_both(all);
  CHECK(part_threads(1) == 0);
}
