// Depthwise convolutions behind batch norm: which kernels compute their image and fold its gradient, and their texts.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/cuda/op_source.h"
#include "tests/backends/cuda/quick_compile.h"
#include "tests/backends/net_of_branches.h"
#include "tests/backends/normed_depthwise_cases.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("depthwise convolutions that compute their images and fold the gradients by them compile") {
  std::vector<std::string> sources;
  std::map<std::string, int> scalars;
  for (DType dtype : {DType::f16, DType::bf16, DType::f32})
    for (const NormedDepthwiseCase& c : normed_depthwise_cases()) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      const Lowered lowered = lower(build_branches(c.build, dtype), cuda::gpu_lowering(true, false));
      cuda::SourceContext context{lowered, scalars, {}, 0, {}, {}};
      int64_t computed = 0, folds = 0;
      for (const LoweredKernel& kernel : lowered.kernels) {
        if (!kernel.prologue()) continue;
        ++computed, folds += kernel.folds() != nullptr;
        sources.push_back(cuda::op_source(kernel, context).text);
      }
      CHECK(computed == c.forward + c.gradients);
      CHECK(folds == c.both * c.folds);
    }
  for (int arch : {NEON_CUDA_ARCH}) CHECK(compile_error(sources, arch) == "");
}
