// The step record: a row of numbers for each run, which its kernels read. Rows wait on the host until they are sent.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "backends/cuda/driver.h"

namespace neon::cuda {

class StepRecord {
 public:
  // The scalars' places in a row, numbered as kernels are written.
  std::map<std::string, int>& names() { return names_; }
  // Once all kernels are written.
  void allocate(const std::shared_ptr<Device>& device);

  void set(const std::string& name, double value);
  double value(int place) const { return values_[size_t(place)]; }

  // Adds a run: its place in the ring of results, its step, and the first row of the inputs bound as sequences.
  void push(uint64_t place, uint64_t step, int64_t first);
  int waiting() const { return waiting_; }
  void clear();
  // Sends `count` rows, from number `first` of the waiting ones on, to the rows 0 .. count - 1 of the device.
  void send(int first, int count) const;
  void* row(int number) const { return static_cast<std::byte*>(rows_.data()) + size_t(number) * row_bytes(); }

 private:
  size_t row_bytes() const;

  std::map<std::string, int> names_;
  std::vector<double> values_;
  std::vector<uint64_t> queue_;
  int waiting_ = 0;
  Memory rows_;  // of one launch
};

}  // namespace neon::cuda
