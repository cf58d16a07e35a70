// Batch norms that multiply rows themselves, on the GPU, against loops in f64.
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/device/device.h"
#include "neon/core/error.h"
#include "tests/backends/cuda/row_product_cases.h"

using namespace neon;
using namespace neon::test;

namespace {

// Rounding decides whether a gradient passes a relu whose argument is nearly 0.
constexpr double kMostOff = 2e-3;  // share of elements

// The root of the mean square of what is off, over that of what is expected, and the share of elements that are off by
// a tenth of the latter.
std::pair<double, double> error_of(const Tensor& got, const std::vector<double>& wanted) {
  double off = 0, all = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double difference = got.at(int64_t(i)) - wanted[i];
    off += difference * difference, all += wanted[i] * wanted[i];
  }
  const double usual = std::sqrt(all / double(wanted.size()));
  size_t far = 0;
  for (size_t i = 0; i < wanted.size(); ++i) far += !(std::abs(got.at(int64_t(i)) - wanted[i]) < usual / 10);
  return {std::sqrt(off / all), double(far) / double(wanted.size())};
}

}  // namespace

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
