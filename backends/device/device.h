// Programs for the device that a run asked for: the CPU, or a GPU through the module that is opened when it is needed.
#pragma once
#include <thread>

#include "backends/batch_ring.h"

namespace neon {

// Hears of what takes long; perhaps from another thread, while the one that compiles waits.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void waiting(const std::string& what) = 0;
};

struct DeviceOptions {
  bool gpu = false;
  int gpu_index = 0;
  // Inputs that bind_sequence() will give.
  std::vector<std::string> sequences = {};
  // Algorithms may be chosen by the clock; without, the same are taken each time.
  bool timed = false;
  // Products of f32 may take operands rounded to 10 bits of mantissa (TF32), which tensor cores are made for.
  bool tf32 = false;
  // For a GPU: bytes of a batch's arrays that a convolution takes at a time; 0: as many as its library is fast with.
  size_t piece_bytes = 0;
  // The program's name in messages.
  std::string name = "a program";
  // Is told when a program takes long to compile, as it does the first time on a machine.
  Listener* listener = nullptr;
  ProgramOptions program = {};
};

// One of CUDA's libraries cannot be opened, which the message names. The driver and the GPU are there.
class MissingLibrary : public Error {
 public:
  explicit MissingLibrary(const std::string& message) : Error(ErrorKind::device, message) {}
};

// Throws a device error where the GPU cannot be used, ErrorKind::memory where there is no room.
std::unique_ptr<Program> compile_program(const Graph& graph, Variables& variables, const DeviceOptions& options);

// Memory of the device for arrays; what is in it is left open. Throws as compile_program does.
std::shared_ptr<DeviceMemory> make_memory(size_t bytes, const DeviceOptions& options);

// Throws as compile_program does.
std::unique_ptr<BatchRing> make_ring(std::vector<RingInput> inputs, int slots, const DeviceOptions& options);

struct GpuInfo {
  std::string name;
  int arch = 0;          // compute capability, 90 for 9.0
  size_t bytes = 0;      // of memory
  std::string unusable;  // why it is not used; "" where it is
  std::string pci;       // its place on the bus, 0000:1B:00.0; "" where the driver does not say
};

// How two GPUs reach each other's memory.
struct GpuLink {
  int first = 0, second = 0;
  bool direct = false;   // otherwise through the host's memory
  bool atomics = false;  // which work over NVLink, and not over PCIe
};

// A kernel has failed on the GPU, and nothing can be done there any more in this process.
class KernelFault : public Error {
 public:
  KernelFault(const std::string& message, const std::string& hint)
      : Error(ErrorKind::device, message + hint), message_(message), hint_(hint) {}
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }  // how the kernel can be found; "" where the message names it

 private:
  std::string message_, hint_;
};
// In the environment, with "1": each kernel is waited for, so that the one that fails is named.
constexpr const char* kWaitForKernels = "NEON_GPU_WAIT";

// Bytes of a GPU's memory that a program takes.
struct MemoryNeeds {
  size_t own = 0;      // results, records
  size_t shared = 0;   // by all programs, as much as the one that needs most: values of a step, what libraries work in
  size_t passing = 0;  // while algorithms are timed
  size_t variables = 0;  // copies that programs of the same variables share
};

// The interface of the GPU module; it is opened at most once.
class GpuModule {
 public:
  virtual ~GpuModule() = default;
  virtual std::vector<GpuInfo> devices() = 0;
  virtual std::vector<GpuLink> links() = 0;  // of each two GPUs
  // Threads that open a GPU while the caller does other work: it takes a few tenths of a second. With `own_library`,
  // for convolutions or attention, they also open the libraries for these. A failure shows again, with a message, where
  // the GPU or library is needed.
  virtual std::vector<std::jthread> wake(int index, bool own_library) = 0;
  // Memory that is free now.
  virtual size_t free_bytes(int index) = 0;
  // The most memory that programs and arrays took at any time.
  virtual size_t peak_bytes(int index) = 0;
  virtual std::string driver_version() = 0;  // "for CUDA 13.0"
  // Besides inputs. A bound where a library chooses for itself.
  virtual MemoryNeeds needs_of(const Graph& graph, const DeviceOptions& options) = 0;
  virtual std::unique_ptr<Program> compile(const Graph& graph, Variables& variables, const DeviceOptions& options) = 0;
  virtual std::shared_ptr<DeviceMemory> memory(size_t bytes, int gpu_index) = 0;
  virtual std::unique_ptr<BatchRing> ring(std::vector<RingInput> inputs, int slots, int gpu_index) = 0;
};

// Null, and the reason, where there is no module, no driver or no GPU that can be used.
GpuModule* gpu_module(std::string& why_not);
// Why a GPU that seems to be there is not used; "" where none is, or nothing is in its way.
std::string unused_gpu();
// Throws a device error when GPU `index` cannot be used; lists those there are.
void check_gpu(int index);

}  // namespace neon
