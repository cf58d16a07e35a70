#include "backends/cuda/compile.h"

#include <nvrtc.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>

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

// The architecture to compile for a GPU of `arch`: itself, or the newest before it that NVRTC knows, as PTX.
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
  // Hopper's own instructions are in no later GPU.
  const bool hoppers = arch == 90 && !as_ptx && source.find("wgmma") != source.npos;
  const std::string target = text(as_ptx ? "-arch=compute_" : "-arch=sm_", known, hoppers ? "a" : "");
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

Compilation::Compilation(std::vector<std::string> sources, int arch, ColdStart* cold)
    : sources_(std::move(sources)),
      arch_(arch),
      cache_("cubin", text("sm_", arch, " ", NEON_CUDA_VERSION)),
      codes_(sources_.size()) {
  std::map<std::string_view, std::vector<size_t>> wanted;
  for (size_t i = 0; i < sources_.size(); ++i)
    if (!cache_.read(sources_[i], codes_[i])) wanted[sources_[i]].push_back(i);
  if (cold && !wanted.empty()) cold->begin();
  for (auto& [source, places] : wanted) work_.push_back(std::move(places));
  // Long ones first: seen of a net's 75, the longest takes 2.5 s, most 0.1 to 0.4.
  std::ranges::stable_sort(work_, std::greater{}, [&](const auto& places) { return sources_[places[0]].size(); });
  try {
    for (size_t t = 0; t < std::min(work_.size(), size_t(available_threads() - 1)); ++t)
      threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {  // no more threads than that
  }
}

Compilation::~Compilation() { next_ = work_.size(); }

void Compilation::work() {
  for (size_t w; (w = next_++) < work_.size();) {
    try {
      const std::string& source = sources_[work_[w][0]];
      const std::string code = compile(source, arch_);
      cache_.write(source, code);
      for (size_t i : work_[w]) codes_[i] = code;
    } catch (...) {
      const std::lock_guard lock(mutex_);
      problem_ = std::current_exception();
    }
  }
}

std::vector<std::string> Compilation::codes() {
  work();
  threads_.clear();
  if (problem_) std::rethrow_exception(problem_);
  return std::move(codes_);
}

std::vector<std::string> compile_sources(std::vector<std::string> sources, int arch, ColdStart* cold) {
  return Compilation(std::move(sources), arch, cold).codes();
}

}  // namespace neon::cuda
