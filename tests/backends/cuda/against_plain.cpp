#include "tests/backends/cuda/against_plain.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/backends/run_case.h"

namespace neon::test {

std::map<std::string, Tensor> results_of(const Graph& graph, const DeviceOptions& options) {
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

std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> out;
  for (int64_t i = 0; i < tensor.elements(); ++i) out.push_back(tensor.at(i));
  return out;
}

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

void check_against_plain(const std::string& name, const std::function<void(Graph&, DType)>& build,
                         const std::vector<DType>& types, bool tf32) {
  for (DType dtype : types)
    for (bool timed : {false, true}) {
      if (timed && dtype != DType::f16) continue;
      INFO(name << " in " << std::string(name_of(dtype)) << (timed ? ", timed" : ""));
      const Graph graph = build_branches(build, dtype);
      const auto expected = results_of(graph, {.program = {.plain = true}});
      // Sums of whole numbers, at most halved twice: what is off by less is an algorithm's own rounding.
      for (const auto& [output, y] : results_of(graph, {.gpu = true, .timed = timed, .tf32 = tf32})) {
        INFO(output);
        CHECK(difference(y, expected.at(output), 0.01) == "");
      }
    }
}

}  // namespace neon::test
