// Model-based search by dlib, in a module of its own: dlib's BLAS and LAPACK take a millisecond to load.
#pragma once
#include <memory>

#include "neon/core/part.h"
#include "neon/search/sampler.h"

namespace neon {

struct BayesPart {
  static constexpr PartName kName = {"dlib", "--method bayes needs", "libdlib-dev"};
  std::unique_ptr<Sampler> (*make)(const Space& space, uint64_t seed);
};

}  // namespace neon
