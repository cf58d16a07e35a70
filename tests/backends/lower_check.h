// Small graphs whose results are known, run fused, kernel by kernel and plain.
#pragma once
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/graph/expression.h"
#include "backends/program.h"

namespace neon::test {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline Tensor array(const Shape& shape, const std::vector<double>& values, DType dtype = DType::f32) {
  Tensor out(dtype, shape);
  for (int64_t i = 0; i < out.elements(); ++i) out.set(i, values[size_t(i) % values.size()]);
  return out;
}

inline std::vector<double> numbers(const Tensor& x) {
  std::vector<double> out;
  for (int64_t i = 0; i < x.elements(); ++i) out.push_back(x.at(i));
  return out;
}

// A graph run fused, kernel by kernel, and plain: all must give what is expected.
class Check {
 public:
  Graph graph;
  std::map<std::string, Tensor> inputs, variables;
  std::map<std::string, double> scalars;

  Expr input(const std::string& name, Tensor data) {
    const Value value = graph.input(name, data.dtype(), data.shape());
    inputs[name] = std::move(data);
    return {graph, value};
  }
  Expr variable(const std::string& name, Tensor data) {
    const Value value = graph.variable(name, data.dtype(), data.shape());
    variables[name] = std::move(data);
    return {graph, value};
  }
  // Outputs and variables after the run, by name.
  std::map<std::string, std::vector<double>> run(const ProgramOptions& options, uint64_t step = 0) {
    Variables store;
    const auto program = compile_for_cpu(graph, store, options);
    for (const auto& [name, data] : variables)
      if (store.has(name)) std::memcpy(store.at(name).data(), data.data(), data.bytes());
    for (const auto& [name, data] : inputs) program->bind(name, data.data());
    for (const auto& [name, value] : scalars) program->set_scalar(name, value);
    program->run(step);
    std::map<std::string, std::vector<double>> out;
    for (const auto& [name, value] : graph.outputs()) out[name] = numbers(program->output(name));
    for (const auto& [name, tensor] : store.all()) out[name] = numbers(tensor);
    return out;
  }
  void expect(const std::string& name, const std::vector<double>& values) { expected_[name] = values; }
  void agree() {
    for (const ProgramOptions& options :
         {ProgramOptions{.threads = 2}, ProgramOptions{.threads = 2, .fuse = false}, ProgramOptions{.plain = true}}) {
      INFO((options.plain ? "plain" : options.fuse ? "fused" : "kernel by kernel"));
      auto got = run(options);
      for (const auto& [name, values] : expected_) {
        INFO(name);
        REQUIRE(got[name].size() == values.size());
        for (size_t i = 0; i < values.size(); ++i)
          if (std::isnan(values[i])) CHECK(std::isnan(got[name][i]));
          else CHECK(got[name][i] == Approx(values[i]).epsilon(1e-6).margin(1e-12));
      }
    }
  }

 private:
  std::map<std::string, std::vector<double>> expected_;
};

}  // namespace neon::test
