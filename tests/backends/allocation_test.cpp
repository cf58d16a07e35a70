// A step allocates nothing: calls of operator new are counted while steps run. What oneDNN allocates within a
// primitive (a table of its arguments) is told apart.
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>

#include "tests/backends/nets.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> made{0}, made_by_onednn{0};
std::atomic<bool> in_onednn{false};  // in any thread: while a primitive runs, others only work for it

void count() {
  if (counting) ++(in_onednn ? made_by_onednn : made);
}
void* counted(size_t bytes) {
  count();
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void* counted(size_t bytes, std::align_val_t alignment) {
  count();
  const size_t step = size_t(alignment), whole = (bytes + step - 1) / step * step;
  if (void* memory = std::aligned_alloc(step, whole ? whole : step)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t bytes) { return counted(bytes); }
void* operator new[](size_t bytes) { return counted(bytes); }
void* operator new(size_t bytes, std::align_val_t alignment) { return counted(bytes, alignment); }
void* operator new[](size_t bytes, std::align_val_t alignment) { return counted(bytes, alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

// Stands before the library's.
extern "C" dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                                                const dnnl_exec_arg_t* arguments) {
  static const auto real =
      reinterpret_cast<decltype(&dnnl_primitive_execute)>(dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
  in_onednn = true;
  const dnnl_status_t status = real(primitive, stream, count, arguments);
  in_onednn = false;
  return status;
}

using namespace neon;
using namespace neon::test;

namespace {

long allocations(const Net& net, int steps) {
  Variables variables;
  const auto program = net.compile(variables);
  program->run(0);
  made = made_by_onednn = 0;
  counting = true;
  for (int step = 1; step <= steps; ++step) {
    program->set_scalar("step", step);
    program->run(uint64_t(step));
  }
  counting = false;
  return made;
}

}  // namespace

TEST_CASE("the counter counts") {
  made = 0;
  counting = true;
  int* volatile number = new int(3);
  counting = false;
  CHECK(made == 1);
  delete number;
}

TEST_CASE("a hundred steps allocate nothing") {
  CHECK(allocations(mnist_small(), 100) == 0);
  CHECK(allocations(mnist_adam(), 100) == 0);
  CHECK(allocations(three_layers(), 100) == 0);
  CHECK(allocations(three_layers(DType::bf16), 100) == 0);
  CHECK(allocations(three_layers(DType::f16), 100) == 0);
  CHECK(allocations(images(), 20) == 0);
  CHECK(allocations(images(DType::bf16, 3), 20) == 0);
  CHECK(allocations(images(DType::f16), 20) == 0);
  CHECK(made_by_onednn > 0);
  CHECK(allocations(three_layers(DType::f64), 100) == 0);
  CHECK(allocations(images(DType::f64, 2), 20) == 0);
  CHECK(made_by_onednn == 0);
}
