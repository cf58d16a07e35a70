// What patches are made of is computed as they read it, on a device that asks for it.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/backends/net_of_branches.h"
#include "tests/backends/prologue_cases.h"
#include "tests/backends/read_too_early.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("patches make what they see of what lies at its place, where nobody else reads that") {
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const PrologueCase& c : prologue_cases()) {
      const Graph graph = build_branches(c.build, dtype);
      const Lowered taken = lower(graph, {.passes = kUsualPasses | LowerPass::deep_inputs | LowerPass::prologues});
      const Lowered apart = lower(graph, {.passes = kUsualPasses | LowerPass::deep_inputs});
      INFO(c.name << " in " << std::string(name_of(dtype)) << "\n" << to_string(taken));
      CHECK(apart.kernels.size() - taken.kernels.size() == (c.taken ? 1 : 0));
      CHECK(std::ranges::count_if(taken.kernels, [](const LoweredKernel& k) { return k.prologue() != nullptr; }) ==
            (c.taken ? 1 : 0));
      CHECK(read_too_early(taken) == -1);
      for (const LoweredKernel& kernel : taken.kernels) {
        if (!kernel.prologue()) continue;
        // It reads what it is given and constants, and the images have no memory.
        for (Value input : kernel.inputs) CHECK(taken.storage[size_t(input.id)]);
        CHECK(!taken.storage[size_t(kernel.prologue()->segments[0].stores[0].value.id)]);
      }
    }
}
