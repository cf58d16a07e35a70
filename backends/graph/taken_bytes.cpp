#include "backends/graph/taken_bytes.h"

#include <algorithm>

#include "neon/core/error.h"

namespace neon {

void TakenBytes::Intervals::add(size_t begin, size_t end) {
  const auto first = std::ranges::lower_bound(list_, begin, {}, &Interval::end);  // intervals that touch are joined
  auto last = first;
  for (; last != list_.end() && last->begin <= end; ++last) {
    begin = std::min(begin, last->begin);
    end = std::max(end, last->end);
  }
  if (first == last) {
    list_.insert(first, {begin, end});
  } else {
    *first = {begin, end};
    list_.erase(first + 1, last);
  }
}

const TakenBytes::Interval* TakenBytes::Intervals::behind(size_t offset) const {
  const auto found = std::ranges::upper_bound(list_, offset, {}, &Interval::end);
  return found == list_.end() ? nullptr : &*found;
}

TakenBytes::TakenBytes(int kernels) {
  while (kernels_ < kernels) kernels_ *= 2;
  nodes_.resize(2 * size_t(kernels_));
}

template <typename Visit>
void TakenBytes::each_node(int first, int last, Visit&& visit, size_t number, int low, int count) {
  if (count == 0) count = kernels_;
  if (last < low || first >= low + count) return;
  const bool covered = first <= low && low + count - 1 <= last;
  visit(nodes_[number], covered);
  if (covered) return;
  each_node(first, last, visit, 2 * number, low, count / 2);
  each_node(first, last, visit, 2 * number + 1, low + count / 2, count / 2);
}

size_t TakenBytes::take(int first, int last, size_t bytes) {
  NEON_ASSERT(bytes > 0 && first >= 0 && first <= last && last < kernels_);
  std::vector<const Intervals*> taken;
  each_node(first, last, [&](Node& node, bool covered) { taken.push_back(covered ? &node.sometimes : &node.always); });
  size_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const Intervals* intervals : taken) {
      const Interval* const next = intervals->behind(offset);
      if (!next || offset + bytes <= next->begin) continue;
      offset = next->end;
      moved = true;
    }
  }
  each_node(first, last, [&](Node& node, bool covered) {
    if (covered) node.always.add(offset, offset + bytes);
    node.sometimes.add(offset, offset + bytes);
  });
  return offset;
}

}  // namespace neon
