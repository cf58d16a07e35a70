// The text of one segment of a fused kernel; see source.h for how its elements spread over threads.
#pragma once
#include "backends/cuda/code_text.h"

namespace neon::cuda {

class SegmentWriter {
 public:
  SegmentWriter(const Segment& segment, CodeText& code);
  int64_t blocks() const { return (groups_ + per_block_ - 1) / per_block_; }
  // For thread block `block`; leaves the block's part of total T in variable tT, one a thread.
  std::string run();

 private:
  enum class Fold : uint8_t { none, inner, outer };
  using Needs = std::vector<bool>;  // by register

  void split_axes();
  void choose_lanes();
  void find_levels();
  void add_needs(int reg, Needs& needs) const;
  Needs needs_of_walk(int level) const;

  std::string flat() const;
  std::string grouped() const;
  std::string walk(int level, const Needs& needs, const Needs& cached) const;
  std::string instruction(int reg) const;
  std::string value(int reg) const;
  std::string position(const std::vector<int64_t>& strides, bool skip_first = false) const;
  std::string coordinate(int axis) const;
  std::string stores(Reach reach, const char* indent) const;
  std::string totals(Reach reach, const char* indent) const;
  std::string total_variables() const;

  const Segment& segment_;
  CodeText& code_;
  Fold fold_ = Fold::none;
  int64_t groups_ = 1, reduced_ = 1, per_block_ = 1;
  int lanes_ = 1, items_ = 1;   // threads a group; flat: elements a thread
  std::vector<int64_t> inner_;  // by axis: indices of its side that one step along it skips
  std::vector<int> level_;      // by register: walks over the group that must be done before
  int walks_ = 1;
};

}  // namespace neon::cuda
