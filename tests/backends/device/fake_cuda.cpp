// A driver for machines without a GPU: memory is the host's, streams do everything at once, and kernels do nothing.
// What a test wants of it stands in the environment:
//   FAKE_CUDA_VERSION  that the driver is for (13000)    FAKE_CUDA_INIT   what cuInit returns (0)
//   FAKE_CUDA_ARCH     compute capability (90), or those of the first GPUs: 35,90
//   FAKE_CUDA_MIB      memory (65536)
//   FAKE_CUDA_COUNT    of GPUs, with the same memory (1)
//   FAKE_CUDA_FAULT    the kernel, counted from 1, that accesses memory that it must not: as on a GPU, the next call
//   that
//                      waits or sends something hears of it, and all that follow
//   FAKE_CUDA_FILL     every byte of memory that is cleared, but for its first 64, where a program's faults are told
//                      (0); with 1 results are finite and no zeros, and a run trains nothing, but goes through
//   FAKE_CUDA_GIVES    a file, which an array as long as it is holds for who copies it to the host
//   FAKE_CUDA_TELLS    how many bytes an array must have for its sum to be printed when it is sent
// What the driver gives belongs to the GPU that the thread uses then, and is taken back, or used, in its name only.
#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#define NEON_FAKE extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI

namespace {

long setting(const char* name, long otherwise) {
  const char* given = std::getenv(name);
  return given ? std::atol(given) : otherwise;
}

int arch_of(CUdevice device) {
  const char* given = std::getenv("FAKE_CUDA_ARCH");
  for (int i = 0; given && i < device; ++i)
    if ((given = std::strchr(given, ','))) ++given;
  return given ? std::atoi(given) : 90;
}

thread_local long used_gpu = 0;  // its number and one, that of its context; 0 for none

// All that was given and not taken back, by handle.
struct Given {
  std::mutex mutex;
  std::map<const void*, long> of;  // the GPU, as above
  long refused = 0;
  void add(const void* handle) {
    const std::lock_guard lock(mutex);
    of[handle] = used_gpu;
  }
  CUresult check(const void* handle, bool takes_back = false) {
    const std::lock_guard lock(mutex);
    const auto found = of.find(handle);
    if (found == of.end() || used_gpu == 0 || found->second != used_gpu) return ++refused, CUDA_ERROR_INVALID_CONTEXT;
    if (takes_back) of.erase(found);
    return CUDA_SUCCESS;
  }
};

Given& given() {
  static Given only;
  return only;
}

// A thing that has an address, but no memory.
template <typename Handle>
CUresult give(Handle* out) {
  *out = static_cast<Handle>(std::malloc(1));
  given().add(*out);
  return CUDA_SUCCESS;
}
CUresult take(void* handle) {
  const CUresult result = given().check(handle, true);
  if (result == CUDA_SUCCESS) std::free(handle);
  return result;
}

struct Gpu {
  size_t bytes = size_t(setting("FAKE_CUDA_MIB", 65536)) << 20, used = 0;
  std::map<CUdeviceptr, size_t> arrays;
  long fault_at = setting("FAKE_CUDA_FAULT", 0), kernels = 0;
  bool faulty = false;

  CUresult state() const { return faulty ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS; }
  void run(long count) {
    if (fault_at > kernels && fault_at <= kernels + count) faulty = true;
    kernels += count;
  }
};

// Of the stream that the thread records.
thread_local bool recording = false;
thread_local long recorded = 0;  // kernels

Gpu& gpu() {
  static Gpu only;
  return only;
}

void* host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

void tell_sum(const void* array, size_t bytes) {
  unsigned long sum = 0;
  for (size_t i = 0; i < bytes; ++i) sum = sum * 31 + static_cast<const unsigned char*>(array)[i];
  std::fprintf(stderr, "sent: %zu bytes with the sum %lu\n", bytes, sum);
}

void give_file(void* to, size_t bytes) {
  const char* name = std::getenv("FAKE_CUDA_GIVES");
  std::FILE* const file = name ? std::fopen(name, "rb") : nullptr;
  if (!file) return;
  std::fseek(file, 0, SEEK_END);
  if (std::ftell(file) == long(bytes)) {
    std::rewind(file);
    if (std::fread(to, 1, bytes, file) != bytes) std::abort();
  }
  std::fclose(file);
}

// Of a call that sends something to a stream.
CUresult sent_to(CUstream stream) {
  const CUresult result = given().check(stream);
  return result == CUDA_SUCCESS ? gpu().state() : result;
}

}  // namespace

// For tests: what was given and not taken back, and calls that were refused because they were of another GPU.
extern "C" __attribute__((visibility("default"))) long fake_cuda_given() { return long(given().of.size()); }
extern "C" __attribute__((visibility("default"))) long fake_cuda_refused() { return given().refused; }

NEON_FAKE cuInit(unsigned) { return CUresult(setting("FAKE_CUDA_INIT", 0)); }
NEON_FAKE cuDriverGetVersion(int* version) {
  *version = int(setting("FAKE_CUDA_VERSION", 13000));
  return CUDA_SUCCESS;
}
NEON_FAKE cuDeviceGetCount(int* count) {
  *count = int(setting("FAKE_CUDA_COUNT", 1));
  return CUDA_SUCCESS;
}

NEON_FAKE cuGetErrorName(CUresult result, const char** name) {
  *name = result == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
  return CUDA_SUCCESS;
}
NEON_FAKE cuGetErrorString(CUresult result, const char** words) {
  *words = result == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "something is wrong";
  return CUDA_SUCCESS;
}

NEON_FAKE cuDeviceGet(CUdevice* device, int index) {
  *device = index;
  return CUDA_SUCCESS;
}
NEON_FAKE cuDeviceGetName(char* name, int length, CUdevice) {
  std::snprintf(name, size_t(length), "Fake GPU");
  return CUDA_SUCCESS;
}
NEON_FAKE cuDeviceTotalMem(size_t* bytes, CUdevice) {
  *bytes = gpu().bytes;
  return CUDA_SUCCESS;
}
NEON_FAKE cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  const int arch = arch_of(device);
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? arch / 10
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? arch % 10
                                                                       : 100;
  return CUDA_SUCCESS;
}

NEON_FAKE cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  std::snprintf(id, size_t(length), "0000:%02X:00.0", 26 + device);
  return CUDA_SUCCESS;
}
// Neighbours have NVLink, and those of a number that FAKE_CUDA_APART names no link at all.
NEON_FAKE cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice one, CUdevice other) {
  const long apart = setting("FAKE_CUDA_APART", -1);
  const bool direct = one != apart && other != apart;
  *value = direct && (attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED || one / 2 == other / 2);
  return CUDA_SUCCESS;
}

NEON_FAKE cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
  *out = reinterpret_cast<CUcontext>(long(device) + 1);
  return CUDA_SUCCESS;
}
NEON_FAKE cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
NEON_FAKE cuCtxSetCurrent(CUcontext context) {
  used_gpu = reinterpret_cast<long>(context);
  return CUDA_SUCCESS;
}
NEON_FAKE cuCtxSynchronize() { return gpu().state(); }

NEON_FAKE cuMemAlloc(CUdeviceptr* out, size_t bytes) {
  if (gpu().used + bytes > gpu().bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = reinterpret_cast<CUdeviceptr>(std::calloc(1, bytes));
  gpu().arrays[*out] = bytes;
  gpu().used += bytes;
  given().add(host(*out));
  return CUDA_SUCCESS;
}
NEON_FAKE cuMemFree(CUdeviceptr at) {
  if (const CUresult result = given().check(host(at), true); result != CUDA_SUCCESS) return result;
  gpu().used -= gpu().arrays.at(at);
  gpu().arrays.erase(at);
  std::free(host(at));
  return CUDA_SUCCESS;
}
NEON_FAKE cuMemGetInfo(size_t* free, size_t* all) {
  *all = gpu().bytes;
  *free = gpu().bytes - gpu().used;
  return CUDA_SUCCESS;
}
NEON_FAKE cuMemHostAlloc(void** out, size_t bytes, unsigned) {
  *out = std::calloc(1, bytes);
  given().add(*out);
  return CUDA_SUCCESS;
}
NEON_FAKE cuMemFreeHost(void* at) { return take(at); }
NEON_FAKE cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  std::memcpy(host(to), from, bytes);
  if (long(bytes) == setting("FAKE_CUDA_TELLS", -1)) tell_sum(from, bytes);
  return sent_to(stream);
}
NEON_FAKE cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  std::memcpy(to, host(from), bytes);
  give_file(to, bytes);
  return sent_to(stream);
}
NEON_FAKE cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  std::memmove(host(to), host(from), bytes);
  return sent_to(stream);
}
NEON_FAKE cuMemsetD8Async(CUdeviceptr at, unsigned char value, size_t bytes, CUstream stream) {
  constexpr size_t kOfFaults = 64;
  std::memset(host(at), value, std::min(bytes, kOfFaults));
  if (bytes > kOfFaults)
    std::memset(static_cast<char*>(host(at)) + kOfFaults, int(setting("FAKE_CUDA_FILL", value)), bytes - kOfFaults);
  return sent_to(stream);
}

NEON_FAKE cuModuleLoadData(CUmodule* out, const void*) { return give(out); }
NEON_FAKE cuModuleUnload(CUmodule module) { return take(module); }
NEON_FAKE cuModuleGetFunction(CUfunction* out, CUmodule module, const char*) {
  *out = reinterpret_cast<CUfunction>(module);
  return given().check(module);
}
NEON_FAKE cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
NEON_FAKE cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                         void**, void**) {
  if (recording) ++recorded;
  else gpu().run(1);
  return CUDA_SUCCESS;
}

// The handle of a graph is the number of its kernels, and one.
NEON_FAKE cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  if (const CUresult result = given().check(stream); result != CUDA_SUCCESS) return result;
  recording = true;
  recorded = 0;
  return CUDA_SUCCESS;
}
NEON_FAKE cuStreamEndCapture(CUstream, CUgraph* out) {
  recording = false;
  *out = reinterpret_cast<CUgraph>(recorded + 1);
  return CUDA_SUCCESS;
}
NEON_FAKE cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long) {
  *out = reinterpret_cast<CUgraphExec>(graph);
  return CUDA_SUCCESS;
}
NEON_FAKE cuGraphLaunch(CUgraphExec graph, CUstream) {
  if (!gpu().faulty) gpu().run(reinterpret_cast<long>(graph) - 1);
  return CUDA_SUCCESS;
}
NEON_FAKE cuGraphDestroy(CUgraph) { return CUDA_SUCCESS; }
NEON_FAKE cuGraphExecDestroy(CUgraphExec) { return CUDA_SUCCESS; }

NEON_FAKE cuStreamCreate(CUstream* out, unsigned) { return give(out); }
NEON_FAKE cuStreamDestroy(CUstream stream) { return take(stream); }
NEON_FAKE cuStreamSynchronize(CUstream) { return gpu().state(); }
NEON_FAKE cuStreamWaitEvent(CUstream, CUevent, unsigned) { return gpu().state(); }
NEON_FAKE cuEventCreate(CUevent* out, unsigned) { return give(out); }
NEON_FAKE cuEventDestroy(CUevent event) { return take(event); }
NEON_FAKE cuEventRecord(CUevent, CUstream) { return CUDA_SUCCESS; }
NEON_FAKE cuEventQuery(CUevent) { return gpu().state(); }
NEON_FAKE cuEventSynchronize(CUevent) { return gpu().state(); }
NEON_FAKE cuEventElapsedTime(float* milliseconds, CUevent, CUevent) {
  *milliseconds = 1;
  return CUDA_SUCCESS;
}
