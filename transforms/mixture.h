// The targets of a batch whose samples are mixed, each with its partner.
#pragma once
#include <vector>

#include "backends/graph/expression.h"

namespace neon {

// x (N,...) with each sample's partner in its place: its neighbour, 1 for 0 and 0 for 1. The last of an odd number is
// its own partner.
Expr partners(Expr x);

class Mixture {
 public:
  // Every sample keeps `share` (N,1,1,1) of what it was, and takes the rest of its partner.
  void add(Expr share) { shares_.push_back(share); }
  bool empty() const { return shares_.empty(); }
  // Targets (N,K), mixed as the samples were.
  Expr of(Expr t) const;

 private:
  std::vector<Expr> shares_;
};

}  // namespace neon
