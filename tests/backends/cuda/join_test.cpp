// Kernels that write into a concatenation on the GPU.
#include <catch2/catch.hpp>

#include "backends/device/device.h"
#include "tests/backends/join_cases.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

std::map<std::string, Tensor> results(const Graph& graph, const DeviceOptions& options) {
  Variables variables;
  const auto program = compile_program(graph, variables, options);
  std::map<std::string, Tensor> data, out;
  for (Value leaf : graph.leaves("variable"))
    variables.at(graph.producer(leaf).attributes.string("name")).copy_from(join_data(graph, leaf));
  variables.to_device();
  for (Value leaf : graph.leaves("input")) {
    const std::string& name = graph.producer(leaf).attributes.string("name");
    program->bind(name, (data[name] = join_data(graph, leaf)).data());
  }
  for (uint64_t step : {0, 1}) program->run(step);  // the second finds the arena as the first left it
  for (const auto& [name, value] : graph.outputs()) out[name] = program->output(name).clone();
  variables.to_host();
  for (const auto& [name, tensor] : variables.all()) out["variable " + name] = tensor.clone();
  return out;
}

void check_against_plain(const std::string& name, const std::function<void(Graph&, DType)>& build) {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64})
    for (bool timed : {false, true}) {
      if (timed && dtype != DType::f16) continue;
      INFO(name << " in " << std::string(name_of(dtype)) << (timed ? ", timed" : ""));
      const Graph graph = build_branches(build, dtype);
      const auto expected = results(graph, {.cpu = {.plain = true}});
      // Sums of whole numbers, at most halved twice: what is off by less is an algorithm's own rounding.
      for (const auto& [output, y] : results(graph, {.gpu = true, .timed = timed})) {
        INFO(output);
        CHECK(difference(y, expected.at(output), 0.01) == "");
      }
    }
}

}  // namespace

TEST_CASE("concatenations are written piece by piece on the GPU") {
  for (const JoinCase& c : join_cases()) check_against_plain(c.name, c.build);
}

TEST_CASE("convolutions of single pixels write into a concatenation on the GPU as products") {
  for (const PixelCase& c : pixel_cases()) {
    check_against_plain(c.name, c.build);
    for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      Variables variables;
      const auto program = compile_program(build_branches(c.build, dtype), variables, {.gpu = true});
      const Lowered& lowered = program->lowered();
      int written = 0;
      for (size_t k = 0; k < lowered.kernels.size(); ++k) {
        const LoweredKernel& kernel = lowered.kernels[k];
        if (!kernel.op.starts_with("convolution") || !lowered.placements[size_t(kernel.outputs[0].id)]) continue;
        CHECK(program->implementations()[k] == "cublaslt");
        ++written;
      }
      CHECK(written == c.written);
    }
  }
}

TEST_CASE("gradients of convolutions of one input are made together on the GPU") {
  for (const SiblingCase& c : sibling_cases()) check_against_plain(c.name, c.build);
}
