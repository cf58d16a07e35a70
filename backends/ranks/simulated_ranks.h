// Ranks of which one alone is there, to time its part of a step: what the others would give is missing.
#pragma once
#include "backends/ranks.h"

namespace neon {

class SimulatedRanks : public Ranks {
 public:
  // Rank 0 of so many.
  explicit SimulatedRanks(int ranks) : Ranks({0, ranks}) {}
  using Ranks::sum;
  // This rank's part alone, as if those of the others were 0.
  void sum(std::span<const Summand> arrays, DType dtype) override;
  // The others give zeros.
  void all_to_all(std::span<const Given> give, std::span<const Taken> take) override;
  // As if the others had the same.
  std::vector<double> gather(std::span<const double> own) override;
  std::vector<std::string> gather_texts(const std::string& own) override;
  bool simulated() const override { return true; }
  uint64_t seed() const override { return 1; }
  std::string name() const override { return "the one rank of a simulation"; }
};

}  // namespace neon
