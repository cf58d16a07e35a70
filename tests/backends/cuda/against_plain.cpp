#include "tests/backends/cuda/against_plain.h"

#include <catch2/catch.hpp>

#include "backends/device/device.h"
#include "tests/backends/run_case.h"

namespace neon::test {

namespace {

std::map<std::string, Tensor> results(const Graph& graph, const DeviceOptions& options) {
  Variables variables;
  const auto program = compile_program(graph, variables, options);
  std::map<std::string, Tensor> data, out;
  for (Value leaf : graph.leaves(LeafKind::variable))
    variables.at(graph.producer(leaf).attributes.string("name")).copy_from(join_data(graph, leaf));
  variables.to_device();
  for (Value leaf : graph.leaves(LeafKind::input)) {
    const std::string& name = graph.producer(leaf).attributes.string("name");
    program->bind(name, (data[name] = join_data(graph, leaf)).data());
  }
  for (uint64_t step : {0, 1}) program->run(step);  // the second finds the arena as the first left it
  for (const auto& [name, value] : graph.outputs()) out[name] = program->output(name).clone();
  variables.to_host();
  for (const auto& [name, tensor] : variables.all()) out["variable " + name] = tensor.clone();
  return out;
}

}  // namespace

void check_against_plain(const std::string& name, const std::function<void(Graph&, DType)>& build,
                         const std::vector<DType>& types, bool tf32) {
  for (DType dtype : types)
    for (bool timed : {false, true}) {
      if (timed && dtype != DType::f16) continue;
      INFO(name << " in " << std::string(name_of(dtype)) << (timed ? ", timed" : ""));
      const Graph graph = build_branches(build, dtype);
      const auto expected = results(graph, {.program = {.plain = true}});
      // Sums of whole numbers, at most halved twice: what is off by less is an algorithm's own rounding.
      for (const auto& [output, y] : results(graph, {.gpu = true, .timed = timed, .tf32 = tf32})) {
        INFO(output);
        CHECK(difference(y, expected.at(output), 0.01) == "");
      }
    }
}

}  // namespace neon::test
