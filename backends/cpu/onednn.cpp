#include "backends/cpu/onednn.h"

#include "neon/core/error.h"

namespace neon::cpu {

dnnl::engine& onednn_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
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

}  // namespace neon::cpu
