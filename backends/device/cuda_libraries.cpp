#include "backends/device/cuda_libraries.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>

#include "neon/core/text.h"

namespace neon {

namespace {

struct Names {
  const char* name;
  std::vector<std::string> files;  // the first that can be opened is taken
  std::string comes_with;
};

Names names_of(CudaLibrary library) {
  const std::string cuda = NEON_CUDA_MAJOR, cudnn = NEON_CUDNN_MAJOR;
  switch (library) {
    case CudaLibrary::nvrtc:
      return {"NVRTC", {"libnvrtc.so." + cuda, "libnvrtc.so"}, text("the NVRTC of CUDA ", cuda, " (cuda-nvrtc)")};
    case CudaLibrary::cublaslt:
      return {
          "cuBLASLt", {"libcublasLt.so." + cuda, "libcublasLt.so"}, text("the cuBLAS of CUDA ", cuda, " (libcublas)")};
    case CudaLibrary::cudnn:
      return {"cuDNN",
              {"libcudnn.so." + cudnn, "libcudnn.so"},
              text("cuDNN ", cudnn, " for CUDA ", cuda, " (libcudnn", cudnn, "-cuda-", cuda,
                   "), which does not come with CUDA")};
    case CudaLibrary::nccl:
      return {"NCCL",
              {"libnccl.so.2", "libnccl.so"},
              text("NCCL for CUDA ", cuda, " (libnccl2), which several GPUs need, and which does not come with CUDA")};
  }
  return {};
}

// 130100 -> "13.1.0"
std::string version_text(size_t version) { return text(version / 10000, ".", version / 100 % 100, ".", version % 100); }

std::string version_of(CudaLibrary library, void* handle, void*& symbol) {
  if (library == CudaLibrary::nvrtc) {
    int major = 0, minor = 0;
    const auto ask = reinterpret_cast<int (*)(int*, int*)>(symbol = dlsym(handle, "nvrtcVersion"));
    return ask && ask(&major, &minor) == 0 ? text(major, ".", minor) : "";
  }
  if (library == CudaLibrary::nccl) {
    int version = 0;
    const auto ask = reinterpret_cast<int (*)(int*)>(symbol = dlsym(handle, "ncclGetVersion"));
    return ask && ask(&version) == 0 ? version_text(size_t(version)) : "";
  }
  const char* const name = library == CudaLibrary::cublaslt ? "cublasLtGetVersion" : "cudnnGetVersion";
  const auto ask = reinterpret_cast<size_t (*)()>(symbol = dlsym(handle, name));
  return ask ? version_text(ask()) : "";
}

}  // namespace

std::string cuda_version() { return NEON_CUDA_VERSION; }

// Its first line is "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  ...".
std::string driver_version(const std::string& file) {
  std::FILE* const from = std::fopen(file.c_str(), "r");
  if (!from) return "";
  char line[512] = "";
  const char* const read = std::fgets(line, sizeof line, from);
  std::fclose(from);
  const std::string_view words = read ? line : "";
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find_first_of(" \t\n", at), words.size());
    const std::string_view word = words.substr(at, end - at);
    if (word.find('.') != word.npos && word.find_first_not_of("0123456789.") == word.npos) return std::string(word);
    at = end + 1;
  }
  return "";
}

void* open_library(CudaLibrary library, std::string& problem) {
  const Names names = names_of(library);
  problem.clear();
  for (const std::string& file : names.files) {
    if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      problem.clear();  // the name before was of another version
      return handle;
    }
    if (problem.empty()) problem = dlerror();
  }
  problem = text(names.files.front(), " cannot be opened (", problem, "): install ", names.comes_with,
                 ", or add its folder to LD_LIBRARY_PATH");
  return nullptr;
}

std::vector<FoundLibrary> find_cuda_libraries() {
  std::vector<FoundLibrary> out;
  if (cuda_version().empty()) return out;
  for (const CudaLibrary library : {CudaLibrary::nvrtc, CudaLibrary::cublaslt, CudaLibrary::cudnn, CudaLibrary::nccl}) {
    if (library == CudaLibrary::cudnn && !*NEON_CUDNN_MAJOR) continue;  // built without
    if (library == CudaLibrary::nccl && !*NEON_NCCL_MAJOR) continue;
    FoundLibrary& found = out.emplace_back();
    found.name = names_of(library).name;
    void* const handle = open_library(library, found.problem);
    if (!handle) continue;
    void* symbol = nullptr;
    found.version = version_of(library, handle, symbol);
    if (Dl_info info{}; symbol && dladdr(symbol, &info) && info.dli_fname) found.path = info.dli_fname;
  }
  return out;
}

}  // namespace neon
