// Which walk over the elements of a segment reads, computes and stores what. A walk ends with folds, and the next needs
// their results.
#pragma once
#include "backends/cuda/code_text.h"

namespace neon::cuda {

class SegmentWalks {
 public:
  // `product`: the one whose result the segment loads, or null.
  SegmentWalks(const Segment& segment, CodeText& code, const RowProduct* product);

 protected:
  using Needs = std::vector<bool>;  // by register

  bool is_full_load(int reg) const;
  // Whether walk `level` makes what register `reg` loads.
  bool is_made(int reg, int level) const { return reg == made_ && level == 0; }
  std::vector<int> folds_of(int level) const;  // registers of the reductions that walk `level` does
  Needs needs_of_walk(int level) const;
  int store_level(int reg) const;
  // Whether walk `level` reads what a walk before it has stored of register `reg`.
  bool is_put_before(int reg, int level) const { return put_early_[size_t(reg)] && level_[size_t(reg)] < level; }
  bool ends_after_one_walk() const;
  bool only_totals() const;
  // Whether a later walk or another kernel reads the product.
  bool stores_product() const;
  int most_kept() const;
  void choose_early_stores();

  const Segment& segment_;
  CodeText& code_;
  const RowProduct* const product_;
  int made_ = -1;           // the register that loads the product's result
  std::vector<int> level_;  // by register: walks over the group that must be done before
  // By register: the output that is stored as soon as it is made, so that later walks read it in place of the arrays
  // that it is made from; otherwise an invalid Value.
  std::vector<Value> put_early_;
  std::vector<int> reductions_;
  int walks_ = 1, last_folding_ = -1, last_storing_ = -1;  // the last walk that folds elements, that stores them

 private:
  void find_levels();
  void add_needs(int reg, int level, Needs& needs) const;
  int64_t bytes_read_after(int level) const;
  bool reads(const Instruction& load, Value storage) const;
  bool is_read_after(Value storage, int level) const;
};

}  // namespace neon::cuda
