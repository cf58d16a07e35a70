// Runs a random graph in all ways that must agree, over several steps, and compares what each leaves behind.
#include <cmath>
#include <cstring>
#include <exception>

#include "backends/graph/lower.h"
#include "tests/backends/random_graph.h"
#include "tests/backends/run_case.h"

namespace neon::test {

namespace {

// What is left behind by each step of a program: outputs and variables, by name.
using Trace = std::vector<std::map<std::string, Tensor>>;

constexpr int kSteps = 3;

Trace trace(const RandomGraph& made, const ProgramOptions& options) {
  Variables variables;
  const auto program = compile_for_cpu(made.graph, variables, options);
  for (const auto& [name, data] : made.variables)
    if (variables.has(name) && data.bytes()) std::memcpy(variables.at(name).data(), data.data(), data.bytes());
  for (const auto& [name, data] : made.inputs) program->bind(name, data.data());
  Trace out;
  for (int step = 0; step < kSteps; ++step) {
    program->set_scalar("gate", step == 1 ? 0 : 1);
    program->run(uint64_t(step));
    std::map<std::string, Tensor> now;
    for (const auto& [name, value] : made.graph.outputs()) now["output " + name] = program->output(name).clone();
    for (const auto& [name, tensor] : variables.all()) now["variable " + name] = tensor.clone();
    out.push_back(std::move(now));
  }
  return out;
}

// `tolerance` is of the largest number in an array, and at least of 1; 0: the same bits.
std::string compare(const Trace& got, const Trace& expected, double tolerance) {
  for (int step = 0; step < kSteps; ++step)
    for (const auto& [name, y] : expected[size_t(step)]) {
      const Tensor& x = got[size_t(step)].at(name);
      std::string problem;
      if (tolerance > 0) {
        double size = 1;
        for (int64_t i = 0; i < y.elements(); ++i) size = std::max(size, std::abs(y.at(i)));
        problem = difference(x, y, tolerance * size);
      } else if (!same_bits(x, y)) {
        problem = "other bits";
      }
      if (!problem.empty()) return text(name, " after step ", step, ": ", problem);
    }
  return "";
}

// One type's graph in all ways; what is wrong, if anything is. Bits must not depend on threads where every sum is
// made by loops of our own.
std::string check_all_ways(const RandomGraph& made, double tolerance, bool own_loops) {
  const Trace plain = trace(made, {.plain = true}), fused = trace(made, {.threads = 1});
  auto against = [](const char* what, const Trace& got, const Trace& expected, double tolerance) {
    const std::string found = compare(got, expected, tolerance);
    return found.empty() ? found : text(what, ": ", found);
  };
  std::string problem = against("fused against plain", fused, plain, tolerance);
  if (problem.empty())
    problem = against("single kernels", trace(made, {.threads = 2, .fuse = false}), plain, tolerance);
  if (problem.empty())
    problem = against("stored", trace(made, {.threads = 2, .without = LowerPass::remake}), plain, tolerance);
  if (problem.empty())
    problem = against("columns", trace(made, {.threads = 2, .also = LowerPass::columns}), plain, tolerance);
  if (problem.empty())
    problem = against("joined", trace(made, {.threads = 2, .also = LowerPass::join}), plain, tolerance);
  if (problem.empty()) problem = against("the same again", trace(made, {.threads = 1}), fused, 0);
  for (int threads : {2, 3})
    if (problem.empty() && own_loops) problem = against("more threads", trace(made, {.threads = threads}), fused, 0);
  return problem;
}

std::string lowered_text(const Graph& graph) {
  try {
    return to_string(lower(graph));
  } catch (const std::exception& error) {
    return text("not lowered: ", error.what());
  }
}

}  // namespace

std::string check_random_graph(uint64_t seed) {
  // Rounding errors grow along a chain of some thirty nodes, over three steps, by well under a thousand.
  const double f64 = 1e-12, f32 = 1e-4;
  const std::pair<RandomGraphOptions, double> types[] = {
      {{DType::f64, true, true}, f64}, {{DType::f32, false, false}, f32}, {{DType::f32, false, true}, f32}};
  for (const auto& [options, tolerance] : types) {
    const RandomGraph made = random_graph(seed, options);
    std::string problem;
    try {
      problem = check_all_ways(made, tolerance, options.dtype == DType::f64 || !options.products);
    } catch (const std::exception& error) {
      problem = error.what();
    }
    if (!problem.empty())
      return text("seed ", seed, " in ", options.dtype, ": ", problem, "\n", made.graph.to_string(),
                  lowered_text(made.graph));
  }
  return "";
}

}  // namespace neon::test
