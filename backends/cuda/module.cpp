// The functions that the executable finds when it opens the module.
#include <functional>
#include <mutex>

#include "backends/cuda/batch_ring.h"
#include "backends/cuda/convolution.h"
#include "backends/cuda/plan.h"
#include "backends/cuda/product.h"
#include "backends/cuda/program.h"
#include "neon/core/version.h"

namespace neon::cuda {

namespace {

// CUDA 13 compiles for none older than 7.5, CUDA 12 for none older than 5.0.
constexpr int kLeastArch = CUDA_VERSION >= 13000 ? 75 : 50;

class Module : public GpuModule {
 public:
  std::vector<GpuInfo> devices() override {
    int count = 0;
    check(cuDeviceGetCount(&count), "counting GPUs");
    std::vector<GpuInfo> out;
    for (int i = 0; i < count; ++i) {
      CUdevice device = 0;
      check(cuDeviceGet(&device, i), "asking a GPU");
      GpuInfo info;
      char name[256] = "";
      int major = 0, minor = 0;
      check(cuDeviceGetName(name, sizeof name, device), "asking a GPU");
      check(cuDeviceTotalMem(&info.bytes, device), "asking a GPU");
      check(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device), "asking a GPU");
      check(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device), "asking a GPU");
      char pci[32] = "";
      if (cuDeviceGetPCIBusId(pci, sizeof pci, device) == CUDA_SUCCESS) info.pci = pci;
      info.name = name;
      info.arch = 10 * major + minor;
      if (info.arch < kLeastArch)
        info.unusable = text("compute capability ", major, ".", minor, " is older than ", kLeastArch / 10, ".",
                             kLeastArch % 10, ", the oldest that CUDA ", NEON_CUDA_VERSION, " compiles for");
      out.push_back(std::move(info));
    }
    return out;
  }

  std::vector<GpuLink> links() override {
    int count = 0;
    check(cuDeviceGetCount(&count), "counting GPUs");
    std::vector<GpuLink> out;
    for (int first = 0; first < count; ++first)
      for (int second = first + 1; second < count; ++second) {
        const auto has = [&](CUdevice_P2PAttribute attribute) {
          CUdevice one = 0, other = 0;
          int value = 0;
          check(cuDeviceGet(&one, first), "asking a GPU");
          check(cuDeviceGet(&other, second), "asking a GPU");
          check(cuDeviceGetP2PAttribute(&value, attribute, one, other), "asking for the link of two GPUs");
          return value != 0;
        };
        out.push_back({first, second, has(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED),
                       has(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)});
      }
    return out;
  }

  std::vector<std::jthread> wake(int index, bool own_library) override {
    const std::function open_device = [this, index] { return engine(index)->device; };
    std::vector<std::jthread> out;
    const auto begin = [&](auto open) {
      out.emplace_back([open, open_device] {
        try {
          open(open_device);
        } catch (const std::exception&) {
        }
      });
    };
    try {
      begin([](const auto& open) { open(); });
      if (own_library) begin(open_convolution_library), begin(open_product_library);
    } catch (const std::exception&) {  // no thread more, nor is one needed
    }
    return out;
  }

  size_t free_bytes(int index) override { return engine(index)->device->free_bytes(); }

  size_t peak_bytes(int index) override { return engine(index)->device->peak_bytes(); }

  std::string driver_version() override {
    int driver = 0;
    check(cuDriverGetVersion(&driver), "asking the driver");
    return text("for CUDA ", driver / 1000, ".", driver % 1000 / 10);
  }

  MemoryNeeds needs_of(const Graph& graph, const DeviceOptions& options) override {
    return cuda::needs_of(graph, options, *engine(options.gpu_index)->device);
  }

  std::unique_ptr<Program> compile(const Graph& graph, Variables& variables, const DeviceOptions& options) override {
    return std::make_unique<CudaProgram>(graph, variables, options, engine(options.gpu_index));
  }

  std::shared_ptr<DeviceMemory> memory(size_t bytes, int gpu_index) override {
    return std::make_shared<ArrayMemory>(engine(gpu_index), bytes);
  }

  std::unique_ptr<BatchRing> ring(std::vector<RingInput> inputs, int slots, int gpu_index) override {
    return std::make_unique<CudaRing>(std::move(inputs), slots, engine(gpu_index));
  }

 private:
  std::shared_ptr<Engine> engine(int gpu_index) {
    const std::lock_guard lock(mutex_);
    auto& known = engines_[gpu_index];
    if (!known) known = std::make_shared<Engine>(gpu_index);
    known->device->make_current();  // another thread may have opened it
    return known;
  }

  std::mutex mutex_;
  std::map<int, std::shared_ptr<Engine>> engines_;
};

// Why the driver cannot be used, or "".
std::string problem_of_driver(bool& no_gpu) {
  int driver = 0, count = 0;
  cuDriverGetVersion(&driver);
  const CUresult result = cuInit(0);
  no_gpu = result == CUDA_ERROR_NO_DEVICE || (result == CUDA_SUCCESS && (cuDeviceGetCount(&count), count == 0));
  if (no_gpu) return "there is no NVIDIA GPU";
  // An old driver may lack functions that a new one's words come from.
  if (driver > 0 && driver / 1000 < std::stoi(NEON_CUDA_MAJOR))
    return text("the NVIDIA driver is too old: it is for CUDA ", driver / 1000, ".", driver % 1000 / 10,
                ", and neon was built with ", NEON_CUDA_VERSION);
  if (result == CUDA_SUCCESS) return "";
  const char* words = nullptr;
  cuGetErrorString(result, &words);
  return text("the NVIDIA driver does not start: ", words ? words : "unknown error", " (CUDA ", int(result), ")");
}

}  // namespace

}  // namespace neon::cuda

// `no_gpu`: nothing is there, so that nobody need hear why it is not used.
extern "C" __attribute__((visibility("default"))) neon::GpuModule* neon_open_cuda(const std::string& version,
                                                                                  std::string* why_not, bool* no_gpu) {
  // version() would be the executable's, in which the module finds what it needs of neon.
  if (version != NEON_MODULE_VERSION) {
    *why_not = neon::text("the GPU module is of neon ", NEON_MODULE_VERSION, ", the program of ", version);
    return nullptr;
  }
  *why_not = neon::cuda::problem_of_driver(*no_gpu);
  if (!why_not->empty()) return nullptr;
  static neon::cuda::Module* const module = new neon::cuda::Module;  // lives as long as the driver
  return module;
}
