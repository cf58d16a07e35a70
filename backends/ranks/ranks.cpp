#include "backends/ranks.h"

#include <algorithm>

namespace neon {

void Ranks::sum(std::span<double> numbers) {
  const Summand all{numbers.data(), numbers.data(), int64_t(numbers.size())};
  sum(std::span(&all, 1), DType::f64);
}

std::vector<double> Ranks::gather(std::span<const double> own) {
  std::vector<double> all(own.size() * size_t(size()));
  std::ranges::copy(own, all.begin() + std::ptrdiff_t(own.size() * size_t(rank())));
  sum(all);
  return all;
}

std::vector<std::string> Ranks::gather_texts(const std::string& own) {
  const double length = double(own.size());
  const std::vector<double> lengths = gather({&length, 1});
  const auto most = size_t(*std::ranges::max_element(lengths));
  std::vector<double> letters(most);
  std::ranges::transform(own, letters.begin(), [](char letter) { return double(uint8_t(letter)); });
  const std::vector<double> all = gather(letters);
  std::vector<std::string> out;
  for (size_t k = 0; k < lengths.size(); ++k) {
    out.emplace_back(size_t(lengths[k]), ' ');
    for (size_t i = 0; i < out.back().size(); ++i) out.back()[i] = char(uint8_t(all[k * most + i]));
  }
  return out;
}

}  // namespace neon
