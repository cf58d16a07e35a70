// Convolutions in pieces of the batch, on the GPU, against the plain kernels: pieces as small as there are, so that
// small batches have several, whose last is smaller.
#include <catch2/catch.hpp>

#include "backends/graph/expression.h"
#include "tests/backends/cuda/part.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr int64_t kImages = 19;  // pieces begin at every image, or at every second, fourth or eighth
const std::string kPieces = "cudnn pieces";

DeviceOptions in_pieces(bool timed) {
  DeviceOptions options{.gpu = true, .timed = timed, .piece_bytes = 1};
  options.program.fuse = false;  // the node as it is
  return options;
}

// Cases of convolutions, their batch as large as that.
std::vector<OpCase> cases() {
  std::vector<OpCase> out;
  for (OpCase c : all_cases()) {
    if (!c.op.starts_with("convolution") || c.inputs[0].shape.elements() == 0) continue;
    const int64_t batch = c.inputs[0].shape[0];
    const bool of_filters = c.op == "convolution_weight_gradient";
    if (of_filters) c.length = c.length / batch * kImages;
    for (size_t i = 0; i <= size_t(of_filters); ++i) c.inputs[i].shape = c.inputs[i].shape.with(0, kImages);
    out.push_back(std::move(c));
  }
  return out;
}

// Returns what did it.
std::string check(const OpCase& c, DType dtype, bool timed) {
  INFO(c.to_string() << " in " << std::string(name_of(dtype)) << (timed ? ", timed" : ""));
  const CaseRun run = run_case(c, dtype, dtype, in_pieces(timed));
  // Twice, as of all kernels on the GPU; and a gradient of filters is rounded once for each piece.
  const double roundings = c.op == "convolution_weight_gradient" && size_of(dtype) == 2 ? double(kImages) : 1;
  CHECK(difference_to_plain(c, dtype, run, false, 2 * roundings) == "");
  return run.implementations.back();
}

Attributes same_size() {
  const std::vector<int64_t> ones = {1, 1}, padding = {1, 1, 1, 1};
  return {{"strides", ones}, {"padding", padding}, {"dilation", ones}, {"groups", int64_t(1)}};
}

// Whole numbers from -3 to 3, many of them 0: no sum here is above 132 in size, so that none is rounded in bf16.
void fill(Tensor& to, int64_t salt) {
  for (int64_t i = 0; i < to.elements(); ++i)
    to.set(i, (i * 13 + i / 3 + salt) % 11 < 4 ? double((i * i * 7 + i / 5 * 3 + i / 11 + salt * 5) % 7 - 3) : 0);
}

}  // namespace

TEST_CASE("convolutions in pieces of the batch", "[parts]") {
  int pieces = 0, all = 0;
  for (const OpCase& c : part_of(cases()))
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) ++all, pieces += check(c, dtype, false) == kPieces;
  CHECK(2 * pieces > all);  // not those that cuDNN has no engine for
}

TEST_CASE("convolutions in pieces of the batch that the clock chose algorithms for") {
  int pieces = 0;
  for (const OpCase& c : cases())
    if (c.name == "images" || c.name == "3x3")
      for (const DType dtype : {DType::f32, DType::f16}) pieces += check(c, dtype, true) == kPieces;
  CHECK(pieces >= 8);  // of 12: a gradient of data may be cuDNN's of filters turned around
}

// Its result is there from the run before, which the gradient of filters must not add to.
TEST_CASE("a convolution in pieces with bias and relu, and a gradient of filters, again and again") {
  const Shape image = {kImages, 7, 6, 16}, filters = {8, 3, 3, 16}, result = {kImages, 7, 6, 8};
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    INFO(std::string(name_of(dtype)));
    Graph graph;
    const Value x = graph.input("x", dtype, image), w = graph.input("w", dtype, filters),
                g = graph.input("g", dtype, result), bias = graph.variable("bias", dtype, {8});
    const Expr sums(graph, graph.add("convolution", {x, w}, same_size()));
    graph.output("y", apply("relu", sums + Expr(graph, bias)));
    const std::vector<int64_t> sizes = {3, 3};
    graph.output("dw", graph.add("convolution_weight_gradient", {x, g}, same_size().with("sizes", sizes)));
    Variables on_plain, on_gpu;
    const auto plain = compile_for_cpu(graph, on_plain, {.plain = true});
    const auto gpu = compile_program(graph, on_gpu, {.gpu = true, .piece_bytes = 1});
    CHECK(std::ranges::count(gpu->implementations(), kPieces) == 2);
    if (size_of(dtype) == 2) CHECK(gpu->implementations().size() == 2);
    for (Variables* variables : {&on_plain, &on_gpu}) fill(variables->at("bias"), 1);
    on_gpu.to_device();
    std::map<std::string, Tensor> data;
    for (const auto& [name, shape] : {std::pair{"x", image}, {"w", filters}, {"g", result}})
      fill(data.emplace(name, Tensor(dtype, shape)).first->second, int64_t(data.size()));
    for (Program* program : {plain.get(), gpu.get()}) {
      for (auto& [name, tensor] : data) program->bind(name, tensor.data());
      for (uint64_t step = 0; step < 3; ++step) program->run(step);
    }
    // Winograd's sums of whole numbers are not whole.
    for (const char* name : {"y", "dw"}) CHECK(difference(gpu->output(name), plain->output(name), 0.1) == "");
  }
}
