#include "backends/cuda/step_record.h"

#include <bit>

#include "backends/cuda/plan.h"

namespace neon::cuda {

void StepRecord::allocate(const std::shared_ptr<Device>& device) {
  values_.resize(names_.size());
  rows_ = Memory(device, record_bytes(names_.size()), "the step record");
}

void StepRecord::set(const std::string& name, double value) {
  const auto found = names_.find(name);
  if (found != names_.end()) values_[size_t(found->second)] = value;
}

void StepRecord::push(uint64_t place, uint64_t step, int64_t first) {
  queue_.push_back(place);
  queue_.push_back(step);
  queue_.push_back(uint64_t(first));
  for (double value : values_) queue_.push_back(std::bit_cast<uint64_t>(value));
  ++waiting_;
}

void StepRecord::clear() {
  waiting_ = 0;
  queue_.clear();
}

void StepRecord::send(int first, int count) const {
  rows_.upload(reinterpret_cast<const std::byte*>(queue_.data()) + size_t(first) * row_bytes(),
               size_t(count) * row_bytes());
}

size_t StepRecord::row_bytes() const { return (kRecordScalars + names_.size()) * 8; }

}  // namespace neon::cuda
