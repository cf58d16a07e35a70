// The one oneDNN engine and stream of the process, made on first use.
#pragma once
#include <oneapi/dnnl/dnnl.hpp>

namespace neon::cpu {

// For what is made now. Throws a memory error where there is no room for it: oneDNN crashes where it finds none.
dnnl::engine& onednn_engine();
dnnl::stream& onednn_stream();
// Throws what oneDNN reports.
void onednn_check(dnnl_status_t status);

}  // namespace neon::cpu
