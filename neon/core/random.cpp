#include "neon/core/random.h"

#include <cmath>

namespace neon {

double Stream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  const double angle = 2 * M_PI * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

uint32_t Stream::below(uint32_t bound) {
  uint64_t product = uint64_t(bits()) * bound;
  if (uint32_t(product) < bound) {
    const uint32_t threshold = uint32_t(-bound) % bound;
    while (uint32_t(product) < threshold) product = uint64_t(bits()) * bound;
  }
  return uint32_t(product >> 32);
}

}  // namespace neon
