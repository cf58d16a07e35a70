#include "backends/device/device.h"

#include <dlfcn.h>
#include <unistd.h>

#include "neon/core/paths.h"
#include "neon/core/version.h"

namespace neon {

namespace {

using Open = GpuModule* (*)(const std::string& version, std::string* why_not, bool* no_gpu);

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

std::string folder_of_executable() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return folder_of(std::string(path, n > 0 ? size_t(n) : 0));
}

// The folder of the shared library that holds this code, if a library does. "" in a program that was found by its name
// alone: neon opens nothing because of the current folder.
std::string folder_of_library() {
  Dl_info info{};
  const bool found = dladdr(reinterpret_cast<void*>(&folder_of_library), &info) && info.dli_fname;
  return folder_of(found ? info.dli_fname : "");
}

// Beside the installed program or library, or in the build tree that one of them lies in.
std::vector<std::string> candidates() {
  const std::string program = folder_of_executable(), library = folder_of_library();
  std::vector<std::string> out = {join_path(program, NEON_MODULE_FOLDER "/libneon_cuda.so")};
  if (!library.empty()) out.push_back(join_path(library, "neon/libneon_cuda.so"));
  for (std::string folder : {program, library})
    for (int up = 0; up < 4 && !folder.empty(); ++up) {
      out.push_back(join_path(folder, "backends/cuda/libneon_cuda.so"));
      folder = folder_of(folder);
    }
  return out;
}

struct Opened {
  GpuModule* module = nullptr;
  std::string why_not;
  bool no_gpu = false;  // nothing that anybody would expect to be used
};

// The module takes what it needs of neon from what is open for all to see. The library is not where it came along with
// what was opened for itself, as Python opens its extensions. (A program is, and cannot be opened.)
void show_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&show_library), &info) && info.dli_fname)
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}

Opened open_module() {
  show_library();
  for (const std::string& path : candidates()) {
    if (access(path.c_str(), F_OK) != 0) continue;
    // Lazily: an older driver lacks functions, and is to be asked for its version first.
    void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
      const std::string problem = dlerror();
      const bool no_driver = problem.find("libcuda.so.1: cannot open") != problem.npos;
      return {nullptr, no_driver ? "no NVIDIA driver was found (libcuda.so.1)" : problem, no_driver};
    }
    const auto open = reinterpret_cast<Open>(dlsym(handle, "neon_open_cuda"));
    if (!open) return {nullptr, path + " is no module of neon", false};
    // In the module and what it was linked with.
    if (!dlsym(handle, "cuDriverGetVersion"))
      return {nullptr, "the libcuda.so.1 that was found is no NVIDIA driver", false};
    Opened out;
    out.module = open(std::string(version()), &out.why_not, &out.no_gpu);
    return out;
  }
  return {nullptr, "this build of neon has no GPU module (libneon_cuda.so)", true};
}

const Opened& opened() {
  static const Opened once = open_module();
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
