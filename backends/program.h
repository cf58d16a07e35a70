// A program: a lowered graph ready to run on one device, and the variables that programs share.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/graph/lower.h"
#include "neon/core/tensor.h"

namespace neon {

// Parameters, optimizer state, running statistics: arrays by name that outlive every program.
class Variables {
 public:
  // Makes a zero array, or checks that the one of this name is of this type.
  Tensor& declare(const std::string& name, DType dtype, const Shape& shape);
  Tensor& at(const std::string& name);
  const Tensor& at(const std::string& name) const;
  bool has(const std::string& name) const { return tensors_.count(name) > 0; }
  const std::map<std::string, Tensor>& all() const { return tensors_; }

 private:
  std::map<std::string, Tensor> tensors_;
};

class Program {
 public:
  virtual ~Program() = default;
  const Lowered& lowered() const { return lowered_; }
  // Memory of an input for the following runs; it stays the caller's. Shape and type are the graph's.
  virtual void bind(const std::string& input, const void* data) = 0;
  // A number of the step record; the last one set stays.
  virtual void set_scalar(const std::string& name, double value) = 0;
  // Runs all kernels once. `step` keys the random streams.
  virtual void run(uint64_t step) = 0;
  // Value of an output after the last run; shares the program's memory.
  virtual Tensor output(const std::string& name) const = 0;
  // Which implementation each kernel has, in order: "onednn:brgemm", "fused", "plain".
  virtual std::vector<std::string> implementations() const = 0;
  // Runs once more, looking at the results of every kernel: describes the first that is not finite, or "".
  // Of a program compiled with fuse = false it is the first op.
  virtual std::string first_nonfinite(uint64_t step) = 0;

 protected:
  Lowered lowered_;
};

struct CpuOptions {
  int threads = 0;     // 0: available_threads()
  bool fuse = true;    // false: a kernel for every node
  bool plain = false;  // the plain kernels only, in double: what everything else is tested against
};

// Variables that the graph names are declared among `variables`. Throws a config error for an op without kernel.
std::unique_ptr<Program> compile_for_cpu(const Graph& graph, Variables& variables, const CpuOptions& options = {});

}  // namespace neon
