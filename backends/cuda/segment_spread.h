// How a segment of a fused kernel spreads over threads and blocks, and what each walk over its elements needs.
#pragma once
#include "backends/cuda/code_text.h"

namespace neon::cuda {

constexpr int64_t kMostKept = 64;  // elements that one thread keeps in registers from walk to walk

class SegmentSpread {
 public:
  // So many `busy_blocks` are the segment's part of those that keep the GPU busy; no more of its own may wait for each
  // other.
  SegmentSpread(const Segment& segment, CodeText& code, int64_t busy_blocks);
  int64_t blocks() const { return bundles() * splits_; }
  int64_t partials() const { return splits_ > 1 ? splits_ * groups_ * int64_t(reductions_.size()) : 0; }
  int tickets() const { return splits_ > 1 ? int(bundles()) * (meets_ ? 2 : 1) : 0; }
  bool meets() const { return meets_; }

 protected:
  enum class Fold : uint8_t { none, inner, outer };
  enum class Access : uint8_t { pack, same, each };  // of a thread's neighbouring elements: one load, one number, apart
  using Needs = std::vector<bool>;                   // by register

  int64_t bundles() const { return (groups_ + per_block_ - 1) / per_block_; }
  int64_t rows_of_split() const;
  int64_t rows_of_thread() const;
  bool is_full_load(int reg) const;
  Access access(const Instruction& load, int width) const;
  std::vector<int> folds_of(int level) const;  // registers of the reductions that walk `level` does
  Needs needs_of_walk(int level) const;
  int store_level(int reg) const;

  const Segment& segment_;
  CodeText& code_;
  Fold fold_ = Fold::none;
  int64_t groups_ = 1, reduced_ = 1, per_block_ = 1;
  int64_t row_ = 1;  // groups whose elements follow each other: in (K,R,C), reduced over R, C of all K C
  int lanes_ = 1;    // threads a group
  // Neighbouring elements that a thread takes at once, which lie along the reduced axes in an inner fold (`along_` is
  // that number, otherwise 1) and along the kept ones elsewhere.
  int width_ = 1, along_ = 1;
  int64_t packs_ = 1;           // of so many elements, a thread's without a fold, one round of all blocks after another
  int64_t splits_ = 1;          // blocks that share the groups of an outer fold
  bool meets_ = false;          // and wait for each other after each fold
  const char* index_ = "i64";   // type of indices
  std::vector<int64_t> inner_;  // by axis: indices of its side that one step along it skips
  std::vector<int> level_;      // by register: walks over the group that must be done before
  std::vector<int> reductions_;
  int walks_ = 1, last_folding_ = -1, last_storing_ = -1;  // the last walk that folds elements, that stores them

 private:
  void split_axes();
  void find_levels();
  void choose_width();
  void choose_lanes(int64_t busy_blocks);
  void choose_splits(int64_t busy_blocks);
  int threads_across() const;
  bool ends_after_one_walk() const;
  bool only_totals() const;
  int64_t rounds_of_totals(int64_t busy_blocks) const;
  int64_t items() const { return (reduced_ + int64_t(lanes_) * along_ - 1) / (int64_t(lanes_) * along_); }
  bool is_on_side(int axis) const;
  void add_needs(int reg, Needs& needs) const;
};

}  // namespace neon::cuda
