// The memory that the programs of a GPU share for what outlives no run: as much as the one that needs most, and less
// than twice that once it has gone.
#pragma once
#include <algorithm>
#include <set>

#include "backends/cuda/driver.h"

namespace neon::cuda {

inline constexpr char kValuesOfStep[] = "the values of a step";  // where there is no room for them

class Scratch {
 public:
  explicit Scratch(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // The address of the whole. It changes with moves(), and the contents are lost then, so a run asks before it begins.
  // Throws a memory error if other programs took the memory while it moved.
  void* data();
  int64_t moves() const { return moves_; }
  // The bytes that a share of so many bytes takes beside the present memory.
  size_t missing(size_t bytes) const { return bytes - std::min(bytes, memory_.bytes()); }

 private:
  friend class ScratchShare;
  void add(size_t bytes);
  void remove(size_t bytes) noexcept;
  size_t most() const { return needs_.empty() ? 0 : *needs_.rbegin(); }
  void take(size_t bytes);

  std::shared_ptr<Device> device_;
  Memory memory_;
  std::multiset<size_t> needs_;
  int64_t moves_ = 0;
};

// So many bytes of it, from the first on, as long as this lives. Throws a memory error where there is no room.
class ScratchShare {
 public:
  ScratchShare(Scratch& scratch, size_t bytes) : scratch_(scratch), bytes_(bytes) { scratch_.add(bytes_); }
  ~ScratchShare() { scratch_.remove(bytes_); }
  ScratchShare(const ScratchShare&) = delete;

 private:
  Scratch& scratch_;
  const size_t bytes_;
};

}  // namespace neon::cuda
