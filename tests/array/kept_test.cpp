// What a backend keeps for later: programs of the forms that it has seen, and memory that arrays gave back.
#include <cstdlib>

#include "neon/array/node.h"
#include "support.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("a form is compiled once, for all arrays and numbers") {
  Backend be = make_backend();
  auto step = [&](const Array& p, const Array& q, double rate) { return Array(p - rate * (q + 1)); };
  const Array a = be.ones({30, 4}), b = be.ones({30, 4}), c = be.full({30, 4}, 3);
  CHECK(step(a, b, 0.5).get().at(0) == 0);
  const int64_t before = be.programs_compiled();
  CHECK(step(a, c, 0.25).get().at(7) == 0);
  CHECK(step(c, a, 0.125).get().at(7) == 2.75);
  for (int i = 2; i < 10; ++i) step(be.ones({30, 4}), be.ones({30, 4}), i);
  CHECK(be.programs_compiled() == before);
  // Where the two are one array, it is another program, and where a shape or type differs.
  CHECK(step(c, c, 0.5).get().at(0) == 1);
  CHECK(be.programs_compiled() == before + 1);
  step(be.ones({30, 4}, DType::f16), c, 0.5);
  CHECK(be.programs_compiled() == before + 3);  // and one that fills the array
}

TEST_CASE("programs are kept as long as what their values take is within bounds") {
  BackendOptions options{.program_bytes = 1100000};
  if (const char* device = std::getenv("NEON_TEST_DEVICE")) options.device = device;
  Backend be(options);
  // The product of n x n numbers lies between two kernels.
  const auto compiled = [&](int64_t n) {
    const Array x = be.array(numbers({n, 2}, DType::f64));
    const int64_t before = be.programs_compiled();
    const Array sums = sum(tanh(dot(x, x.T())), 1);
    CHECK(be.last_kernels() == 2);
    return be.programs_compiled() - before;
  };
  for (int64_t n : {200, 210, 220}) CHECK(compiled(n) == 1);  // 320,000, 352,800 and 387,200 bytes
  for (int64_t n : {200, 210, 220}) CHECK(compiled(n) == 0);
  CHECK(compiled(150) == 1);  // takes the place of the one of 200, which was not used for the longest time
  for (int64_t n : {220, 210, 150}) CHECK(compiled(n) == 0);
  CHECK(compiled(200) == 1);
  for (int i = 0; i < 2; ++i) CHECK(compiled(400) == 1 - i);  // 1,280,000 bytes, but used last
  CHECK(compiled(200) == 1);
  CHECK(compiled(400) == 1);
}

TEST_CASE("memory is kept for the next array of its size, whatever was kept before") {
  const DeviceOptions cpu = device_of({});
  const auto pool = std::make_shared<MemoryPool>(cpu);
  const auto is_kept = [&](size_t bytes) {
    const DeviceMemory* const given_back = MemoryPool::take(pool, bytes).get();
    const auto another = make_memory(bytes, cpu);  // which would have its address now
    return MemoryPool::take(pool, bytes).get() == given_back;
  };
  CHECK(is_kept(4096));
  CHECK(is_kept((size_t(1) << 30) - 4096));
  CHECK(is_kept(8192));
  CHECK(is_kept(4096));
  CHECK_FALSE(is_kept((size_t(1) << 30) + 64));
}
