// Recurrent cells on the GPU: one kernel for all steps, and one for all steps of the gradient, against the plain
// kernels in f64; the same bits in each run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/device/device.h"
#include "neon/core/random.h"
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

double root_mean_square_error(const Tensor& x, const Tensor& exact) {
  double sum = 0;
  for (int64_t i = 0; i < x.elements(); ++i) sum += std::pow(x.at(i) - exact.at(i), 2);
  return std::sqrt(sum / double(x.elements()));
}

}  // namespace

TEST_CASE("recurrent cells are a kernel each on the GPU, and their gradients", "[parts][cells]") {
  for (const CellGraphCase& c : part_of(cell_graph_cases())) {
    const Graph exact = cell_graph(c, DType::f64);
    Variables none;
    const auto plain = compile_program(exact, none, {.program = {.plain = true}});
    const auto expected = results(*plain, cell_data(c, exact), 1);
    for (const auto& [dtype, tf32] : std::vector<std::pair<DType, bool>>{
             {DType::f32, false}, {DType::f32, true}, {DType::f16, false}, {DType::bf16, false}}) {
      INFO(c.name << " in " << (tf32 ? "TF32" : text(dtype)));
      const Graph graph = cell_graph(c, dtype);
      Variables variables;
      const auto program = compile_program(graph, variables, {.gpu = true, .tf32 = tf32});
      int cells = 0;
      for (const LoweredKernel& kernel : program->lowered().kernels)
        cells += kernel.op && (kernel.op->name == c.cell || kernel.op->name == c.cell + "_grad");
      CHECK(cells == 2);
      const auto data = cell_data(c, graph);
      const auto got = results(*program, data, 1);
      for (const auto& [name, y] : got) {
        INFO(name);
        // A state is rounded after each step, and what a step rounds shrinks as it is passed on; in f32 the roundings
        // of hundreds of terms and of the functions are added. TF32 has 10 bits behind the first, as f16.
        const double bound =
            tf32 ? 8 * unit_roundoff(DType::f16) : (dtype == DType::f32 ? 64 : 8) * unit_roundoff(dtype);
        CHECK(difference_over_largest(y, expected.at(name)) < bound);
      }
      for (const auto& [name, y] : results(*program, data, 20)) {
        INFO(name << " again");
        CHECK(same_bits(y, got.at(name)));
      }
    }
  }
}

// Tensor cores take f32 as the sum of two numbers, which hold 23 of its 24 bits.
TEST_CASE("cells in f32 are as exact on tensor cores as on a CPU", "[cells]") {
  for (const char* cell : {"lstm", "gru", "recurrent"}) {
    INFO(cell);
    const CellGraphCase c{"numbers of all bits", cell, 64, 6, 512};
    const Graph exact = cell_graph(c, DType::f64), graph = cell_graph(c, DType::f32);
    std::map<std::string, Tensor> data, wide;
    for (const Value leaf : graph.leaves(LeafKind::input)) {
      const std::string& name = graph.producer(leaf).attributes.string("name");
      Tensor& of_f32 = data.emplace(name, Tensor(DType::f32, graph.shape(leaf))).first->second;
      Tensor& of_f64 = wide.emplace(name, Tensor(DType::f64, graph.shape(leaf))).first->second;
      Stream stream(11, cell + name);
      for (int64_t i = 0; i < of_f32.elements(); ++i) {
        of_f32.set(i, (stream.uniform() * 2 - 1) * (name == "w" ? 0.04 : 1));
        of_f64.set(i, of_f32.at(i));
      }
    }
    Variables none, of_cpu, of_gpu;
    const auto plain = compile_program(exact, none, {.program = {.plain = true}}),
               cpu = compile_program(graph, of_cpu, {}), gpu = compile_program(graph, of_gpu, {.gpu = true});
    const auto expected = results(*plain, wide, 1), of_one = results(*cpu, data, 1), of_other = results(*gpu, data, 1);
    for (const auto& [name, y] : expected) {
      INFO(name);
      CHECK(root_mean_square_error(of_other.at(name), y) < 2 * root_mean_square_error(of_one.at(name), y));
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
