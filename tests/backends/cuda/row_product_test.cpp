// Batch norms that multiply rows themselves, on the GPU, against loops in f64.
#include <catch2/catch.hpp>

#include "backends/device/device.h"
#include "neon/core/error.h"
#include "tests/backends/cuda/against_plain.h"
#include "tests/backends/cuda/row_product_cases.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("batch norm of a product that its kernel makes, and its gradients, on the GPU", "[parts]") {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const RowProductCase& c : row_product_cases()) {
      INFO(c.channels << " of " << c.inner << " channels in " << std::string(name_of(dtype)));
      const Graph graph = build(c, dtype);
      Variables variables;
      const auto program = compile_program(graph, variables, {.gpu = true});
      for (const auto& [name, tensor] : variables.all())
        for (Value leaf : graph.leaves(LeafKind::variable))
          if (graph.producer(leaf).attributes.string("name") == name)
            variables.at(name).copy_from(numbers_of(graph, leaf));
      variables.to_device();
      for (uint64_t step : {0, 1}) program->run(step);
      const auto wanted = expected(c, graph);
      for (const auto& [name, value] : graph.outputs()) {
        INFO(name);
        const auto [error, far] = error_of(program->output(name), wanted.at(name));
        const double coarser = unit_roundoff(dtype) / unit_roundoff(DType::f16);
        CHECK(error < 0.0125 * coarser);
        CHECK(far < kMostOff * coarser * coarser);
      }
    }
}
