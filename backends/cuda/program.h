// A program on the GPU: one CUDA graph of all kernels of a step, of several steps where there are some to do.
//
// The host queues runs as rows of the step record; a full queue, or a result asked for, sends the rows and launches the
// graph. Small outputs of every run go to a ring on the device that is copied when the host asks; nothing else waits.
#pragma once
#include <map>
#include <optional>

#include "backends/cuda/engine.h"
#include "backends/cuda/library_kernel.h"
#include "backends/cuda/plan.h"
#include "backends/cuda/state.h"
#include "backends/graph/plan.h"

namespace neon::cuda {

class CudaRing;
class Marks;

class CudaProgram : public Program {
 public:
  CudaProgram(const Graph& graph, Variables& variables, const DeviceOptions& options, std::shared_ptr<Engine> engine);
  ~CudaProgram() override;

  void bind(const std::string& input, const void* data) override;
  void bind_resident(const std::string& input, const void* data) override;
  void bind_sequence(const std::string& input, const void* data, int64_t rows) override;
  void set_first(int64_t row) override { first_ = row; }
  void bind_memory(const std::string& leaf, const DeviceMemory& memory, size_t offset) override;
  void release_memory() override;
  // Inputs of the ring's names are its slots from now on, and every run is sent off at once, behind the copy of what it
  // reads. The ring tells when it goes.
  void bind_ring(CudaRing* ring);
  // The ring ends before this. A run that is still queued could not be started, which was reported.
  void leave_ring();
  void set_scalar(const std::string& name, double value) override;
  void run(uint64_t step) override;
  void go_on() override;
  int depth(const std::string& output) const override;
  double recorded(const std::string& output, int64_t element, int back) const override;
  Tensor output(const std::string& name) const override;
  std::vector<std::string> implementations() const override { return implementations_; }
  void time_kernels(bool on) override;
  std::vector<double> kernel_milliseconds() const override;
  std::string first_nonfinite(uint64_t step) override;
  void flush();

 private:
  struct Kernel {
    CUfunction function = nullptr;  // or:
    std::unique_ptr<LibraryKernel> library;
    std::vector<Value> arrays;  // of a library's: a, b, bias or none, c
    void* workspace = nullptr;  // of a library's
    int64_t blocks = 1;
  };
  struct Input {
    Value value;
    std::shared_ptr<Memory> memory;
    const void* host = nullptr;
  };

  void place_leaves(Variables& variables, bool callers_memory);
  void make_ring();
  void expect_room();
  void make_kernels(const DeviceOptions& options);
  void place_values();
  void begin_early_launches();
  // Sets addresses in the memory of values as it is now.
  void find_values();
  void follow_scratch();
  // Returns those that no library does.
  std::vector<size_t> choose_libraries(const std::vector<size_t>& asked, const DeviceOptions& options, ColdStart& cold);
  std::unique_ptr<LibraryKernel> library_kernel(size_t kernel, const LibraryOptions& options);
  void load_sources(const std::vector<Source>& sources, const std::vector<size_t>& kernels,
                    const std::vector<std::string>& codes);
  void set_memory(Input& input, std::shared_ptr<Memory> memory);
  Input* find_input(const std::string& name);
  void* address(Value value) const;
  void* record(int row) const;
  void launch_kernels(int row);
  void launch_once();
  void wait_for(size_t kernel) const;
  void launch(size_t kernel, void* record);
  std::string describe(size_t kernel) const;
  CUgraphExec graph_of(int runs);
  void drop_graphs();
  void synchronize() const;

  Graph graph_;
  Variables& variables_;
  std::shared_ptr<Engine> engine_;
  const std::string name_;
  SharedPlaces places_;
  std::optional<ScratchShare> share_;  // for values of a run, and what libraries work in
  int64_t scratch_moves_ = 0;          // the move whose addresses slots_ have
  Memory kept_, records_, ring_, partials_;
  Pinned host_ring_;          // State, then the ring
  size_t ticket_bytes_ = 0;   // before the partial results
  std::vector<void*> slots_;  // by storage value
  std::map<std::string, Input> inputs_;
  std::vector<Kernel> kernels_;
  std::vector<LoadedCode> modules_;
  std::vector<std::string> implementations_;
  std::map<std::string, int> scalars_;
  std::vector<double> scalar_values_;
  RingPlan ring_plan_;
  WritesSeen seen_;
  bool news_ = false;  // others have written variables since the last launch
  int64_t first_ = 0;
  std::vector<uint64_t> queue_;  // rows of the record that were not sent yet
  int queued_ = 0;
  uint64_t runs_ = 0, synchronized_ = 0;
  std::map<int, CUgraphExec> graphs_;  // by number of runs
  std::unique_ptr<Marks> marks_;       // around every kernel, where they are timed
  CudaRing* batches_ = nullptr;        // where batches come from, if they do
  bool moved_ = false;                 // an address has changed since the last launch
  bool looks_up_ = false;              // rows, by indices that may not exist
};

}  // namespace neon::cuda
