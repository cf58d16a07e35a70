// What a step asks of CUDA: one launch, no memory, no waiting. The driver's functions of these names stand in this
// program, where the GPU module finds them before the driver's own; they count, and call those.
#include <cuda.h>
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "tests/backends/nets.h"

namespace {

std::map<std::string, int> calls;

template <typename Function>
Function driver(const char* name, Function) {
  ++calls[name];
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

#define NEON_TEXT_OF(name) #name
#define NEON_COUNTED(name, parameters, arguments)                                      \
  extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI name parameters { \
    return driver(NEON_TEXT_OF(name), &name) arguments;                                \
  }
NEON_COUNTED(cuGraphLaunch, (CUgraphExec graph, CUstream stream), (graph, stream))
NEON_COUNTED(cuGraphInstantiateWithFlags, (CUgraphExec * out, CUgraph graph, unsigned long long flags),
             (out, graph, flags))
NEON_COUNTED(cuLaunchKernel,
             (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
              unsigned shared, CUstream stream, void** parameters, void** extra),
             (f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra))
NEON_COUNTED(cuMemAlloc, (CUdeviceptr * out, size_t bytes), (out, bytes))
NEON_COUNTED(cuMemFree, (CUdeviceptr at), (at))
NEON_COUNTED(cuMemHostAlloc, (void** out, size_t bytes, unsigned flags), (out, bytes, flags))
NEON_COUNTED(cuStreamSynchronize, (CUstream stream), (stream))
NEON_COUNTED(cuCtxSynchronize, (void), ())
NEON_COUNTED(cuMemcpyHtoDAsync, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
             (to, from, bytes, stream))
NEON_COUNTED(cuMemcpyDtoHAsync, (void* to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream))

using namespace neon;
using namespace neon::test;

namespace {

std::map<std::string, int> calls_of(auto&& work) {
  calls.clear();
  work();
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
  // A single step is a launch of its own, prepared once.
  run(1);
  program->recorded("cost");
  CHECK(calls_of([&] { run(1), program->recorded("cost"); }) == std::map<std::string, int>{{"cuGraphLaunch", 1},
                                                                                           {"cuMemcpyHtoDAsync_v2", 1},
                                                                                           {"cuMemcpyDtoHAsync_v2", 1},
                                                                                           {"cuStreamSynchronize", 1}});
}

TEST_CASE("a thousand programs made, run and dropped leave no memory behind") {
  const Net net = mnist_small();
  std::string why_not;
  GpuModule* const module = gpu_module(why_not);
  auto once = [&] {
    Variables variables;
    const auto program = net.compile(variables, DeviceOptions{.gpu = true});
    program->run(0);
    program->recorded("cost");
  };
  for (int i = 0; i < 10; ++i) once();
  const size_t before = module->free_bytes(0);
  for (int i = 0; i < 1000; ++i) once();
  CHECK(module->free_bytes(0) + (size_t(1) << 20) >= before);
}
