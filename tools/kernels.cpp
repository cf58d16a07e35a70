// Speed of single kernels on a GPU, for BENCHMARKS.md: large matrix products, a chain over three arrays, rows and
// columns made normal, columns added up. Run beside a peer's figures for the same on the same machine.
//   tools/kernels [N [WHAT]]     N: side of the matrices (8192); WHAT: only those whose name holds it, "gemm tf32"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backends/device/device.h"
#include "backends/graph/expression.h"
#include "neon/core/error.h"
#include "neon/core/random.h"

using namespace neon;

namespace {

std::string only;  // of the kernels' names, a part: others are not run

bool wanted(const std::string& name) { return name.find(only) != std::string::npos; }

// Normal numbers, as the peer's: what is multiplied decides how much power that takes, and so how fast it is. Pieces of
// one table that begin anywhere in it, so that no two rows of a matrix are alike.
void fill(Tensor& array, const std::string& name) {
  constexpr int64_t kTable = 1 << 22, kPiece = 1 << 12;
  Tensor table(array.dtype(), {kTable + kPiece});
  Stream normal(1, name), places(2, name);
  for (int64_t i = 0; i < table.elements(); ++i) table.set(i, normal.normal());
  const size_t bytes = size_of(array.dtype());
  auto* to = static_cast<std::byte*>(array.data());
  for (int64_t i = 0; i < array.elements(); i += kPiece)
    std::memcpy(to + size_t(i) * bytes, static_cast<std::byte*>(table.data()) + size_t(places.below(kTable)) * bytes,
                size_t(std::min(kPiece, array.elements() - i)) * bytes);
}

// Seconds of a run of a graph whose arrays are variables. As few runs as the peer's, since a GPU that is hot runs
// slower. `tick` is a small result to wait for.
double seconds(Graph& graph, bool tf32 = false) {
  Expr tick(graph, graph.scalar("tick"));
  graph.output("tick", reshape(tick + 1.0, {1}));
  Variables variables;
  const auto program = compile_program(graph, variables, {.gpu = true, .timed = true, .tf32 = tf32});
  for (const auto& [name, tensor] : variables.all()) fill(variables.at(name), name);
  variables.to_device();
  auto runs = [&](int count) {
    for (int i = 0; i < count; ++i) program->run(uint64_t(i));
    program->recorded("tick");
  };
  constexpr int kRuns = 10;  // one launch
  runs(kRuns);               // the launch is recorded
  const auto before = std::chrono::steady_clock::now();
  runs(kRuns);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count() / kRuns;
}

void product(int64_t n, DType dtype, bool tf32) {
  const std::string name = text("gemm ", tf32 ? "tf32" : name_of(dtype));
  if (!wanted(name)) return;
  Graph graph;
  const Value a = graph.variable("a", dtype, {n, n}), b = graph.variable("b", dtype, {n, n});
  graph.output("c", matmul(graph, a, b));
  const double s = seconds(graph, tf32);
  std::printf("%s %lld: %.1f TFLOP/s\n", name.c_str(), (long long)n, 2e-12 * double(n) * double(n) * double(n) / s);
}

// Of the graph's run, unless it is not wanted: `bytes` read and written by the time it takes.
void report(const std::string& what, DType dtype, double bytes, Graph& graph) {
  const std::string name = text(what, " ", name_of(dtype));
  if (wanted(name)) std::printf("%s: %.2f TB/s\n", name.c_str(), bytes / seconds(graph) * 1e-12);
}

void chain(DType dtype) {
  const int64_t n = (int64_t(256) << 20) / int64_t(size_of(dtype));
  Graph graph;
  Expr a(graph, graph.variable("a", dtype, {n})), b(graph, graph.variable("b", dtype, {n})),
      c(graph, graph.variable("c", dtype, {n}));
  graph.output("y", apply("relu", (a + b) * c));
  report("chain of 3 reads and 1 write", dtype, 4 * double(n) * double(size_of(dtype)), graph);
}

// Arrays (n, inner...) of 256 MiB.
Expr array(Graph& graph, DType dtype, const Shape& inner) {
  const int64_t n = (int64_t(256) << 20) / int64_t(size_of(dtype)) / inner.elements();
  return {graph, graph.variable("x", dtype, Shape{n}.concat(inner))};
}

// Along an axis: rows along the last.
void normal(DType dtype, const Shape& inner, int axis) {
  Graph graph;
  const Expr x = array(graph, dtype, inner);
  const Expr wide = cast(x, DType::f32), centred = wide - mean(wide, {axis});
  graph.output("y", cast(centred / sqrt(mean(square(centred), {axis}) + 1e-5), dtype));
  const std::string what = inner.rank() == 1 ? text("rows of ", inner[0]) : text("columns in stacks of ", inner);
  report("mean, variance, normal " + what, dtype, 2 * double(x.shape().elements()) * double(size_of(dtype)), graph);
}

void sums(DType dtype, const Shape& inner, int axis) {
  Graph graph;
  const Expr x = array(graph, dtype, inner);
  graph.output("y", sum(cast(x, DType::f32), {axis}));
  const std::string what = inner.rank() == 1 ? text(inner[0], " columns") : text("columns in stacks of ", inner);
  report("sums of " + what, dtype, double(x.shape().elements()) * double(size_of(dtype)), graph);
}

}  // namespace

int main(int argc, char** argv) try {
  const int64_t n = argc > 1 ? std::atoll(argv[1]) : 8192;
  if (argc > 2) only = argv[2];
  product(n, DType::f32, false);
  product(n, DType::f32, true);
  product(n, DType::f16, false);
  product(n, DType::bf16, false);
  for (DType dtype : {DType::f32, DType::f16}) {
    chain(dtype);
    for (int64_t width : {256, 1024, 4096, 16384}) normal(dtype, {width}, 1);
    for (int64_t width : {64, 1000}) sums(dtype, {width}, 0);
    for (const Shape& stack : {Shape{64, 128}, Shape{1024, 64}, Shape{16384, 16}})
      normal(dtype, stack, 1), sums(dtype, stack, 1);
  }
} catch (const Error& error) {
  std::fprintf(stderr, "kernels: %s\n", error.what());
  return 1;
}
