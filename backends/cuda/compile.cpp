#include "backends/cuda/compile.h"

#include <nvrtc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "backends/cuda/library.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/core/random.h"
#include "neon/core/text.h"
#include "neon/core/threads.h"

namespace neon::cuda {

namespace {

struct Nvrtc {
  Library library{{"libnvrtc.so." NEON_CUDA_MAJOR, "libnvrtc.so"}, "compiling kernels"};
  decltype(nvrtcVersion)* version;
  decltype(nvrtcCreateProgram)* create;
  decltype(nvrtcDestroyProgram)* destroy;
  decltype(nvrtcCompileProgram)* compile;
  decltype(nvrtcGetProgramLogSize)* log_size;
  decltype(nvrtcGetProgramLog)* log;
  decltype(nvrtcGetCUBINSize)* cubin_size;
  decltype(nvrtcGetCUBIN)* cubin;
  Nvrtc() {
    library.find(version, "nvrtcVersion");
    library.find(create, "nvrtcCreateProgram");
    library.find(destroy, "nvrtcDestroyProgram");
    library.find(compile, "nvrtcCompileProgram");
    library.find(log_size, "nvrtcGetProgramLogSize");
    library.find(log, "nvrtcGetProgramLog");
    library.find(cubin_size, "nvrtcGetCUBINSize");
    library.find(cubin, "nvrtcGetCUBIN");
  }
};

const Nvrtc& nvrtc() {
  static const Nvrtc loaded;
  return loaded;
}

std::string compile(const std::string& source, int arch) {
  nvrtcProgram program = nullptr;
  if (nvrtc().create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
    fail(ErrorKind::failed, "NVRTC takes no source");
  const std::unique_ptr<nvrtcProgram, void (*)(nvrtcProgram*)> owner(&program,
                                                                     [](nvrtcProgram* p) { nvrtc().destroy(p); });
  const std::string target = text("-arch=sm_", arch);
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
  nvrtc().cubin_size(program, &size);
  std::string code(size, '\0');
  nvrtc().cubin(program, code.data());
  return code;
}

std::string hex(uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", (unsigned long long)value);
  return digits;
}

// One file a kernel: a line that says what it is of, then the code. A file that is not whole is compiled anew.
class Cache {
 public:
  explicit Cache(int arch) : arch_(arch) {
    try {
      const std::string root = cache_dir();
      folder_ = join_path(root, "cuda");
      for (size_t at = root.find('/', 1); at != root.npos; at = root.find('/', at + 1))
        mkdir(root.substr(0, at).c_str(), 0700);
      mkdir(root.c_str(), 0700);
      mkdir(folder_.c_str(), 0700);
    } catch (const Error&) {
      folder_.clear();  // no home
    }
  }

  bool read(const std::string& source, std::string& code) const {
    std::FILE* file = folder_.empty() ? nullptr : std::fopen(path(source).c_str(), "rb");
    if (!file) return false;
    std::string bytes;
    char block[65536];
    for (size_t n; (n = std::fread(block, 1, sizeof block, file)) > 0;) bytes.append(block, n);
    std::fclose(file);
    const size_t line = bytes.find('\n');
    if (line == bytes.npos) return false;
    code = bytes.substr(line + 1);
    return bytes.substr(0, line) == head(source, code);
  }

  void write(const std::string& source, const std::string& code) const {
    if (folder_.empty()) return;
    const std::string to = path(source), part = text(to, ".", getpid(), ".part");
    std::FILE* file = std::fopen(part.c_str(), "wb");
    if (!file) return;
    const std::string bytes = head(source, code) + "\n" + code;
    const bool whole = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    if (std::fclose(file) == 0 && whole && std::rename(part.c_str(), to.c_str()) == 0) return;
    std::remove(part.c_str());
  }

 private:
  std::string path(const std::string& source) const {
    const std::string salt = text("sm_", arch_, " ", NEON_CUDA_VERSION, " ");
    return join_path(folder_, hex(hash_name(salt + source)) + hex(hash_name(source + salt)) + ".cubin");
  }
  std::string head(const std::string& source, const std::string& code) const {
    return text("neon cubin sm_", arch_, " ", NEON_CUDA_VERSION, " ", source.size(), " ", code.size(), " ",
                hex(hash_name(code)));
  }
  int arch_;
  std::string folder_;
};

}  // namespace

std::string nvrtc_version() {
  int major = 0, minor = 0;
  nvrtc().version(&major, &minor);
  return text(major, ".", minor);
}

std::vector<std::string> compile_sources(const std::vector<std::string>& sources, int arch) {
  const Cache cache(arch);
  std::vector<std::string> codes(sources.size());
  std::map<std::string, std::vector<size_t>> wanted;
  for (size_t i = 0; i < sources.size(); ++i)
    if (!cache.read(sources[i], codes[i])) wanted[sources[i]].push_back(i);
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
