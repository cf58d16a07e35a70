// Samples that are read one by one, by several threads at once: what does not fit in memory.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "neon/core/shape.h"

namespace neon {

class SampleReader {
 public:
  virtual ~SampleReader() = default;
  virtual int64_t size() const = 0;
  virtual Shape sample() const = 0;  // (C,H,W); it lies (H,W,C)
  // Writes the sample's pixels and returns its label. By any thread; throws a data error.
  virtual int32_t read(int64_t index, std::span<uint8_t> pixels) const = 0;
};

}  // namespace neon
