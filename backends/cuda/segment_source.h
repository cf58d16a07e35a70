// The text of one segment of a fused kernel; see source.h for how its elements spread over threads.
#pragma once
#include "backends/cuda/segment_elements.h"

namespace neon::cuda {

class SegmentWriter : public SegmentElements {
 public:
  // The segment's partial results begin at `first_partial` of the space for them, its tickets at `first_ticket`.
  SegmentWriter(const Segment& segment, CodeText& code, int64_t first_partial, int first_ticket, int64_t busy_blocks,
                int64_t most_held, const RowProduct* product)
      : SegmentElements(segment, code, busy_blocks, most_held, product),
        first_partial_(first_partial),
        first_ticket_(first_ticket) {}
  // For thread block `block`; leaves the block's part of total T in variable tT, one a thread.
  std::string run();

 private:
  std::string flat();
  std::string rounds(const Needs& needs);
  std::string grouped();
  std::string kept(int level) const;
  std::string walk(int level, Needs& cached);
  Needs kept_for_later(int level, const Needs& needs) const;
  std::string fold_variables(int level) const;
  std::string rows(int level, const Needs& needs, const Needs& cached, const std::string& keep);
  std::string product() const;
  std::string rows_in_registers(int level, const Needs& needs, const Needs& cached, const std::string& keep);
  std::string rows_between(int level, const Needs& needs, const Needs& cached, const std::string& from,
                           const std::string& ends, bool hold);
  bool goes_back(int level) const;
  std::string fold_of_lanes(int reg) const;
  std::string partial(int reg, const char* split) const;
  std::string put_parts(const std::vector<int>& which) const;
  std::string take_parts(const std::vector<int>& which) const;
  std::string sums_of_parts(const std::vector<int>& which) const;
  std::string take_sums(const std::vector<int>& which) const;
  int64_t place_of(int reg, bool sums) const;
  std::string split_folds() const;
  std::string shared_folds(int level) const;
  std::string total_variables() const;
  std::string last_lines() const;

  int64_t first_partial_;
  int first_ticket_;
};

}  // namespace neon::cuda
