#include "backends/device/device.h"

#include <dlfcn.h>
#include <unistd.h>

#include <mutex>

#include "neon/core/paths.h"
#include "neon/core/version.h"

namespace neon {

namespace {

using Open = GpuModule* (*)(const std::string& version, std::string* why_not);

std::string folder_of_executable() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  const std::string whole(path, n > 0 ? size_t(n) : 0);
  return whole.substr(0, whole.rfind('/'));
}

// Of the shared library that this is in, where it is one; else of the program.
std::string folder_of_library() {
  Dl_info info{};
  const std::string whole =
      dladdr(reinterpret_cast<void*>(&folder_of_library), &info) && info.dli_fname ? info.dli_fname : "";
  const size_t slash = whole.rfind('/');
  return slash == whole.npos ? "." : whole.substr(0, slash);
}

// Beside the installed program or library, or in the build tree that the program lies in.
std::vector<std::string> candidates() {
  std::string folder = folder_of_executable();
  std::vector<std::string> out = {join_path(folder, NEON_MODULE_FOLDER "/libneon_cuda.so"),
                                  join_path(folder_of_library(), "neon/libneon_cuda.so")};
  for (int up = 0; up < 4 && !folder.empty(); ++up) {
    out.push_back(join_path(folder, "backends/cuda/libneon_cuda.so"));
    folder = folder.substr(0, folder.rfind('/'));
  }
  return out;
}

GpuModule* open_module(std::string& why_not) {
  for (const std::string& path : candidates()) {
    if (access(path.c_str(), F_OK) != 0) continue;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const std::string problem = dlerror();
      why_not = problem.find("libcuda.so.1") != problem.npos ? "no NVIDIA driver was found (libcuda.so.1)" : problem;
      return nullptr;
    }
    const auto open = reinterpret_cast<Open>(dlsym(handle, "neon_open_cuda"));
    if (!open) {
      why_not = path + " is no module of neon";
      return nullptr;
    }
    return open(std::string(version()), &why_not);
  }
  why_not = "this build of neon has no GPU module (libneon_cuda.so)";
  return nullptr;
}

}  // namespace

GpuModule* gpu_module(std::string& why_not) {
  static std::once_flag once;
  static GpuModule* module = nullptr;
  static std::string reason;
  std::call_once(once, [] { module = open_module(reason); });
  why_not = reason;
  return module;
}

void check_gpu(int index) {
  std::string why_not;
  GpuModule* module = gpu_module(why_not);
  if (!module) fail(ErrorKind::device, "the GPU cannot be used: ", why_not, "; -b cpu runs on the CPU");
  const auto devices = module->devices();
  std::vector<std::string> names;
  for (size_t i = 0; i < devices.size(); ++i) names.push_back(text(i, ": ", devices[i].name));
  if (index < 0 || index >= int(devices.size()))
    fail(ErrorKind::device, "there is no GPU ", index, " (-i); there is ", join(names, ", "));
  if (!devices[size_t(index)].unusable.empty())
    fail(ErrorKind::device, "GPU ", names[size_t(index)], " cannot be used: ", devices[size_t(index)].unusable);
}

std::unique_ptr<Program> compile_program(const Graph& graph, Variables& variables, const DeviceOptions& options) {
  if (!options.gpu) return compile_for_cpu(graph, variables, options.cpu);
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
