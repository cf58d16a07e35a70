// What the driver gives is given back, to the GPU that it is of: with a driver that only pretends (fake_cuda.cpp) and
// has two GPUs of 24 MiB.
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <optional>
#include <thread>

#include "neon/array/array.h"

using namespace neon;

namespace {

long count_of(const char* function) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  REQUIRE(driver);
  const auto count = reinterpret_cast<long (*)()>(dlsym(driver, function));
  REQUIRE(count);
  return count();
}

Backend on_gpu(int index) { return Backend({.device = "gpu", .device_index = index}); }

void work(const Backend& be) {
  Array x = be.ones({30, 40});
  x += be.uniform({30, 40});
  x.get();
}

}  // namespace

TEST_CASE("two GPUs take turns, and each gets back what is its own") {
  std::optional<Backend> first = on_gpu(0), second = on_gpu(1);
  work(*first), work(*second);  // streams and the like stay
  std::optional<Array> a = first->ones({1000}), b = second->ones({1000});
  for (int i = 0; i < 3; ++i) {
    *a += 1, *b += 1;
    a->get(), b->get();
  }
  a.reset(), first.reset();  // while the other is in use
  *b += 1;
  b->get();
  b.reset(), second.reset();
  CHECK(count_of("fake_cuda_refused") == 0);
}

TEST_CASE("a thread that has never used the GPU gives back to it, too") {
  std::optional<Backend> be = on_gpu(0);
  const long before = count_of("fake_cuda_given");
  work(*be);
  std::optional<Array> array = be->ones({1000});
  CHECK(count_of("fake_cuda_given") > before);
  std::jthread([&] { array.reset(), be.reset(); }).join();
  CHECK(count_of("fake_cuda_refused") == 0);
  CHECK(count_of("fake_cuda_given") == before);
}

TEST_CASE("a program that there is no room for leaves nothing behind") {
  const Backend be = on_gpu(0);
  const Array a = be.ones({512, 512}, DType::f16);
  const auto once = [&] { CHECK_THROWS_WITH(Array(dot(a, a)), Catch::Contains("no room on the GPU")); };
  once();
  const long before = count_of("fake_cuda_given");
  for (int i = 0; i < 10; ++i) once();
  CHECK(count_of("fake_cuda_given") == before);
}

TEST_CASE("programs that are kept make room for others, and for arrays") {
  Backend be = on_gpu(0);
  const auto work_in = [&](int64_t n) {  // 4 n^2 bytes, between two kernels
    const Array x = be.ones({n, 1}), y = be.ones({1, n});
    const Array sums = sum(tanh(dot(x, y)), 1);
    CHECK(be.last_kernels() == 2);
  };
  for (int64_t n = 1000; n < 1012; ++n) work_in(n);
  const Array large = be.empty({20 << 20}, DType::u8);
  CHECK(count_of("fake_cuda_refused") == 0);
}

TEST_CASE("what programs share is as much as those that are kept need") {
  Backend be({.device = "gpu", .program_bytes = 0});  // the one used last alone
  Array small = be.ones({3});
  {
    const Array x = be.ones({2000, 1}), y = be.ones({1, 2000});
    const Array sums = sum(tanh(dot(x, y)), 1);  // 15 of 24 MiB between two kernels
    CHECK(be.last_kernels() == 2);
  }
  CHECK_THROWS_WITH(on_gpu(0).empty({20 << 20}, DType::u8), Catch::Contains("no room on the GPU"));
  small += 1;
  on_gpu(0).empty({20 << 20}, DType::u8);
  CHECK(count_of("fake_cuda_refused") == 0);
}

TEST_CASE("a large program that goes makes room at once, also where there is none for what is left beside it") {
  const auto work_in = [](Backend& be, int64_t n) {  // 4 n^2 bytes, between two kernels
    const Array x = be.ones({n, 1}), y = be.ones({1, n});
    const Array sums = sum(tanh(dot(x, y)), 1);
  };
  Backend first = on_gpu(0), second = on_gpu(0);
  work_in(first, 1150);  // 5 of 24 MiB
  work_in(second, 2000);
  const Array held = second.empty({5 << 20}, DType::u8);
  const Array large = second.empty({10 << 20}, DType::u8);
  work_in(first, 1150);
  CHECK(count_of("fake_cuda_refused") == 0);
}
