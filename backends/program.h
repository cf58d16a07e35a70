// A program: a lowered graph ready to run on one device.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/graph/lower.h"
#include "backends/memory.h"
#include "backends/variables.h"
#include "neon/core/tensor.h"

namespace neon {

// The first result of a run that is not finite.
struct Nonfinite {
  std::string text;  // describes it; "" where all are finite
  // Orders results of ranks, whose programs have the same exchanges: twice the exchanges before it, and one more where
  // it is the result of an exchange.
  int64_t place = 0;
};

class Program {
 public:
  virtual ~Program() = default;
  const Lowered& lowered() const { return lowered_; }
  // Memory of an input for the following runs; it stays the caller's. Shape and type are the graph's. After a change
  // to it, bind it again: a device has read it.
  virtual void bind(const std::string& input, const void* data) = 0;
  // The same for what does not change while it is bound: all programs of a device share one copy.
  virtual void bind_resident(const std::string& input, const void* data) { bind(input, data); }
  // An input of which each run reads the rows from `first` on; `data` holds `rows` of them. A GPU's programs get these
  // names when they are compiled (DeviceOptions::sequences). Give the first row anew after binding.
  virtual void bind_sequence(const std::string& input, const void* data, int64_t rows);
  virtual void set_first(int64_t row);
  // For a program compiled with callers_memory: where an input or variable lies for the following runs. It lies
  // `offset` bytes into the memory, a multiple of 16. An array that is read and one that is written may be the same
  // array, but must not overlap otherwise.
  virtual void bind_memory(const std::string& leaf, const DeviceMemory& memory, size_t offset) = 0;
  // Sends the runs off, so that the memory bound may be used for something else after them.
  virtual void release_memory() {}
  // A number of the step record; the last one set stays.
  virtual void set_scalar(const std::string& name, double value) = 0;
  // Runs all kernels once; on a device, some time before its results are asked for. `step` keys the random streams.
  // On a device, once output "finite" was 0, the runs that follow write no variable until go_on().
  virtual void run(uint64_t step) = 0;
  virtual void go_on() {}
  // The number of past runs whose output is remembered, and an element of that output, `back` runs before the last.
  virtual int depth(const std::string&) const { return 1; }
  virtual double recorded(const std::string& output, int64_t element = 0, int back = 0) const;
  // Value of an output after the last run; on the CPU it shares the program's memory.
  virtual Tensor output(const std::string& name) const = 0;
  // Which implementation each kernel has, in order: "onednn:brgemm", "fused", "plain", "cublaslt".
  virtual std::vector<std::string> implementations() const = 0;
  // From now on each run notes how long every kernel takes, and is sent off alone.
  virtual void time_kernels(bool on) = 0;
  // The kernels' times in the last run, in order.
  virtual std::vector<double> kernel_milliseconds() const = 0;
  // Runs once more, and looks at the results of every kernel. In a program compiled with fuse = false the first that is
  // not finite is that of an op.
  virtual Nonfinite first_nonfinite(uint64_t step) = 0;

 protected:
  Lowered lowered_;

 private:
  struct Sequence {
    const void* data;
    size_t row_bytes;
  };
  std::map<std::string, Sequence> sequences_;
};

class Ranks;

struct ProgramOptions {
  // On the CPU alone.
  int threads = 0;       // 0: available_threads()
  PassSet also = {};     // passes that a GPU wants: join, siblings and columns can be had on the CPU, too
  PassSet without = {};  // passes of the CPU that are left out
  bool plain = false;    // the plain kernels only, in double: what everything else is tested against
  // On either device.
  Ranks* ranks = nullptr;       // that exchange arrays with this one's; must outlive the program; not with `plain`
  bool fuse = true;             // false: a kernel for every node
  bool callers_memory = false;  // inputs and variables have no memory but what bind_memory gives them; not with `plain`
};

// Variables that the graph names are declared among `variables`. Throws a config error for an op without kernel.
std::unique_ptr<Program> compile_for_cpu(const Graph& graph, Variables& variables, const ProgramOptions& options = {});

}  // namespace neon
