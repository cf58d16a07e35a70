#include "backends/cuda/driver.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "backends/device/device.h"

namespace neon::cuda {

namespace {

bool asked_to_wait() {
  const char* given = std::getenv(kWaitForKernels);
  return given && *given && std::string_view(given) != "0";
}

// Whether it is a fault of a kernel, which the driver reports after the kernel has started.
bool is_fault(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED: return true;
    default: return false;
  }
}

[[noreturn]] void no_room(size_t bytes, const std::string& what, size_t free, size_t all) {
  fail(ErrorKind::memory, "no room on the GPU for ", what, " of ", bytes_text(double(bytes)), ": ",
       bytes_text(double(free)), " of ", bytes_text(double(all)), " are free");
}

}  // namespace

void check(CUresult result, const std::string& doing, const std::string& of) {
  if (result == CUDA_SUCCESS) return;
  const char *name = nullptr, *words = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &words);
  const std::string message =
      text(doing, ": ", words ? words : "unknown error", " (", name ? name : "CUDA", " ", int(result), ")");
  if (is_fault(result) && asked_to_wait()) throw KernelFault(message, "");
  if (is_fault(result))
    throw KernelFault(text(message, ", in a kernel", of.empty() ? "" : " of ", of),
                      text("; only waiting for each kernel shows which one: ", kWaitForKernels,
                           "=1 in the environment does that, and names its op and layer"));
  fail(result == CUDA_ERROR_OUT_OF_MEMORY ? ErrorKind::memory : ErrorKind::device, message);
}

void Device::check(CUresult result, const std::string& doing) const { cuda::check(result, doing, running_); }

Device::Device(int index) : waits_for_kernels_(asked_to_wait()) {
  check(cuDeviceGet(&device_, index), text("opening GPU ", index));
  check(cuDevicePrimaryCtxRetain(&context_, device_), text("opening GPU ", index));
  make_current();
  int major = 0, minor = 0;
  check(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device_), "asking the GPU");
  check(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device_), "asking the GPU");
  check(cuDeviceGetAttribute(&processors_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_), "asking the GPU");
  check(cuDeviceTotalMem(&bytes_, device_), "asking the GPU");
  arch_ = 10 * major + minor;
  char name[256] = "";
  check(cuDeviceGetName(name, sizeof name, device_), "asking the GPU");
  name_ = name;
  check(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "making a stream");
}

Device::~Device() {
  if (stream_) cuStreamDestroy(stream_);
  if (context_) cuDevicePrimaryCtxRelease(device_);
}

bool Device::is_done() const {
  make_current();
  const CUresult result = cuStreamQuery(stream_);
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(result, "waiting for the GPU");
  return true;
}

size_t Device::free_bytes() const {
  make_current();
  size_t free = 0, all = 0;
  check(cuMemGetInfo(&free, &all), "asking the GPU for its memory");
  return free;
}

void Device::expect_room(size_t bytes, const std::string& what) const {
  make_current();
  size_t free = 0, all = 0;
  cuda::check(cuMemGetInfo(&free, &all), "asking the GPU for its memory");
  if (bytes > free) no_room(bytes, what, free, all);
}

Memory::Memory(std::shared_ptr<Device> device, size_t bytes, const std::string& what)
    : device_(std::move(device)), bytes_(bytes) {
  device_->make_current();
  const size_t wanted = std::max<size_t>(bytes, 16);
  if (const CUresult result = cuMemAlloc(&address_, wanted); result != CUDA_SUCCESS) {
    address_ = 0;
    size_t free = 0, all = 0;
    if (result == CUDA_ERROR_OUT_OF_MEMORY && cuMemGetInfo(&free, &all) == CUDA_SUCCESS)
      no_room(bytes, what, free, all);
    device_->check(result, text("taking ", bytes_text(double(bytes)), " of GPU memory for ", what));
  }
  device_->held_bytes_ += bytes;
  device_->peak_bytes_ = std::max<size_t>(device_->peak_bytes_, device_->held_bytes_);
  const CUresult cleared = cuMemsetD8Async(address_, 0, wanted, device_->stream());
  if (cleared != CUDA_SUCCESS) release();
  device_->check(cleared, "clearing GPU memory");
}

void Memory::release() noexcept {
  if (!address_) return;
  device_->use();
  cuStreamSynchronize(device_->stream());
  cuMemFree(address_);
  device_->held_bytes_ -= bytes_;
  address_ = 0;
}

void Memory::upload(const void* from, size_t bytes, size_t offset) const {
  device_->make_current();
  if (bytes) device_->check(cuMemcpyHtoDAsync(address_ + offset, from, bytes, device_->stream()), "copying to the GPU");
}

void Memory::download(void* to, size_t bytes, size_t offset) const {
  device_->make_current();
  if (bytes) device_->check(cuMemcpyDtoHAsync(to, address_ + offset, bytes, device_->stream()), "copying from the GPU");
  device_->wait("waiting for the GPU");
}

Pinned::Pinned(std::shared_ptr<Device> device, size_t bytes, const std::string& what) : device_(std::move(device)) {
  device_->make_current();
  device_->check(cuMemHostAlloc(&data_, std::max<size_t>(bytes, 16), 0),
                 text("taking ", bytes_text(double(bytes)), " of pinned memory for ", what));
}

void Pinned::release() noexcept {
  if (!data_) return;
  device_->use();
  cuMemFreeHost(data_);
  data_ = nullptr;
}

LoadedCode::LoadedCode(std::shared_ptr<Device> device, const std::string& code) : device_(std::move(device)) {
  device_->make_current();
  device_->check(cuModuleLoadData(&module_, code.data()), "loading a kernel");
}

LoadedCode::~LoadedCode() {
  if (!module_) return;
  device_->use();
  cuModuleUnload(module_);
}

CUfunction LoadedCode::function(const char* name) const {
  CUfunction found = nullptr;
  device_->check(cuModuleGetFunction(&found, module_, name), "loading a kernel");
  return found;
}

}  // namespace neon::cuda
