// The matrix of zca.h by dlib, in a module of its own: dlib's BLAS and LAPACK take a millisecond to load.
#pragma once
#include <cstdint>
#include <vector>

#include "neon/core/part.h"

namespace neon {

struct ZcaPart {
  static constexpr PartName kName = {"dlib", "Whiten needs", "libdlib-dev"};
  std::vector<double> (*matrix)(const std::vector<double>& covariance, int64_t n, double bias);
};

}  // namespace neon
