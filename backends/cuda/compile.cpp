#include "backends/cuda/compile.h"

#include <nvrtc.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "backends/cuda/disk_cache.h"
#include "backends/cuda/library.h"
#include "neon/core/error.h"
#include "neon/core/text.h"
#include "neon/core/threads.h"

namespace neon::cuda {

namespace {

struct Nvrtc {
  Library library{"compiling kernels", CudaLibrary::nvrtc};
  decltype(nvrtcCreateProgram)* create;
  decltype(nvrtcDestroyProgram)* destroy;
  decltype(nvrtcCompileProgram)* compile;
  decltype(nvrtcGetProgramLogSize)* log_size;
  decltype(nvrtcGetProgramLog)* log;
  decltype(nvrtcGetCUBINSize)* cubin_size;
  decltype(nvrtcGetCUBIN)* cubin;
  decltype(nvrtcGetPTXSize)* ptx_size;
  decltype(nvrtcGetPTX)* ptx;
  std::vector<int> archs;  // that there is machine code for, in order
  Nvrtc() {
    library.find(create, "nvrtcCreateProgram");
    library.find(destroy, "nvrtcDestroyProgram");
    library.find(compile, "nvrtcCompileProgram");
    library.find(log_size, "nvrtcGetProgramLogSize");
    library.find(log, "nvrtcGetProgramLog");
    library.find(cubin_size, "nvrtcGetCUBINSize");
    library.find(cubin, "nvrtcGetCUBIN");
    library.find(ptx_size, "nvrtcGetPTXSize");
    library.find(ptx, "nvrtcGetPTX");
    decltype(nvrtcGetNumSupportedArchs)* count_archs;
    decltype(nvrtcGetSupportedArchs)* list_archs;
    library.find(count_archs, "nvrtcGetNumSupportedArchs");
    library.find(list_archs, "nvrtcGetSupportedArchs");
    int count = 0;
    if (count_archs(&count) == NVRTC_SUCCESS && count > 0) {
      archs.resize(size_t(count));
      if (list_archs(archs.data()) != NVRTC_SUCCESS) archs.clear();
      std::ranges::sort(archs);
    }
  }
};

const Nvrtc& nvrtc() {
  static const Nvrtc loaded;
  return loaded;
}

// What is compiled for a GPU of `arch`: itself, or the newest before it that NVRTC knows, as PTX.
int known_arch(int arch) {
  const std::vector<int>& archs = nvrtc().archs;
  const auto later = std::ranges::upper_bound(archs, arch);
  return later == archs.begin() ? arch : later[-1];
}

std::string compile(const std::string& source, int arch) {
  nvrtcProgram program = nullptr;
  if (nvrtc().create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
    fail(ErrorKind::failed, "NVRTC takes no source");
  const std::unique_ptr<nvrtcProgram, void (*)(nvrtcProgram*)> owner(&program,
                                                                     [](nvrtcProgram* p) { nvrtc().destroy(p); });
  const int known = known_arch(arch);
  const bool as_ptx = known != arch;
  const std::string target = text(as_ptx ? "-arch=compute_" : "-arch=sm_", known);
  const char* options[] = {target.c_str(), "--std=c++17"};
  const nvrtcResult result = nvrtc().compile(program, 2, options);
  if (result != NVRTC_SUCCESS) {
    size_t size = 0;
    nvrtc().log_size(program, &size);
    std::string log(size, '\0');
    nvrtc().log(program, log.data());
    fail(ErrorKind::failed, "a generated kernel does not compile for sm_", arch, ": ", log.c_str());
  }
  size_t size = 0;
  (as_ptx ? nvrtc().ptx_size : nvrtc().cubin_size)(program, &size);
  std::string code(size, '\0');
  (as_ptx ? nvrtc().ptx : nvrtc().cubin)(program, code.data());
  return code;
}

}  // namespace

std::vector<std::string> compile_sources(const std::vector<std::string>& sources, int arch, ColdStart* cold) {
  const DiskCache cache("cubin", text("sm_", arch, " ", NEON_CUDA_VERSION));
  std::vector<std::string> codes(sources.size());
  std::map<std::string, std::vector<size_t>> wanted;
  for (size_t i = 0; i < sources.size(); ++i)
    if (!cache.read(sources[i], codes[i])) wanted[sources[i]].push_back(i);
  if (cold && !wanted.empty()) cold->begin();
  std::vector<const std::pair<const std::string, std::vector<size_t>>*> work;
  for (const auto& entry : wanted) work.push_back(&entry);
  std::atomic<size_t> next = 0;
  std::exception_ptr problem;
  std::mutex mutex;
  auto worker = [&] {
    for (size_t w; (w = next++) < work.size();) {
      try {
        const std::string code = compile(work[w]->first, arch);
        cache.write(work[w]->first, code);
        for (size_t i : work[w]->second) codes[i] = code;
      } catch (...) {
        const std::lock_guard lock(mutex);
        problem = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> threads;
  const size_t count = std::min(work.size(), size_t(available_threads()));
  for (size_t t = 1; t < count; ++t) threads.emplace_back(worker);
  worker();
  threads.clear();
  if (problem) std::rethrow_exception(problem);
  return codes;
}

}  // namespace neon::cuda
