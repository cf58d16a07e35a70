// Speed of products of two matrices on the CPU: f64's, f32's, bf16's, and those of their signs, with the time that
// turning numbers into bits takes.
//   tools/products [N [THREADS]]     N: side of the matrices (4096); THREADS: all
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "backends/graph/expression.h"
#include "backends/graph/sign_product.h"
#include "backends/program.h"
#include "neon/core/random.h"
#include "neon/core/threads.h"

using namespace neon;

namespace {

// The least seconds of a run; the median depends on what else the machine does.
double seconds(Graph& graph, int threads) {
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.threads = threads});
  for (const auto& [name, tensor] : variables.all()) {
    Stream normal(1, name);
    Tensor& to = variables.at(name);
    for (int64_t i = 0; i < to.elements(); ++i) to.set(i, normal.normal());
  }
  variables.to_device();
  double least = 1e9;
  for (int i = 0; i < 6; ++i) {
    const auto before = std::chrono::steady_clock::now();
    program->run(uint64_t(i));
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
  }
  return least;
}

void print(const char* name, int64_t n, double took) {
  std::printf("%-6s %8.2f ms  %7.0f G multiplications and additions/s\n", name, took * 1e3,
              2e-9 * double(n) * double(n) * double(n) / took);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t n = argc > 1 ? std::atoll(argv[1]) : 4096;
  const int threads = argc > 2 ? std::atoi(argv[2]) : available_threads();
  if (n < 1 || threads < 1) return std::fprintf(stderr, "usage: products [N [THREADS]]\n"), 2;
  std::printf("%lld x %lld, threads: %d\n", static_cast<long long>(n), static_cast<long long>(n), threads);
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    Graph graph;
    const Value a = graph.variable("a", dtype, {n, n}), b = graph.variable("b", dtype, {n, n});
    graph.output("y", matmul(graph, a, b, false, true));
    print(std::string(name_of(dtype)).c_str(), n, seconds(graph, threads));
  }
  Graph graph;
  const Value a = graph.variable("a", DType::f32, {n, n}), b = graph.variable("b", DType::f32, {n, n});
  graph.output("y", sign_product(graph, a, b));
  print("signs", n, seconds(graph, threads));
}
