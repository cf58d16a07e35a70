// Recurrent cells on the GPU: one kernel for all steps, and one for all steps of the gradient, against the plain
// kernels in f64; the same bits in each run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/device/device.h"
#include "tests/backends/cell_graph.h"
#include "tests/backends/cuda/part.h"
#include "tests/backends/recurrent_cases.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

std::map<std::string, Tensor> results(Program& program, const std::map<std::string, Tensor>& data, int runs) {
  for (const auto& [name, tensor] : data) program.bind(name, tensor.data());
  for (int run = 0; run < runs; ++run) program.run(uint64_t(run));
  std::map<std::string, Tensor> out;
  for (const auto& [name, value] : program.lowered().graph.outputs()) out[name] = program.output(name).clone();
  return out;
}

}  // namespace

TEST_CASE("recurrent cells are a kernel each on the GPU, and their gradients", "[parts][cells]") {
  for (const CellGraphCase& c : part_of(cell_graph_cases())) {
    const Graph exact = cell_graph(c, DType::f64);
    Variables none;
    const auto plain = compile_program(exact, none, {.program = {.plain = true}});
    const auto expected = results(*plain, cell_data(c, exact), 1);
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      INFO(c.name << " in " << text(dtype));
      const Graph graph = cell_graph(c, dtype);
      Variables variables;
      const auto program = compile_program(graph, variables, {.gpu = true});
      int cells = 0;
      for (const LoweredKernel& kernel : program->lowered().kernels)
        cells += kernel.op && (kernel.op->name == c.cell || kernel.op->name == c.cell + "_grad");
      CHECK(cells == 2);
      const auto data = cell_data(c, graph);
      const auto got = results(*program, data, 1);
      for (const auto& [name, y] : got) {
        INFO(name);
        // A state is rounded after each step, and what a step rounds shrinks as it is passed on; in f32 the roundings
        // of hundreds of terms and of the functions are added.
        CHECK(difference_over_largest(y, expected.at(name)) < (dtype == DType::f32 ? 64 : 8) * unit_roundoff(dtype));
      }
      for (const auto& [name, y] : results(*program, data, 20)) {
        INFO(name << " again");
        CHECK(same_bits(y, got.at(name)));
      }
    }
  }
}

TEST_CASE("op cases of recurrent cells are one kernel each", "[parts][cells]") {
  std::vector<OpCase> cases;
  for (const char* op : {"lstm", "lstm_grad", "gru", "gru_grad", "recurrent", "recurrent_grad"})
    for (OpCase& c : recurrent_cases(op)) cases.push_back(std::move(c));
  for (const OpCase& c : part_of(cases))
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      INFO(c.to_string() << " in " << text(dtype));
      const CaseRun gpu = run_case(c, dtype, dtype, DeviceOptions{.gpu = true});
      CHECK(difference_to_plain(c, dtype, gpu, true, 2) == "");
      CHECK(gpu.implementations == std::vector<std::string>{"own"});
    }
}
