// What a step asks of CUDA: one launch, no memory, no waiting. The driver's functions of these names stand in this
// program, where the GPU module finds them before the driver's own; they count, and call those. They are all that the
// module calls but what asks about the GPU, finds kernels or opens and ends contexts, frees events and graphs, and
// cuEventQuery, which waits for nothing.
#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "backends/graph/expression.h"
#include "tests/backends/nets.h"

namespace {

std::mutex calls_mutex;  // threads record launches before a program's first run
std::map<std::string, int> calls;
std::map<CUevent, unsigned> flags_of;  // of the events made
int busy_waits = 0;                    // for events without CU_EVENT_BLOCKING_SYNC
size_t nodes_of_graph = 0;             // of the last that was made ready for launching

template <typename Function>
Function driver(const char* name, Function) {
  {
    const std::lock_guard lock(calls_mutex);
    ++calls[name];
  }
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

#define NEON_TEXT_OF(name) #name
#define NEON_COUNTED(name, parameters, arguments)                                      \
  extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI name parameters { \
    return driver(NEON_TEXT_OF(name), &name) arguments;                                \
  }
NEON_COUNTED(cuStreamBeginCapture, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
NEON_COUNTED(cuStreamEndCapture, (CUstream stream, CUgraph* out), (stream, out))
NEON_COUNTED(cuGraphLaunch, (CUgraphExec graph, CUstream stream), (graph, stream))
NEON_COUNTED(cuGraphExecDestroy, (CUgraphExec graph), (graph))
NEON_COUNTED(cuModuleLoadData, (CUmodule * out, const void* image), (out, image))
NEON_COUNTED(cuModuleUnload, (CUmodule module), (module))
NEON_COUNTED(cuLaunchKernel,
             (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
              unsigned shared, CUstream stream, void** parameters, void** extra),
             (f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra))
NEON_COUNTED(cuMemAlloc, (CUdeviceptr * out, size_t bytes), (out, bytes))
NEON_COUNTED(cuMemFree, (CUdeviceptr at), (at))
NEON_COUNTED(cuMemHostAlloc, (void** out, size_t bytes, unsigned flags), (out, bytes, flags))
NEON_COUNTED(cuMemFreeHost, (void* at), (at))
NEON_COUNTED(cuMemGetInfo, (size_t * free, size_t* all), (free, all))
NEON_COUNTED(cuStreamCreate, (CUstream * out, unsigned flags), (out, flags))
NEON_COUNTED(cuStreamDestroy, (CUstream stream), (stream))
NEON_COUNTED(cuStreamSynchronize, (CUstream stream), (stream))
NEON_COUNTED(cuCtxSynchronize, (void), ())
NEON_COUNTED(cuEventRecord, (CUevent event, CUstream stream), (event, stream))
NEON_COUNTED(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags), (event, stream, flags))
NEON_COUNTED(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags), (stream, event, flags))
NEON_COUNTED(cuMemcpyHtoDAsync, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
             (to, from, bytes, stream))
NEON_COUNTED(cuMemcpyDtoHAsync, (void* to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream))
NEON_COUNTED(cuMemcpyDtoDAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
             (to, from, bytes, stream))
NEON_COUNTED(cuMemsetD8Async, (CUdeviceptr at, unsigned char value, size_t bytes, CUstream stream),
             (at, value, bytes, stream))

extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI
cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
  driver("cuGraphGetNodes", &cuGraphGetNodes)(graph, nullptr, &nodes_of_graph);
  return driver("cuGraphInstantiateWithFlags", &cuGraphInstantiateWithFlags)(out, graph, flags);
}
extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI cuEventCreate(CUevent* out, unsigned flags) {
  const CUresult result = driver("cuEventCreate", &cuEventCreate)(out, flags);
  flags_of[*out] = flags;
  return result;
}
extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI cuEventSynchronize(CUevent event) {
  busy_waits += !(flags_of[event] & CU_EVENT_BLOCKING_SYNC);
  return driver("cuEventSynchronize", &cuEventSynchronize)(event);
}

using namespace neon;
using namespace neon::test;

namespace {

std::map<std::string, int> calls_of(auto&& work) {
  {
    const std::lock_guard lock(calls_mutex);
    calls.clear();
  }
  work();
  const std::lock_guard lock(calls_mutex);
  return calls;
}

}  // namespace

TEST_CASE("sixteen steps are one launch, and asking for their costs one copy and one wait") {
  const Net net = mnist_small();
  Variables variables;
  const auto program = net.compile(variables, DeviceOptions{.gpu = true});
  CHECK(program->lowered().kernels.size() <= 10);
  uint64_t step = 0;
  auto run = [&](int count) {
    for (int i = 0; i < count; ++i) program->run(step++);
  };
  run(16);
  program->recorded("cost");
  CHECK(calls_of([&] { run(16); }) == std::map<std::string, int>{{"cuGraphLaunch", 1}, {"cuMemcpyHtoDAsync_v2", 1}});
  CHECK(calls_of([&] { program->recorded("cost"); }) ==
        std::map<std::string, int>{{"cuMemcpyDtoHAsync_v2", 1}, {"cuStreamSynchronize", 1}});
  CHECK(calls_of([&] { program->recorded("cost", 0, 15); }).empty());
  // A single step is a launch of its own, prepared once: a node of a CUDA graph for each kernel.
  run(1);
  program->recorded("cost");
  CHECK(nodes_of_graph == program->lowered().kernels.size());
  CHECK(calls_of([&] { run(1), program->recorded("cost"); }) == std::map<std::string, int>{{"cuGraphLaunch", 1},
                                                                                           {"cuMemcpyHtoDAsync_v2", 1},
                                                                                           {"cuMemcpyDtoHAsync_v2", 1},
                                                                                           {"cuStreamSynchronize", 1}});
}

TEST_CASE("a step with cuDNN's kernels is one launch as well, in 16 bits too") {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    INFO(name_of(dtype));
    Variables variables;
    const auto program = images(dtype).compile(variables, DeviceOptions{.gpu = true});
    CHECK(std::ranges::count(program->implementations(), "cudnn") > 0);
    uint64_t step = 0;
    auto run = [&] {
      program->run(step++);
      program->recorded("cost");
    };
    run(), run();
    for (int i = 0; i < 10; ++i)
      CHECK(calls_of(run) == std::map<std::string, int>{{"cuGraphLaunch", 1},
                                                        {"cuMemcpyHtoDAsync_v2", 1},
                                                        {"cuMemcpyDtoHAsync_v2", 1},
                                                        {"cuStreamSynchronize", 1}});
  }
}

namespace {

// The samples of a net of 500, in batches that follow each other.
constexpr int64_t kBatch = 125;
constexpr int kSlots = 4, kSteps = 40;

Net streamed_net() { return images(DType::f32, 1, kBatch); }

// Writes batch `number` of an order that changes with every epoch to its slot.
void fill(BatchRing& ring, const Net& net, const std::vector<int32_t>& order, int number) {
  const Tensor &data = net.inputs.at("data"), &targets = net.inputs.at("targets");
  const size_t row = data.bytes() / 500;
  for (int64_t i = 0; i < kBatch; ++i) {
    const auto sample = size_t(order[size_t((number % kSlots) * kBatch + i)]);
    std::memcpy(static_cast<char*>(ring.slot(0, number % kSlots)) + size_t(i) * row,
                static_cast<const char*>(data.data()) + sample * row, row);
    static_cast<int32_t*>(ring.slot(1, number % kSlots))[i] = targets.as<int32_t>()[sample];
  }
}

std::vector<int32_t> order_of(int epoch) {
  std::vector<int32_t> out;
  for (int i = 0; i < 500; ++i) out.push_back((i * 37 + epoch * 11) % 500);
  return out;
}

std::vector<RingInput> ring_inputs(const Net& net) {
  return {{"data", net.inputs.at("data").bytes() / kSlots}, {"targets", net.inputs.at("targets").bytes() / kSlots}};
}

std::unique_ptr<Program> compile_streamed(const Net& net, Variables& variables, const DeviceOptions& options,
                                          BatchRing* ring) {
  static const std::vector<int32_t> identity = [] {
    std::vector<int32_t> out;
    for (int i = 0; i < 500; ++i) out.push_back(i);
    return out;
  }();
  auto program = net.compile(variables, options);
  if (ring) ring->bind(*program);
  program->bind_sequence("indices", identity.data(), 500);
  return program;
}

}  // namespace

TEST_CASE("streamed batches give the bits of resident data") {
  const Net net = streamed_net();
  DeviceOptions options{.gpu = true, .sequences = {"indices"}};
  Variables resident_variables, streamed_variables;
  const auto resident = compile_streamed(net, resident_variables, options, nullptr);
  const auto ring = make_ring(ring_inputs(net), kSlots, options);
  const auto streamed = compile_streamed(net, streamed_variables, options, ring.get());
  std::vector<int32_t> order;
  for (int step = 0; step < kSteps; ++step) {
    if (step % kSlots == 0) {
      order = order_of(step / kSlots);
      resident->bind_sequence("indices", order.data(), 500);
    }
    const int slot = step % kSlots;
    resident->set_first(slot * kBatch);
    resident->run(uint64_t(step));
    // The host overwrites a slot as soon as it may, while steps are under way.
    CHECK(ring->is_free(slot, true));
    fill(*ring, net, order, step);
    ring->send(slot);
    streamed->set_first(slot * kBatch);
    streamed->run(uint64_t(step));
  }
  for (int back = 0; back < kSteps; ++back)
    CHECK(streamed->recorded("cost", 0, back) == resident->recorded("cost", 0, back));
  resident_variables.to_host();
  streamed_variables.to_host();
  for (const auto& [name, tensor] : resident_variables.all()) {
    INFO(name);
    CHECK(std::memcmp(tensor.data(), streamed_variables.at(name).data(), tensor.bytes()) == 0);
  }
  CHECK(ring->is_idle());
}

TEST_CASE("a streamed step is one launch and its copies, and nobody waits but by event") {
  const Net net = streamed_net();
  DeviceOptions options{.gpu = true, .sequences = {"indices"}};
  Variables variables;
  const auto ring = make_ring(ring_inputs(net), kSlots, options);
  const auto program = compile_streamed(net, variables, options, ring.get());
  int number = 0;
  auto step = [&] {
    ring->send(number % kSlots);
    program->set_first(number % kSlots * kBatch);
    program->run(uint64_t(number++));
  };
  step();
  program->recorded("cost");
  const std::map<std::string, int> expected = {
      {"cuGraphLaunch", 1}, {"cuMemcpyHtoDAsync_v2", 3}, {"cuEventRecord", 2}, {"cuStreamWaitEvent", 2}};
  for (int i = 0; i < 10; ++i) CHECK(calls_of(step) == expected);
  CHECK(calls_of([&] { program->recorded("cost"); }) ==
        std::map<std::string, int>{{"cuMemcpyDtoHAsync_v2", 1}, {"cuStreamSynchronize", 1}});
  busy_waits = 0;
  CHECK(calls_of([&] { ring->is_free(0, true); })["cuEventSynchronize"] == 1);
  CHECK(busy_waits == 0);
}

TEST_CASE("a ring and its programs may end in any order") {
  const Net net = streamed_net();
  DeviceOptions options{.gpu = true, .sequences = {"indices"}};
  for (bool ring_first : {false, true}) {
    Variables variables;
    auto ring = make_ring(ring_inputs(net), kSlots, options);
    auto program = compile_streamed(net, variables, options, ring.get());
    ring->send(1);
    program->set_first(kBatch);
    program->run(0);
    if (ring_first) ring.reset();
    else program.reset();
    if (program) CHECK(std::isfinite(program->recorded("cost")));
  }
}

TEST_CASE("a ring may end before a program whose run could not be started") {
  const Net net = streamed_net();
  DeviceOptions options{.gpu = true, .sequences = {"indices"}};
  Variables variables;
  auto ring = make_ring(ring_inputs(net), kSlots, options);
  const auto program = compile_program(net.step.graph, variables, options);
  ring->bind(*program);
  ring->send(0);
  CHECK_THROWS_WITH(program->run(0), Catch::Contains("of a program is not bound"));
  ring.reset();
}

namespace {

// Bytes of memory that this process has.
size_t resident() {
  std::ifstream pages("/proc/self/statm");
  size_t all = 0, here = 0;
  pages >> all >> here;
  return here * size_t(sysconf(_SC_PAGESIZE));
}

// A product that cuBLASLt is given, of f16.
Graph large_product() {
  Graph graph;
  const Expr x(graph, graph.variable("x", DType::f16, {512, 1024})),
      w(graph, graph.variable("w", DType::f16, {1024, 1024}));
  graph.output("cost", mean(square(cast(Expr(graph, matmul(graph, x, w)), DType::f32)), {0, 1}));
  return graph;
}

}  // namespace

TEST_CASE("a thousand programs made, run and dropped leave no memory behind") {
  const Net small = mnist_small(), deep = images(DType::f16);
  const Graph product = large_product();
  const DeviceOptions plain{.gpu = true}, timed{.gpu = true, .timed = true};
  struct Kind {
    const char* library;  // whose kernels are among the program's
    int count;
    std::function<std::unique_ptr<Program>(Variables&)> make;
  };
  const Kind kinds[] = {{"own", 1000, [&](Variables& variables) { return small.compile(variables, plain); }},
                        {"cudnn", 200, [&](Variables& variables) { return deep.compile(variables, timed); }},
                        {"cublaslt", 200, [&](Variables& variables) {
                           auto program = compile_program(product, variables, timed);
                           variables.to_device();
                           return program;
                         }}};
  std::string why_not;
  GpuModule* const module = gpu_module(why_not);
  for (const Kind& kind : kinds) {
    INFO(kind.library);
    int taken = 0;
    auto once = [&] {
      Variables variables;
      const auto program = kind.make(variables);
      program->run(0);
      program->recorded("cost");
      taken += int(std::ranges::count(program->implementations(), kind.library));
    };
    for (int i = 0; i < 20; ++i) once();
    CHECK(taken > 0);
    const size_t before = module->free_bytes(0), before_here = resident();
    for (int i = 0; i < kind.count; ++i) once();
    CHECK(module->free_bytes(0) + (size_t(1) << 20) >= before);
    CHECK(resident() < before_here + (size_t(16) << 20));
  }
}
