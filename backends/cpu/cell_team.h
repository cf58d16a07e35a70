// How the threads of a recurrent cell share its work: samples are independent, units meet after every step.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace neon::cpu {

// Threads that wait for one another, again and again, for a microsecond or so.
class Meeting {
 public:
  explicit Meeting(int members) : members_(members) {}
  void wait();

 private:
  const int members_;
  std::atomic<int> arrived_{0};
  std::atomic<uint32_t> round_{0};
};

// Some samples and some units, which one thread computes for all steps.
struct CellShare {
  int64_t first_sample, last_sample;  // without the last
  int64_t first_unit, units;
  int number = 0;             // among the shares
  Meeting* others = nullptr;  // the threads of the same samples and other units, if any

  int64_t samples() const { return last_sample - first_sample; }
  // Waits until all units of these samples have come so far.
  void meet() const {
    if (others) others->wait();
  }
};

struct CellWork {
  int64_t samples, units;
  int64_t panel;         // units of a share are a multiple of it, but for the last share
  int64_t weight_bytes;  // that a step reads
};

// The shares of a team: as few parts of the units as leave each thread weights that its cache keeps from step to step,
// or samples enough for each time that it reads them.
class CellShares {
 public:
  CellShares(const CellWork& work, int team);
  int count() const { return int(shares_.size()); }
  const CellShare& operator[](int i) const { return shares_[size_t(i)]; }
  int64_t most_samples() const;  // of a share

 private:
  std::vector<std::unique_ptr<Meeting>> meetings_;
  std::vector<CellShare> shares_;
};

}  // namespace neon::cpu
