#include "tests/support/allocations.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>

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

void neon_test::start_counting() {
  made = made_by_onednn = 0;
  counting = true;
}

neon_test::Allocations neon_test::stop_counting() {
  counting = false;
  return {made, made_by_onednn};
}

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
