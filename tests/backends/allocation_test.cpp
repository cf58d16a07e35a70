// A step of a program allocates nothing.
#include <catch2/catch.hpp>

#include "tests/backends/nets.h"
#include "tests/support/allocations.h"

using namespace neon;
using namespace neon::test;
using neon_test::Allocations;

namespace {

Allocations allocations(const Net& net, int steps) {
  Variables variables;
  const auto program = net.compile(variables);
  program->run(0);
  return neon_test::allocations_of([&] {
    for (int step = 1; step <= steps; ++step) {
      program->set_scalar("update", step);
      program->run(uint64_t(step));
    }
  });
}

}  // namespace

TEST_CASE("the counter counts") {
  int* volatile number = nullptr;
  const Allocations seen = neon_test::allocations_of([&] { number = new int(3); });
  CHECK(seen.ours == 1);
  delete number;
}

TEST_CASE("a hundred steps allocate nothing") {
  CHECK(allocations(mnist_small(), 100).ours == 0);
  CHECK(allocations(mnist_adam(), 100).ours == 0);
  CHECK(allocations(three_layers(), 100).ours == 0);
  CHECK(allocations(three_layers(DType::bf16), 100).ours == 0);
  CHECK(allocations(three_layers(DType::f16), 100).ours == 0);
  CHECK(allocations(images(), 20).ours == 0);
  CHECK(allocations(images(DType::bf16, 3), 20).ours == 0);
  const Allocations last = allocations(images(DType::f16), 20);
  CHECK(last.ours == 0);
  CHECK(last.of_onednn > 0);
  CHECK(allocations(three_layers(DType::f64), 100).ours == 0);
  const Allocations without = allocations(images(DType::f64, 2), 20);
  CHECK(without.ours == 0);
  CHECK(without.of_onednn == 0);
}
