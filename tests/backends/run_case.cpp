#include "tests/backends/run_case.h"

#include <cmath>
#include <cstring>

namespace neon::test {

CaseRun run_case(const OpCase& c, DType dtype, DType rounded, const CpuOptions& options) {
  return run_case(c, dtype, rounded, DeviceOptions{.cpu = options});
}

CaseRun run_case(const OpCase& c, DType dtype, DType rounded, const DeviceOptions& options) {
  Graph graph;
  const size_t count = build_case(graph, c, dtype).size();
  Variables variables;
  const auto program = compile_program(graph, variables, options);
  CaseRun run;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    run.inputs.push_back(case_data(c, i, dtype, rounded));
    const std::string name = text("in", i);
    if (variables.has(name)) {
      Tensor& to = variables.at(name);
      for (int64_t k = 0; k < to.elements(); ++k) to.set(k, run.inputs[i].at(k));
    } else {
      program->bind(name, run.inputs[i].data());
    }
  }
  variables.to_device();
  program->set_scalar("number", 0.375);
  program->run(3);
  for (size_t i = 0; i < count; ++i) run.outputs.push_back(program->output(text("out", i)).clone());
  run.implementations = program->implementations();
  return run;
}

double allowed_error(DType dtype, double y, double magnitude, int64_t n, int stores) {
  const double u = unit_roundoff(dtype), v = unit_roundoff(compute_type(dtype));
  return 2 * stores * u * std::abs(y) + double(n + 16) * v * std::max(magnitude, std::abs(y));
}

std::string difference(const Tensor& got, const Tensor& expected, const std::vector<double>& allowed) {
  if (got.shape() != expected.shape()) return text("shape ", got.shape(), " instead of ", expected.shape());
  for (int64_t i = 0; i < got.elements(); ++i) {
    const double a = got.at(i), b = expected.at(i);
    if ((std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= allowed[size_t(i)]) continue;
    return text("element ", i, " of ", got.shape(), " is ", number(a), " instead of ", number(b), ", off by ",
                number(a - b), " where ", number(allowed[size_t(i)]), " is allowed");
  }
  return "";
}

std::string difference(const Tensor& got, const Tensor& expected, double allowed) {
  return difference(got, expected, std::vector<double>(size_t(got.elements()), allowed));
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

}  // namespace neon::test
