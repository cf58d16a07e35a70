// The text of a segment's elements: where each lies, how it is read and computed, what is done with it.
#pragma once
#include "backends/cuda/segment_spread.h"

namespace neon::cuda {

class SegmentElements : public SegmentSpread {
 public:
  // A block may have `most_held` bytes of shared memory for what it holds from walk to walk.
  SegmentElements(const Segment& segment, CodeText& code, int64_t busy_blocks, int64_t most_held,
                  const RowProduct* product);
  int64_t held_bytes() const;  // with those of a product

 protected:
  struct Loads {
    std::string fetched, fetch;    // rows that are fetched together: variables, lines that fill row u of them
    std::string variables, reads;  // of one row
  };

  static std::string name(int reg) { return text("r", reg); }
  std::string instruction(int reg) const;
  std::string elements(const Needs& needs, const Needs& cached, int level, const std::string& keep,
                       const std::string& reads, bool hold = true);
  Loads loads(int level, const Needs& needs, const Needs& cached, int at_once, bool hold = true);
  int rows_at_once(int level, const Needs& needs, const Needs& cached, bool hold = true) const;
  bool holds() const { return std::ranges::count(held_, true) > 0; }
  std::string at_first(const std::string& reads) const;
  std::string kept_names(int most_level) const;
  std::string first_of_split() const;
  std::string row_place(const std::string& i, int level) const;
  std::string begins_at(const std::string& row) const;
  std::string for_width(const std::string& body, const char* indent) const;
  std::string totals(Reach reach, int level, const char* indent) const;

  int64_t rows_held_ = 0;  // of each thread

 private:
  std::string first_element() const;
  std::string value(int reg) const;
  std::string pack_place(const Instruction& load) const;
  Value read_value(int reg) const;    // that a walk reads for a register
  int64_t bytes_held(int reg) const;  // of a block's packs of one load
  bool is_held_before(int reg, int level) const;
  std::string held_pack(int reg) const;

  // By register: loads of a row that is too long for registers, and is walked over again. A thread puts the packs that
  // it reads into shared memory, and takes them from there.
  Needs held_;
  std::string position(const std::vector<int64_t>& strides, bool skip_first = false) const;
  std::string placed(const Instruction& load) const;
  std::string coordinate(int axis) const;
};

}  // namespace neon::cuda
