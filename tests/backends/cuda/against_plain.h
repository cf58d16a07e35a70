// Graphs on the GPU against the plain kernels, on data whose sums are exact.
#pragma once
#include "tests/backends/net_of_branches.h"

namespace neon::test {

// What build_branches() makes, in all these types; in f16 also with algorithms that the clock chose.
void check_against_plain(const std::string& name, const std::function<void(Graph&, DType)>& build,
                         const std::vector<DType>& types = {DType::f32, DType::f16, DType::bf16, DType::f64},
                         bool tf32 = false);

}  // namespace neon::test
