#include "datasets/stratify.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <unordered_map>

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

template <typename Index>
std::vector<Index> drawn(int64_t n, uint64_t seed, std::string_view name) {
  std::vector<Index> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), Index(0));
  Stream stream(seed, name);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.below(uint32_t(i))]);
  return order;
}

}  // namespace

std::vector<int64_t> drawn_order(int64_t n, uint64_t seed, std::string_view name) {
  return drawn<int64_t>(n, seed, name);
}

std::vector<int64_t> order_by_class(std::span<const int32_t> labels, int64_t classes, int64_t taken, uint64_t seed,
                                    std::string_view name) {
  const auto order = drawn<uint32_t>(int64_t(labels.size()), seed, name);
  std::vector<int64_t> sizes(static_cast<size_t>(classes));
  for (const int32_t label : labels) ++sizes[size_t(label)];
  std::vector<int64_t> left =
      quotas(sizes, int64_t(labels.size()), taken, drawn_order(classes, seed, std::string(name) + "/classes"));
  std::vector<int64_t> out(order.size());
  size_t kept = 0, removed = out.size();  // kept samples end, removed ones begin here
  for (size_t i = order.size(); i-- > 0;) {
    int64_t& more = left[size_t(labels[order[i]])];
    out[more > 0 ? --removed : kept++] = order[i];
    more -= int64_t(more > 0);
  }
  std::reverse(out.begin() + int64_t(removed), out.end());
  return out;
}

std::vector<std::vector<int64_t>> members_of(const GroupedSamples& samples) {
  std::vector<std::vector<int64_t>> out;
  std::unordered_map<int64_t, size_t> place;
  for (const int64_t i : samples.order) {
    const bool alone = samples.groups.empty();
    const size_t at = alone ? out.size() : place.emplace(samples.groups[size_t(i)], out.size()).first->second;
    if (at == out.size()) out.emplace_back();
    out[at].push_back(i);
  }
  return out;
}

namespace {

class GroupTaker {
 public:
  explicit GroupTaker(const GroupedSamples& samples)
      : labels_(samples.labels), sizes_(static_cast<size_t>(samples.classes)), taken_(samples.labels.size()) {
    for (const int32_t label : labels_) ++sizes_[size_t(label)];
  }

  // `left`: how many of each class to take. Returns how many of `room` samples could not be taken.
  int64_t run(const std::vector<std::vector<int64_t>>& groups, std::vector<int64_t> left, int64_t room) {
    for (const auto& group : groups) take(group, left, room);
    // Groups did not fit into some quotas: other classes give more, but no class its last sample.
    for (size_t c = 0; c < left.size(); ++c) left[c] = std::max<int64_t>(0, sizes_[c] - 1);
    for (const auto& group : groups)
      if (!taken_[size_t(group.front())]) take(group, left, room);
    return room;
  }

  const std::vector<int64_t>& sizes() const { return sizes_; }
  std::vector<bool>& taken() { return taken_; }

 private:
  void take(const std::vector<int64_t>& group, std::vector<int64_t>& left, int64_t& room) {
    if (int64_t(group.size()) > room) return;
    bool fits = true;
    for (const int64_t i : group) fits = --left[class_of(i)] >= 0 && fits;
    if (!fits) {
      for (const int64_t i : group) ++left[class_of(i)];
      return;
    }
    for (const int64_t i : group) {
      taken_[size_t(i)] = true;
      --sizes_[class_of(i)];
    }
    room -= int64_t(group.size());
  }

  size_t class_of(int64_t i) const { return size_t(labels_[size_t(i)]); }

  const std::vector<int32_t>& labels_;
  std::vector<int64_t> sizes_;  // of the classes, without what is taken
  std::vector<bool> taken_;
};

}  // namespace

std::vector<bool> take_groups(const GroupedSamples& samples, int64_t taken) {
  std::vector<std::vector<int64_t>> groups = members_of(samples);
  GroupTaker drawn(samples), largest(samples);
  const std::vector<int64_t> left = quotas(drawn.sizes(), int64_t(samples.labels.size()), taken, samples.class_rank);
  const int64_t missing = drawn.run(groups, left, taken);
  if (missing == 0) return std::move(drawn.taken());
  // Single samples fill up what large groups leave.
  std::ranges::stable_sort(groups, std::greater<size_t>(), [](const auto& group) { return group.size(); });
  return std::move(largest.run(groups, left, taken) < missing ? largest.taken() : drawn.taken());
}

}  // namespace neon
