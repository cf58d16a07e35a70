#include "tests/backends/cuda/quick_compile.h"

#include <nvrtc.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "backends/cuda/library.h"
#include "backends/cuda/source.h"
#include "backends/elementwise/kernels.h"
#include "neon/core/text.h"
#include "neon/core/threads.h"

namespace neon::test {

namespace {

constexpr size_t kAtOnce = 24;  // kernels: enough that the head counts little, and few enough for threads to share

struct QuickNvrtc {
  cuda::Library library{"compiling kernels in a test", CudaLibrary::nvrtc};
  decltype(nvrtcCreateProgram)* create;
  decltype(nvrtcDestroyProgram)* destroy;
  decltype(nvrtcCompileProgram)* compile;
  decltype(nvrtcGetProgramLogSize)* log_size;
  decltype(nvrtcGetProgramLog)* log;
  decltype(nvrtcGetCUBINSize)* code_size;
  decltype(nvrtcGetPTXSize)* ptx_size;
  decltype(nvrtcVersion)* version;
  bool quick;
  QuickNvrtc() {
    library.find(create, "nvrtcCreateProgram");
    library.find(destroy, "nvrtcDestroyProgram");
    library.find(compile, "nvrtcCompileProgram");
    library.find(log_size, "nvrtcGetProgramLogSize");
    library.find(log, "nvrtcGetProgramLog");
    library.find(code_size, "nvrtcGetCUBINSize");
    library.find(ptx_size, "nvrtcGetPTXSize");
    library.find(version, "nvrtcVersion");
    int major = 0, minor = 0;
    version(&major, &minor);
    quick = major > 12 || (major == 12 && minor >= 9);
  }
};

// What NVRTC says against it.
std::string error_of(const std::string& source, int arch, Code code) {
  static const QuickNvrtc nvrtc;
  const std::string target = text(code == Code::machine ? "-arch=sm_" : "-arch=compute_", arch);
  const char* options[] = {target.c_str(), "--std=c++17", "--Ofast-compile=max"};
  nvrtcProgram program = nullptr;
  if (nvrtc.create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
    return "NVRTC takes no source";
  const bool compiles = nvrtc.compile(program, nvrtc.quick ? 3 : 2, options) == NVRTC_SUCCESS;
  size_t size = 0;
  std::string said;
  if (!compiles) {
    nvrtc.log_size(program, &size);
    said.resize(size);
    nvrtc.log(program, said.data());
    if (said.empty()) said = "no word from NVRTC";
  } else if ((code == Code::machine ? nvrtc.code_size : nvrtc.ptx_size)(program, &size) != NVRTC_SUCCESS || size == 0) {
    said = "no code";
  }
  nvrtc.destroy(&program);
  return said;
}

// One source of several: the head that they share, and after it each in a namespace and with a name of its own.
std::string joined(const std::string& head, const std::string* first, const std::string* last) {
  std::string out = head;
  for (const std::string* source = first; source != last; ++source) {
    const ptrdiff_t number = source - first;
    out += text("\n#define kernel kernel_", number, "\nnamespace of_kernel_", number, " {\n");
    out += source->substr(head.size());
    out += "\n}\n#undef kernel\n";
  }
  return out;
}

}  // namespace

std::string compile_error(const std::vector<std::string>& sources, int arch, Code code) {
  const std::string head = cuda::source_head(), longer = text(head, elementwise::coarse_source());
  struct Work {  // what is compiled at once
    const std::string *first, *last, *head;
  };
  std::vector<Work> work;
  const std::set<std::string> different(sources.begin(), sources.end());
  std::vector<std::string> with_head, with_longer;
  for (const std::string& source : different) {
    if (source.starts_with(longer)) with_longer.push_back(source);
    else if (source.starts_with(head)) with_head.push_back(source);
    else work.push_back({&source, &source + 1, &head});
  }
  for (const auto& [of, their_head] : {std::pair(&with_head, &head), std::pair(&with_longer, &longer)})
    for (size_t i = 0; i < of->size(); i += kAtOnce)
      work.push_back({of->data() + i, of->data() + std::min(i + kAtOnce, of->size()), their_head});
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::string problem;
  const auto compile = [&] {
    for (size_t w; (w = next++) < work.size();) {
      const auto [first, last, shared] = work[w];
      if (last - first > 1 && error_of(joined(*shared, first, last), arch, code).empty()) continue;
      for (const std::string* source = first; source != last; ++source) {
        const std::string said = error_of(*source, arch, code);
        if (said.empty()) continue;
        const std::lock_guard lock(mutex);
        problem = text(said, "\n", source->substr(source->starts_with(head) ? head.size() : 0));
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int t = 1; t < available_threads(); ++t) threads.emplace_back(compile);
  compile();
  threads.clear();
  return problem;
}

}  // namespace neon::test
