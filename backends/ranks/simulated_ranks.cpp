#include "backends/ranks/simulated_ranks.h"

#include <cstring>

namespace neon {

void SimulatedRanks::sum(std::span<const Summand> arrays, DType dtype) {
  for (const Summand& array : arrays)
    if (array.to != array.from && array.elements > 0)
      std::memcpy(array.to, array.from, size_t(array.elements) * size_of(dtype));
}

void SimulatedRanks::all_to_all(std::span<const Given> give, std::span<const Taken> take) {
  for (const Taken& taken : take) std::memset(taken.data, 0, taken.bytes);
  std::memcpy(take[0].data, give[0].data, give[0].bytes);
}

std::vector<double> SimulatedRanks::gather(std::span<const double> own) {
  std::vector<double> all;
  for (int rank = 0; rank < size(); ++rank) all.insert(all.end(), own.begin(), own.end());
  return all;
}

std::vector<std::string> SimulatedRanks::gather_texts(const std::string& own) {
  return std::vector<std::string>(size_t(size()), own);
}

}  // namespace neon
