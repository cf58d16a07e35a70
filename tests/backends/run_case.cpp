#include "tests/backends/run_case.h"

#include <cmath>
#include <cstring>

namespace neon::test {

CaseRun run_case(const OpCase& c, DType dtype, DType rounded, const ProgramOptions& options) {
  return run_case(c, dtype, rounded, DeviceOptions{.program = options});
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
      variables.at(name).copy_from(run.inputs[i]);
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

namespace {

// Sizes of what is added up for each result: the plain kernels on absolute values, for the ops that add.
std::vector<Tensor> magnitudes(const OpCase& c, const CaseRun& reference) {
  const bool adds = c.op.ends_with("matmul") || c.op == "sum" || c.op == "scatter_add" ||
                    c.op.starts_with("convolution") || c.op.ends_with("_max_gradient") || c.op.starts_with("pool_avg");
  if (!adds) return {};
  Graph graph;
  build_case(graph, c, DType::f64);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.plain = true});
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const std::string name = text("in", i);
    Tensor& to = variables.has(name) ? variables.at(name) : inputs.emplace_back(reference.inputs[i].clone());
    Tensor sizes = reference.inputs[i].converted(DType::f64);
    for (double& size : sizes.as<double>()) size = std::abs(size);
    to.copy_from(sizes);
    if (!variables.has(name)) program->bind(name, to.data());
  }
  program->run(3);
  return {program->output("out0").clone()};
}

}  // namespace

PlainRun run_plain(const OpCase& c, DType rounded) {
  CaseRun reference = run_case(c, DType::f64, rounded, ProgramOptions{.plain = true});
  std::vector<Tensor> sizes = magnitudes(c, reference);
  return {std::move(reference), std::move(sizes)};
}

std::string difference_to_plain(const OpCase& c, DType dtype, const CaseRun& got, bool fused, double times) {
  return difference_to_plain(c, dtype, got, run_plain(c, dtype), fused, times);
}

std::string difference_to_plain(const OpCase& c, DType dtype, const CaseRun& got, const PlainRun& plain, bool fused,
                                double times) {
  const std::vector<Tensor>& sizes = plain.magnitudes;
  const int stores = std::max(c.stores, fused ? int(got.implementations.size()) : 8);
  for (size_t i = 0; i < got.outputs.size(); ++i) {
    const DType type = got.outputs[i].dtype(), stored = stores > 1 || !is_floating(type) ? dtype : type;
    const bool exact = !is_floating(type) || c.op == "argmax";
    const Tensor y = plain.run.outputs[i].converted(DType::f64),
                 expected = y.converted(type);  // as the type can hold it
    std::vector<double> allowed;
    for (double value : y.as<double>()) {
      const double size = sizes.empty() ? std::max(1.0, std::abs(value)) : sizes[i].at(int64_t(allowed.size()));
      const double most = allowed_error(stored, stores > 1 ? size : value, size, c.length, stores);
      allowed.push_back(exact ? 0 : times * most);
    }
    if (const std::string line = difference(got.outputs[i], expected, allowed); !line.empty())
      return text("output ", i, ": ", line);
  }
  return "";
}

double difference_over_largest(const Tensor& got, const Tensor& expected) {
  double most = 0, largest = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    const double off = std::abs(got.at(i) - expected.at(i));
    most = off <= most ? most : off;  // NaN is kept
    largest = std::max(largest, std::abs(expected.at(i)));
  }
  return most / largest;
}

double allowed_error(DType dtype, double y, double magnitude, int64_t n, int stores) {
  const double u = unit_roundoff(dtype), v = unit_roundoff(compute_type(dtype));
  return 2 * stores * u * std::abs(y) + double(n + 16) * v * std::max(magnitude, std::abs(y));
}

std::string difference(const Tensor& got, const Tensor& expected, const std::vector<double>& allowed) {
  if (got.shape() != expected.shape()) return text("shape ", got.shape(), " instead of ", expected.shape());
  const Tensor numbers = got.converted(DType::f64), meant = expected.converted(DType::f64);
  const auto given = numbers.as<double>(), wanted = meant.as<double>();
  for (size_t i = 0; i < given.size(); ++i) {
    const double a = given[i], b = wanted[i];
    if ((std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= allowed[i]) continue;
    return text("element ", i, " of ", got.shape(), " is ", number(a), " instead of ", number(b), ", off by ",
                number(a - b), " where ", number(allowed[i]), " is allowed");
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
