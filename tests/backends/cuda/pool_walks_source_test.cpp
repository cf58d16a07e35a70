// Kernels of max pooling's gradient that finish what another kernel made of it write no more numbers than there are.
#include <catch2/catch.hpp>
#include <regex>

#include "backends/cuda/op_source.h"
#include "backends/graph/expression.h"
#include "tests/backends/cuda/quick_compile.h"

using namespace neon;
using namespace neon::test;

namespace {

// Batch norm's gradient of the gradient of 3x3 pooling, with numbers of channels and a single one beside it.
Graph finished_gradient(const Shape& x) {
  Graph graph;
  const int64_t channels = x.back();
  const Shape small{x[0], x[1] / 2, x[2] / 2, channels};
  const Attributes pooling = {{"window", std::vector<int64_t>{3, 3, 1}},
                              {"strides", std::vector<int64_t>{2, 2, 1}},
                              {"padding", std::vector<int64_t>{1, 1, 1, 1, 0, 0}},
                              {"sizes", std::vector<int64_t>{x[1], x[2], channels}}};
  const Value y = graph.variable("y", DType::f16, small), where = graph.variable("where", DType::u8, small);
  const Expr given = cast(Expr(graph, graph.add("pool_max_gradient", {y, where}, pooling)), DType::f32);
  const Expr seen = cast(Expr(graph, graph.variable("x", DType::f16, x)), DType::f32);
  const Expr offset = sum(given, {0, 1, 2}), slope = sum(given * seen, {0, 1, 2});
  const Expr scale = Expr(graph, graph.variable("scale", DType::f32, {1, 1, 1, 1})) * 2 + 1;
  graph.output("scale", scale);
  graph.output("half", slope * 0.5);
  graph.output("dx", cast((given - offset - seen * slope) * scale, DType::f16));
  return graph;
}

}  // namespace

TEST_CASE("what is beside a finished gradient of pooling, of channels and single, has as many numbers as are written") {
  for (const int64_t channels : {3, 64}) {
    const Lowered lowered = lower(finished_gradient({9, 32, 34, channels}), cuda::gpu_lowering(true, false));
    INFO(to_string(lowered));
    REQUIRE(lowered.kernels.size() == 2);
    REQUIRE(lowered.kernels[1].finish());
    std::map<std::string, int> scalars;
    cuda::SourceContext context{lowered, scalars, {}, 0, {}, {}};
    const cuda::Source source = cuda::op_source(lowered.kernels[1], context);
    // put<float, R>(p1, PLACE, …): PLACE is c + j of an array of channels, 0 of one number.
    const std::regex put("put<float, R>\\(p([0-9]+), ([^,]+),");
    std::map<std::string, int64_t> elements;
    const std::string text = source.text.substr(source.text.rfind("__global__"));
    for (std::sregex_iterator at(text.begin(), text.end(), put), end; at != end; ++at)
      elements[(*at)[2]] = lowered.graph.shape(source.arrays.at(size_t(std::stoi((*at)[1])))).elements();
    CHECK(elements == std::map<std::string, int64_t>{{"0", 1}, {"c + j", channels}});
    for (const int arch : {NEON_CUDA_ARCH}) CHECK(compile_error({source.text}, arch, Code::machine) == "");
  }
}
