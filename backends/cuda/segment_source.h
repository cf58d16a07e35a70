// The text of one segment of a fused kernel; see source.h for how its elements spread over threads.
#pragma once
#include "backends/cuda/code_text.h"

namespace neon::cuda {

class SegmentWriter {
 public:
  // The segment's partial results begin at `first_partial` of the space for them, its tickets at `first_ticket`.
  // So many `busy_blocks` are its part of those that keep the GPU busy; no more of its own may wait for each other.
  SegmentWriter(const Segment& segment, CodeText& code, int64_t first_partial, int first_ticket, int64_t busy_blocks);
  int64_t blocks() const { return bundles() * splits_; }
  int64_t partials() const { return splits_ > 1 ? splits_ * groups_ * int64_t(reductions_.size()) : 0; }
  int tickets() const { return splits_ > 1 ? int(bundles()) * (meets_ ? 2 : 1) : 0; }
  bool meets() const { return meets_; }
  // For thread block `block`; leaves the block's part of total T in variable tT, one a thread.
  std::string run();

 private:
  enum class Fold : uint8_t { none, inner, outer };
  enum class Access : uint8_t { pack, same, each };  // of a thread's neighbouring elements: one load, one number, apart
  using Needs = std::vector<bool>;                   // by register

  void split_axes();
  void find_levels();
  void choose_width();
  void choose_lanes(int64_t busy_blocks);
  void choose_splits(int64_t busy_blocks);
  int threads_across() const;
  bool ends_after_one_walk() const;
  bool only_totals() const;
  int64_t rounds_of_totals(int64_t busy_blocks) const;

  int64_t bundles() const { return (groups_ + per_block_ - 1) / per_block_; }
  int64_t items() const { return (reduced_ + int64_t(lanes_) * along_ - 1) / (int64_t(lanes_) * along_); }
  int64_t rows_of_split() const;
  bool is_full_load(int reg) const;
  bool is_on_side(int axis) const;
  Access access(const Instruction& load, int width) const;
  void add_needs(int reg, Needs& needs) const;
  std::vector<int> folds_of(int level) const;  // registers of the reductions that walk `level` does
  Needs needs_of_walk(int level) const;
  int store_level(int reg) const;

  struct Loads {
    std::string fetched, fetch;    // rows that are fetched together: variables, lines that fill row u of them
    std::string variables, reads;  // of one row
  };

  std::string flat();
  std::string rounds(const Needs& needs);
  std::string grouped();
  std::string kept(int level) const;
  std::string walk(int level, Needs& cached);
  int64_t rows_of_thread() const;
  std::string first_element() const;
  Needs kept_for_later(int level, const Needs& needs) const;
  std::string fold_variables(int level) const;
  std::string rows(int level, const Needs& needs, const Needs& cached, const std::string& keep);
  std::string elements(const Needs& needs, const Needs& cached, int level, const std::string& keep,
                       const std::string& reads);
  std::string fold_of_lanes(int reg) const;
  std::string partial(int reg, const char* split) const;
  std::string put_parts(const std::vector<int>& which) const;
  std::string take_parts(const std::vector<int>& which) const;
  std::string split_folds() const;
  std::string shared_folds(int level) const;
  Loads loads(const Needs& needs, const Needs& cached, int at_once);
  int rows_at_once(const Needs& needs, const Needs& cached) const;
  std::string pack_place(const Instruction& load);
  std::string at_first(const std::string& reads) const;
  static std::string name(int reg) { return text("r", reg); }
  std::string value(int reg) const;
  std::string instruction(int reg) const;
  std::string kept_names(int most_level) const;
  std::string for_width(const std::string& body, const char* indent) const;
  std::string position(const std::vector<int64_t>& strides, bool skip_first = false) const;
  std::string placed(const Instruction& load) const;
  std::string coordinate(int axis) const;
  std::string totals(Reach reach, int level, const char* indent) const;
  std::string total_variables() const;
  std::string last_lines() const;

  const Segment& segment_;
  CodeText& code_;
  int64_t first_partial_;
  int first_ticket_;
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
};

}  // namespace neon::cuda
