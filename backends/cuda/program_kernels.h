// The kernels of a program on the GPU: of libraries, chosen among their algorithms, and of generated source.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/exchanges.h"
#include "backends/cuda/library_kernel.h"
#include "backends/cuda/plan.h"
#include "backends/cuda/program_memory.h"

namespace neon::cuda {

class ProgramKernels {
 public:
  // `program` names the program in messages.
  ProgramKernels(const Lowered& lowered, std::shared_ptr<Engine> engine, std::string program)
      : lowered_(lowered), engine_(std::move(engine)), program_(std::move(program)) {}
  // Numbers the `scalars` of the step record.
  void make(const DeviceOptions& options, std::map<std::string, int>& scalars, const RingPlan& ring);

  size_t size() const { return kernels_.size(); }
  // Whether kernel k runs only when others have written the variables that it reads.
  bool is_once(size_t k) const { return lowered_.kernels[k].is_once(); }
  // Whether some kernel looks up rows, by indices that may not exist.
  bool look_up_rows() const { return looks_up_; }
  const std::vector<std::string>& implementations() const { return implementations_; }
  // Bytes that each kernel works in.
  std::vector<size_t> workspaces() const;
  // The kernels of libraries, with `anywhere` in place of inputs that are not bound yet.
  std::vector<EarlyLaunch> early_launches(const ProgramMemory& memory, void* anywhere) const;

  // Launches kernel k; `ring` is that of the results.
  void launch(size_t k, const ProgramMemory& memory, void* record, void* ring) const;
  // Lets what follows wait for kernel k, if that is an exchange.
  void join(size_t k) const;
  // Ends a step: what follows waits for all exchanges.
  void end_step() const { exchanges_->join_before(size()); }
  // Waits for kernel k if the device waits for each kernel, so that a failure names the kernel.
  void wait_for(size_t k) const;

 private:
  struct Kernel {
    CUfunction function = nullptr;  // or:
    std::unique_ptr<LibraryKernel> library;
    std::vector<Value> arrays;             // an invalid Value stands for none
    int64_t blocks = 1, shared_bytes = 0;  // of generated source
  };

  // Returns those that no library does.
  std::vector<size_t> choose_libraries(const std::vector<size_t>& asked, const DeviceOptions& options, ColdStart& cold);
  std::unique_ptr<LibraryKernel> library_kernel(size_t k, const LibraryOptions& options) const;
  void load_sources(const std::vector<Source>& sources, const std::vector<size_t>& kernels,
                    const std::vector<std::string>& codes);
  std::string describe(size_t k) const;

  const Lowered& lowered_;
  std::shared_ptr<Engine> engine_;
  const std::string program_;
  std::optional<Exchanges> exchanges_;
  Memory partials_;
  size_t ticket_bytes_ = 0;  // before the partial results
  std::vector<Kernel> kernels_;
  std::vector<LoadedCode> modules_;
  std::vector<std::string> implementations_;
  bool looks_up_ = false;
};

}  // namespace neon::cuda
