// A program: a lowered graph ready to run on one device, and the variables that programs share.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/graph/lower.h"
#include "backends/memory.h"
#include "neon/core/tensor.h"

namespace neon {

class Variables;

// The copies of variables that the programs of one device work on.
class VariableMirror {
 public:
  virtual ~VariableMirror() = default;
  virtual void upload(Variables& variables) = 0;
  virtual void download(Variables& variables) = 0;
};

// Parameters, optimizer state, running statistics: arrays by name that outlive every program. The programs of a GPU
// share copies of their own there; on the CPU the arrays are the only ones, and the two calls move nothing. Programs of
// either keep what they have made of variables, until another writes those or to_device() is called.
class Variables {
 public:
  // After the host wrote to its arrays.
  void to_device() {
    note_writes();
    mirror_ ? mirror_->upload(*this) : void();
  }
  void to_host() { mirror_ ? mirror_->download(*this) : void(); }  // before the host reads them
  // Another number after everyone who wrote to them.
  uint64_t writes() const { return writes_; }
  void note_writes() { ++writes_; }
  const std::shared_ptr<VariableMirror>& mirror() const { return mirror_; }
  void set_mirror(std::shared_ptr<VariableMirror> mirror) { mirror_ = std::move(mirror); }

  // Makes a zero array, or checks that the one of this name is of this type.
  Tensor& declare(const std::string& name, DType dtype, const Shape& shape);
  Tensor& at(const std::string& name);
  const Tensor& at(const std::string& name) const;
  bool has(const std::string& name) const { return tensors_.count(name) > 0; }
  const std::map<std::string, Tensor>& all() const { return tensors_; }

 private:
  std::map<std::string, Tensor> tensors_;
  std::shared_ptr<VariableMirror> mirror_;
  uint64_t writes_ = 0;
};

// What one program has seen of the writes to its variables.
class WritesSeen {
 public:
  // Before a run, which writes variables or not: whether others have written some since the last one.
  bool take(Variables& variables, bool run_writes) {
    const bool news = seen_ != variables.writes();
    if (run_writes) variables.note_writes();
    seen_ = variables.writes();
    return news;
  }

 private:
  uint64_t seen_ = ~uint64_t(0);
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
  // An input of which each run reads the rows from `first` on; `data` holds `rows` of them. A GPU's programs are told
  // of these when they are compiled. Give the first row anew after binding.
  virtual void bind_sequence(const std::string& input, const void* data, int64_t rows);
  virtual void set_first(int64_t row);
  // Of a program compiled with callers_memory: where an input or variable lies for the following runs, `offset` bytes
  // into the memory, a multiple of 16. What is read and what is written may be the same array, but not overlap
  // otherwise.
  virtual void bind_memory(const std::string& leaf, const DeviceMemory& memory, size_t offset) = 0;
  // Sends the runs off, so that the memory bound may be used for something else after them.
  virtual void release_memory() {}
  // A number of the step record; the last one set stays.
  virtual void set_scalar(const std::string& name, double value) = 0;
  // Runs all kernels once; on a device, some time before its results are asked for. `step` keys the random streams.
  // On a device, once output "finite" was 0, the runs that follow write no variable until go_on().
  virtual void run(uint64_t step) = 0;
  virtual void go_on() {}
  // Of how many past runs an output is remembered, and an element of it, `back` runs before the last.
  virtual int depth(const std::string&) const { return 1; }
  virtual double recorded(const std::string& output, int64_t element = 0, int back = 0) const;
  // Value of an output after the last run; on the CPU it shares the program's memory.
  virtual Tensor output(const std::string& name) const = 0;
  // Which implementation each kernel has, in order: "onednn:brgemm", "fused", "plain", "cublaslt".
  virtual std::vector<std::string> implementations() const = 0;
  // From now on each run notes how long every kernel takes, and is sent off alone.
  virtual void time_kernels(bool on) = 0;
  // Of the last run, in order.
  virtual std::vector<double> kernel_milliseconds() const = 0;
  // Runs once more, looking at the results of every kernel: describes the first that is not finite, or "".
  // Of a program compiled with fuse = false it is the first op.
  virtual std::string first_nonfinite(uint64_t step) = 0;

 protected:
  Lowered lowered_;

 private:
  struct Sequence {
    const void* data;
    size_t row_bytes;
  };
  std::map<std::string, Sequence> sequences_;
};

struct CpuOptions {
  int threads = 0;     // 0: available_threads()
  bool fuse = true;    // false: a kernel for every node
  PassSet also = {};   // passes that a GPU wants: remake, join, siblings and columns can be had here, too
  bool plain = false;  // the plain kernels only, in double: what everything else is tested against
  // Inputs and variables have no memory but what bind_memory gives them. Not with `plain`.
  bool callers_memory = false;
};

// Variables that the graph names are declared among `variables`. Throws a config error for an op without kernel.
std::unique_ptr<Program> compile_for_cpu(const Graph& graph, Variables& variables, const CpuOptions& options = {});

}  // namespace neon
