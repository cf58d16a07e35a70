// Kernels of the CPU, and the table they enter by the op's name. Several implementations of one op stand in
// order of preference; each may decline a case (a type, a shape), then the next is asked.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/graph/lower.h"
#include "backends/program.h"

namespace neon::cpu {

struct Run {
  uint64_t step = 0;
  const double* scalars = nullptr;  // the step record
  bool news = true;                 // somebody else may have written a variable since the last run
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const Run& run) = 0;
  virtual std::string implementation() const = 0;
};

// Memory that kernels work in while they run, the same for all of a program: each finds in it whatever another left. A
// kernel takes its parts while it is made.
class Scratch {
 public:
  // Where a part will begin, a multiple of 64.
  size_t take(size_t bytes) { return std::exchange(taken_, taken_ + (bytes + 63) / 64 * 64); }
  template <typename T = std::byte>
  T* at(size_t part) {
    return reinterpret_cast<T*>(memory_.as<uint8_t>().data() + part);
  }

  // A kernel that is being tried takes its parts from here on.
  void begin() { taken_ = 0; }
  // Keeps room for these parts, because the kernel was chosen.
  void keep() { bytes_ = std::max(bytes_, taken_); }
  // Once all kernels are made.
  void allocate() { memory_ = Tensor(DType::u8, {int64_t(bytes_)}); }

 private:
  size_t taken_ = 0, bytes_ = 0;
  Tensor memory_;
};

// A kernel is made from this. Slots hold the memory of values and do not move. Their contents are set before the first
// run and, for inputs, between runs.
class Context {
 public:
  Context(const Lowered& lowered, int threads, Ranks* ranks = nullptr)
      : lowered(lowered), threads(threads), ranks(ranks), slots_(lowered.storage.size()) {}
  const Lowered& lowered;
  const int threads;
  Ranks* const ranks;  // whose sums kernels make; null: this program is alone
  Scratch scratch;

  const TensorType& type(Value value) const { return lowered.graph.type(value); }
  // Whether only others write it, before a run with news: what a kernel makes of it can be kept.
  bool is_fixed(Value value) const {
    return outlives_run(lowered.graph, storage(value)) && !lowered.graph.is_assigned(storage(value));
  }
  Value storage(Value value) const { return lowered.storage[size_t(value.id)]; }
  void** slot(Value value) {
    NEON_ASSERT(storage(value));
    return &slots_[size_t(storage(value).id)];
  }
  // Index into the step record.
  int scalar(const std::string& name) { return scalars_.emplace(name, int(scalars_.size())).first->second; }
  const std::map<std::string, int>& scalars() const { return scalars_; }

 private:
  std::vector<void*> slots_;
  std::map<std::string, int> scalars_;
};

inline int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Work of a plain loop; less is not worth a second thread.
constexpr int64_t kElementsOfOneThread = 16384, kBytesOfOneThread = 4 * kElementsOfOneThread;
// The threads of a loop with enough work for `useful` of them: one, or all. libgomp lets those threads end that a team
// has no use for and makes them anew for the next, 20 to 40 us each: teams of all sizes cost LeNet's step 30 new
// threads, and half of its time, on 16 processors.
inline int team_of(int64_t useful, int threads) { return useful > 1 ? threads : 1; }

using Maker = std::unique_ptr<Kernel> (*)(const LoweredKernel&, Context&);

// Lower preference numbers are asked first.
void add_kernel(std::string_view op, int preference, Maker maker);
// Kernels that may write a result over an operand: none of its numbers is read after one of the result has its place.
struct WrittenOver {
  size_t result;
  int operand;
};
// Says so of all kernels of an op.
void write_over(std::string_view op, WrittenOver written);
// The operand that a kernel may write the result over; -1: none.
int operand_written_over(const LoweredKernel& kernel, size_t result);
std::unique_ptr<Kernel> make_kernel(const LoweredKernel& kernel, Context& context);
// Another than the plain one.
bool has_kernel(const Op& op);

struct KernelRegistration {
  KernelRegistration(std::string_view op, int preference, Maker maker) { add_kernel(op, preference, maker); }
  KernelRegistration(std::string_view op, int preference, Maker maker, WrittenOver written)
      : KernelRegistration(op, preference, maker) {
    write_over(op, written);
  }
};

}  // namespace neon::cpu
