// Sums of a batch norm that kernels of convolutions make on the GPU, against the plain kernels in f64.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/backends/cuda/against_plain.h"
#include "tests/backends/cuda/part.h"
#include "tests/backends/cuda/result_folds_cases.h"

using namespace neon;
using namespace neon::test;

namespace {

std::map<std::string, Tensor> outputs_of(const ResultFoldsCase& c, DType dtype, const DeviceOptions& options) {
  const Graph graph = result_folds(c, dtype);
  Variables variables;
  const auto program = compile_program(graph, variables, options);
  for (Value leaf : graph.leaves(LeafKind::variable)) {
    const std::string& name = graph.producer(leaf).attributes.string("name");
    Tensor numbers = join_data(graph, leaf);
    for (int64_t i = 0; name == "bias" && i < numbers.elements(); ++i) numbers.set(i, numbers.at(i) * c.bias);
    variables.at(name).copy_from(numbers);
  }
  variables.to_device();
  std::map<std::string, Tensor> out;
  for (uint64_t step : {0, 1}) program->run(step);  // the second finds the arena as the first left it
  for (const auto& [name, value] : graph.outputs()) out[name] = program->output(name).clone();
  return out;
}

}  // namespace

TEST_CASE("convolutions fold their results for a batch norm, on the GPU", "[parts]") {
  for (const ResultFoldsCase& c : part_of(result_folds_cases())) {
    const auto wanted = outputs_of(c, DType::f64, {.program = {.plain = true}});
    for (const DType dtype : {DType::f16, DType::bf16})
      for (const bool timed : {false, true}) {
        if (c.bias != 0 && dtype == DType::bf16) continue;  // whose whole numbers end at 256
        INFO(c.name << " in " << std::string(name_of(dtype)) << (timed ? ", timed" : ""));
        const Graph graph = result_folds(c, dtype);
        Variables variables;
        const auto program = compile_program(graph, variables, {.gpu = true, .timed = timed});
        const auto& kernels = program->lowered().kernels;
        const auto folding = std::ranges::find_if(kernels, [](const LoweredKernel& k) { return k.folds() != nullptr; });
        REQUIRE(folding != kernels.end());
        CHECK(program->implementations()[size_t(folding - kernels.begin())] == "tiles");
        const auto got = outputs_of(c, dtype, {.gpu = true, .timed = timed});
        for (const char* name : {"mean", "variance", "y"}) {
          INFO(name);
          const auto [error, far] = error_of(got.at(name), numbers_of(wanted.at(name)));
          CHECK(error < (name[0] == 'y' ? 2 * unit_roundoff(dtype) : 1e-5));
          CHECK(far == 0);
        }
      }
  }
}
