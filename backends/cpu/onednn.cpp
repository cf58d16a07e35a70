#include "backends/cpu/onednn.h"

#include <sys/mman.h>

#include "backends/cpu/onednn_part.h"
#include "backends/elementwise/kernels.h"
#include "neon/core/error.h"

namespace neon::cpu {

namespace {

// The library must choose its kernels for the level, too: a level is forced to see what an older machine would do. At
// v4, our highest, it may use what goes beyond it (AMX, bf16).
void keep_to_level() {
  const std::string_view level = elementwise::active_level().name;
  if (level == "v4") return;
  const dnnl::status status = dnnl::set_max_cpu_isa(level == "v3" ? dnnl::cpu_isa::avx2 : dnnl::cpu_isa::sse41);
  if (status != dnnl::status::success)
    fail(ErrorKind::failed, "oneDNN cannot be held to x86-64-", level, " (status ", int(status),
         "); is it built with DNNL_ENABLE_MAX_CPU_ISA?");
}

// More than a primitive takes while it is made: its code, and what it writes down of itself.
constexpr size_t kRoom = size_t(32) << 20;

void ask_for_room() {
  void* const room = mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    fail(ErrorKind::memory, "no memory to make a step's kernels: less than ", bytes_text(double(kRoom)),
         " may still be taken; is there a limit (ulimit -v)?");
  munmap(room, kRoom);
}

}  // namespace

dnnl::engine& onednn_engine() {
  ask_for_room();
  static dnnl::engine engine = [] {
    keep_to_level();
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

dnnl::stream& onednn_stream() {
  static dnnl::stream stream(onednn_engine());
  return stream;
}

void onednn_check(dnnl_status_t status) {
  if (status == dnnl_success) return;
  if (status == dnnl_out_of_memory) fail(ErrorKind::memory, "oneDNN found no memory for a primitive");
  fail(ErrorKind::failed, "oneDNN could not run a primitive (status ", int(status), ")");
}

namespace {

const PartRegistration<OnednnPart> onednn_part({make_onednn_matmul, make_onednn_batch_matmul, make_onednn_convolution},
                                               NEON_MODULE_VERSION);

}  // namespace

}  // namespace neon::cpu
