#include "backends/device/device.h"

#include <dlfcn.h>

#include "neon/core/module_files.h"
#include "neon/core/version.h"

namespace neon {

namespace {

using Open = GpuModule* (*)(const std::string& version, std::string* why_not, bool* no_gpu);

struct Opened {
  GpuModule* module = nullptr;
  std::string why_not;
  bool no_gpu = false;  // nothing that anybody would expect to be used
};

constexpr const char* kNoDriver =
    "no NVIDIA driver was found (libcuda.so.1); install the driver, or pass the GPU into the container";

Opened open_gpu_module() {
  const OpenedModule file = open_module("cuda", "backends/cuda");
  if (file.path.empty()) return {nullptr, "this build of neon has no GPU module (libneon_cuda.so)", true};
  if (!file.handle) {
    const bool no_driver = file.problem.find("libcuda.so.1: cannot open") != file.problem.npos;
    return {nullptr, no_driver ? kNoDriver : file.problem, no_driver};
  }
  const auto open = reinterpret_cast<Open>(dlsym(file.handle, "neon_open_cuda"));
  if (!open) return {nullptr, file.path + " is no module of neon", false};
  // In the module and what it was linked with.
  if (!dlsym(file.handle, "cuDriverGetVersion"))
    return {nullptr, "the libcuda.so.1 that was found is no NVIDIA driver", false};
  Opened out;
  out.module = open(std::string(version()), &out.why_not, &out.no_gpu);
  return out;
}

const Opened& opened() {
  static const Opened once = open_gpu_module();
  return once;
}

}  // namespace

GpuModule* gpu_module(std::string& why_not) {
  why_not = opened().why_not;
  return opened().module;
}

std::string unused_gpu() { return opened().no_gpu ? "" : opened().why_not; }

void check_gpu(int index) {
  std::string why_not;
  GpuModule* module = gpu_module(why_not);
  if (!module) fail(ErrorKind::device, "the GPU cannot be used: ", why_not);
  const auto devices = module->devices();
  std::vector<std::string> names;
  for (size_t i = 0; i < devices.size(); ++i) names.push_back(text(i, ": ", devices[i].name));
  if (index < 0 || index >= int(devices.size()))
    fail(ErrorKind::device, "there is no GPU ", index, "; there is ", join(names, ", "));
  if (!devices[size_t(index)].unusable.empty())
    fail(ErrorKind::device, "GPU ", names[size_t(index)], " cannot be used: ", devices[size_t(index)].unusable);
}

std::unique_ptr<Program> compile_program(const Graph& graph, Variables& variables, const DeviceOptions& options) {
  if (!options.gpu) return compile_for_cpu(graph, variables, options.program);
  check_gpu(options.gpu_index);
  std::string why_not;
  return gpu_module(why_not)->compile(graph, variables, options);
}

std::shared_ptr<DeviceMemory> make_memory(size_t bytes, const DeviceOptions& options) {
  if (!options.gpu) return make_host_memory(bytes);
  check_gpu(options.gpu_index);
  std::string why_not;
  return gpu_module(why_not)->memory(bytes, options.gpu_index);
}

std::unique_ptr<BatchRing> make_ring(std::vector<RingInput> inputs, int slots, const DeviceOptions& options) {
  if (!options.gpu) return make_host_ring(std::move(inputs), slots);
  check_gpu(options.gpu_index);
  std::string why_not;
  return gpu_module(why_not)->ring(std::move(inputs), slots, options.gpu_index);
}

}  // namespace neon
