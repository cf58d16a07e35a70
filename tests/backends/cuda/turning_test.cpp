// The kernel that turns filters around, run by threads of the host in place of a GPU's; and which gradients of data are
// a convolution of such filters. Needs no GPU.
#include <barrier>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>

#include "backends/cuda/compile.h"
#include "backends/cuda/source.h"
#include "backends/cuda/turned.h"
#include "backends/graph/ops.h"
#include "tests/backends/indices.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr int kThreads = cuda::kThreads, kSquare = cuda::kSquare;
struct Lane {
  unsigned x = 0;
};
thread_local Lane threadIdx, blockIdx;
std::barrier<> block_of_threads(kThreads);

#define __global__
#define __shared__ static
#define __launch_bounds__(threads)
#define __syncthreads() block_of_threads.arrive_and_wait()
#include "backends/cuda/turn.cuh"
#undef __global__
#undef __shared__
#undef __launch_bounds__
#undef __syncthreads

constexpr size_t kBeyond = 5000;  // elements after the array, which must stay as they are
constexpr float kUntouched = -0.5f;

// What the kernel makes of filters in f32, one block after the other.
std::vector<float> turned_by_kernel(const Tensor& w) {
  const Shape& shape = w.shape();
  const int maps = int(shape[0]), channels = int(shape.back()), places = int(shape.elements()) / maps / channels;
  std::vector<float> out(size_t(shape.elements()) + kBeyond, kUntouched);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      threadIdx.x = unsigned(t);
      for (int64_t block = 0; block < cuda::turning_blocks(shape); ++block) {
        blockIdx.x = unsigned(block);
        kernel(w.as<float>().data(), out.data(), maps, places, channels);
        block_of_threads.arrive_and_wait();
      }
    });
  threads.clear();
  return out;
}

// Of a graph of one node.
Lowered lowered_case(const OpCase& c, DType dtype) {
  Graph graph;
  build_case(graph, c, dtype);
  return lower(graph, cuda::gpu_lowering(false, false));
}

bool is_turnable(const OpCase& c, DType dtype) {
  const Lowered lowered = lowered_case(c, dtype);
  return lowered.kernels.size() == 1 && cuda::is_turnable(lowered.kernels[0], lowered.graph);
}

}  // namespace

TEST_CASE("filters are turned around: maps and channels change places, and each axis of places is in reverse") {
  for (const Shape& shape : {Shape{5, 3, 3, 7}, Shape{33, 2, 4, 65}, Shape{64, 1, 2, 32}, Shape{1, 5, 5, 1},
                             Shape{40, 4, 3, 31}, Shape{3, 2, 3, 1, 34}}) {
    INFO(shape.to_string());
    Tensor w(DType::f32, shape);
    for (int64_t i = 0; i < w.elements(); ++i) w.set(i, double(i));
    const std::vector<float> got = turned_by_kernel(w);
    const int last = shape.rank() - 1;
    const Shape turned = shape.with(0, shape[last]).with(last, shape[0]);
    each_index(turned, [&](const Index& at) {
      Index from = at;
      std::swap(from.front(), from.back());
      for (int axis = 1; axis < last; ++axis) from[size_t(axis)] = shape[axis] - 1 - at[size_t(axis)];
      REQUIRE(got[size_t(flat(turned, at))] == float(flat(shape, from)));
    });
    CHECK(std::count(got.end() - long(kBeyond), got.end(), kUntouched) == long(kBeyond));
  }
}

TEST_CASE("the kernel that turns filters around compiles") {
  setenv("NEON_CACHE_DIR", "/dev/null", 1);
  for (int arch : {NEON_CUDA_ARCH})
    CHECK(cuda::compile_sources({cuda::turning_text()}, arch).at(0).substr(1, 3) == "ELF");
}

TEST_CASE("a gradient of data is a convolution of what it is given by the filters turned around") {
  int turnable = 0;
  for (const OpCase& c : cases_of(*find_op("convolution_data_gradient"))) {
    if (!is_turnable(c, DType::f32)) continue;
    INFO(c.to_string());
    ++turnable;
    const Lowered lowered = lowered_case(c, DType::f64);
    Graph graph;
    const LoweredKernel forward = cuda::turned_forward(lowered.kernels.at(0), lowered.graph, graph);
    CHECK(forward.is(ops::convolution));
    graph.output("x", forward.outputs.at(0));
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, {.plain = true});
    const CaseRun expected = run_case(c, DType::f64, DType::f32, {.plain = true});
    const std::vector<float> numbers = turned_by_kernel(case_data(c, 1, DType::f32, DType::f32));
    Tensor w(DType::f64, graph.shape(forward.inputs.at(1)));
    for (int64_t i = 0; i < w.elements(); ++i) w.set(i, double(numbers[size_t(i)]));
    for (size_t i : {0, 1})
      program->bind(graph.producer(forward.inputs[i]).attributes.string("name"),
                    i ? w.data() : expected.inputs[0].data());
    program->run(0);
    const Tensor x = program->output("x");
    REQUIRE(x.shape() == expected.outputs[0].shape());
    for (int64_t i = 0; i < x.elements(); ++i) REQUIRE(close(x.at(i), expected.outputs[0].at(i)));
  }
  CHECK(turnable >= 15);
}

TEST_CASE("gradients of data that are no such convolution, or are in other types, stay as they are") {
  const std::map<std::string, bool> expected = {{"3x3", true},
                                                {"dilated", true},
                                                {"padding on one side", true},
                                                {"padded in full, unequal filters", true},
                                                {"as many outputs, even filters", true},
                                                {"volumes", true},
                                                {"odd sizes, strides", false},
                                                {"two groups", false},
                                                {"depthwise", false},
                                                {"padding above the filter", false},
                                                {"1x1", false},
                                                {"64 samples, 1x1", false},
                                                {"no samples", false}};
  size_t found = 0;
  for (const OpCase& c : cases_of(*find_op("convolution_data_gradient"))) {
    INFO(c.to_string());
    for (DType dtype : {DType::f16, DType::bf16, DType::f64}) CHECK_FALSE(is_turnable(c, dtype));
    const auto known = expected.find(c.name);
    if (known == expected.end()) continue;
    ++found;
    CHECK(is_turnable(c, DType::f32) == known->second);
  }
  CHECK(found == expected.size());
  for (const char* op : {"convolution", "convolution_weight_gradient"})
    for (const OpCase& c : cases_of(*find_op(op))) CHECK_FALSE(is_turnable(c, DType::f32));
}
