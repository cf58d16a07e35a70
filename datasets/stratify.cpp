#include "datasets/stratify.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "neon/core/random.h"

namespace neon {

namespace {

// How many samples of each class are taken: largest remainders, of which equal ones come in the order `rank`.
std::vector<int64_t> quotas(const std::vector<int64_t>& sizes, int64_t n, int64_t taken,
                            const std::vector<int64_t>& rank) {
  std::vector<int64_t> out(sizes.size());
  std::vector<uint64_t> remainder(sizes.size());
  int64_t left = taken;
  for (size_t c = 0; c < sizes.size(); ++c) {
    const uint64_t product = uint64_t(sizes[c]) * uint64_t(taken);  // both are below 2^32
    out[c] = std::min(int64_t(product / uint64_t(n)), std::max<int64_t>(sizes[c] - 1, 0));
    remainder[c] = product % uint64_t(n);
    left -= out[c];
  }
  std::vector<int64_t> order = rank;
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return remainder[size_t(a)] > remainder[size_t(b)]; });
  for (const int64_t kept : {1, 0})  // the last sample of a class only where nothing else is left
    for (bool more = true; left > 0 && more;) {
      more = false;
      for (const int64_t c : order) {
        if (left == 0 || out[size_t(c)] + kept >= sizes[size_t(c)]) continue;
        ++out[size_t(c)];
        --left;
        more = true;
      }
    }
  return out;
}

}  // namespace

std::vector<int64_t> drawn_order(int64_t n, uint64_t seed, std::string_view name) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  Stream stream(seed, name);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.below(uint32_t(i))]);
  return order;
}

std::vector<int64_t> order_by_class(std::span<const int32_t> labels, int64_t classes, int64_t taken, uint64_t seed,
                                    std::string_view name) {
  const std::vector<int64_t> order = drawn_order(int64_t(labels.size()), seed, name);
  std::vector<int64_t> sizes(static_cast<size_t>(classes));
  for (const int32_t label : labels) ++sizes[size_t(label)];
  std::vector<int64_t> left =
      quotas(sizes, int64_t(labels.size()), taken, drawn_order(classes, seed, std::string(name) + "/classes"));
  std::vector<int64_t> kept, removed;
  for (size_t i = order.size(); i-- > 0;) {
    int64_t& more = left[size_t(labels[size_t(order[i])])];
    (more > 0 ? removed : kept).push_back(order[i]);
    if (more > 0) --more;
  }
  kept.insert(kept.end(), removed.begin(), removed.end());
  return kept;
}

}  // namespace neon
