#include "datasets/balanced_order.h"

#include <map>

#include "neon/core/random.h"

namespace neon {

namespace {

template <typename T>
void shuffle(std::span<T> values, Stream& stream) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[stream.below(uint32_t(i))]);
}

}  // namespace

std::vector<int32_t> balanced_order(std::span<const int32_t> labels, uint64_t seed, int64_t epoch) {
  std::map<int32_t, std::vector<int32_t>> by_class;
  for (size_t i = 0; i < labels.size(); ++i) by_class[labels[i]].push_back(int32_t(i));
  std::vector<std::vector<int32_t>*> classes;
  for (auto& [label, samples] : by_class) classes.push_back(&samples);
  Stream stream(seed, "balanced order", uint64_t(epoch));
  shuffle<std::vector<int32_t>*>(classes, stream);  // the first ones get what is left over
  std::vector<int32_t> out;
  for (size_t c = 0; c < classes.size(); ++c) {
    std::vector<int32_t>& samples = *classes[c];
    const size_t places = labels.size() / classes.size() + (c < labels.size() % classes.size() ? 1 : 0);
    for (size_t k = 0; k < places; ++k) {
      if (k % samples.size() == 0) shuffle<int32_t>(samples, stream);
      out.push_back(samples[k % samples.size()]);
    }
  }
  shuffle<int32_t>(out, stream);
  return out;
}

}  // namespace neon
