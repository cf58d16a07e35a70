// How a segment of a fused kernel spreads over threads and blocks.
#pragma once
#include "backends/cuda/row_product_source.h"
#include "backends/cuda/segment_walks.h"

namespace neon::cuda {

constexpr int64_t kSplitsOfOneMeeting = 16;  // parts that each block adds up for itself
constexpr int64_t kMostKept = 64;            // elements that one thread keeps in registers from walk to walk

class SegmentSpread : public SegmentWalks {
 public:
  // So many `busy_blocks` are the segment's part of those that keep the GPU busy; no more of its own may wait for each
  // other.
  SegmentSpread(const Segment& segment, CodeText& code, int64_t busy_blocks, const RowProduct* product);
  // How its blocks make the product that the segment loads, if they can.
  std::optional<RowProductPlan> product_plan() const;
  int64_t blocks() const { return bundles() * splits_; }
  int64_t partials() const {
    return splits_ > 1 ? (splits_ + meets_twice()) * groups_ * int64_t(reductions_.size()) : 0;
  }
  int tickets() const { return splits_ > 1 ? int(bundles()) : 0; }
  bool meets() const { return meets_; }

 protected:
  enum class Fold : uint8_t { none, inner, outer };
  enum class Access : uint8_t { pack, same, each };  // of a thread's neighbouring elements: one load, one number, apart

  // Whether blocks that meet share the work of adding up their parts, and meet again to take the sums.
  bool meets_twice() const { return meets_ && splits_ > kSplitsOfOneMeeting; }
  int64_t bundles() const { return (groups_ + per_block_ - 1) / per_block_; }
  // Whether a block has threads without a row, beyond those for its groups times lanes.
  bool spare_threads() const { return fold_ == Fold::outer && per_block_ / width_ * lanes_ < kThreads; }
  // From one row of a thread to its next: blocks that share groups take rows in turn, so that all of them read near
  // each other.
  int64_t row_step() const { return lanes_ * splits_; }
  int64_t rows_of_thread() const;
  bool ends_with_last_block() const;
  Access access(const Instruction& load, int width) const;

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

 private:
  void split_axes();
  void choose_width();
  void choose_lanes(int64_t busy_blocks);
  void choose_splits(int64_t busy_blocks);
  int threads_across() const;
  int64_t rounds_of_totals(int64_t busy_blocks) const;
  int64_t items() const { return (reduced_ + int64_t(lanes_) * along_ - 1) / (int64_t(lanes_) * along_); }
  bool is_on_side(int axis) const;
};

}  // namespace neon::cuda
