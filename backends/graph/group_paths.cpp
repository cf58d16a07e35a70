#include "backends/graph/group_paths.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "neon/core/error.h"

namespace neon {

namespace {

constexpr uint64_t kGap = uint64_t(1) << 32;  // between labels at first
constexpr uint64_t kLeastGap = 1 << 16;       // after labels were spread anew
constexpr size_t kMostSpines = 8;
constexpr int kLeastCovered = 8;  // nodes that a further spine covers

}  // namespace

GroupPaths::GroupPaths(const std::vector<std::vector<int>>& next, const std::vector<bool>& joins)
    : next_(next),
      back_(next.size()),
      joins_(joins),
      group_of_(next.size()),
      covered_(next.size()),
      seen_(next.size()) {
  for (int n = 0; n < int(next.size()); ++n) {
    for (int s : next[size_t(n)]) back_[size_t(s)].push_back(n);
    members_.push_back({n});
    group_of_[size_t(n)] = n;
  }
  put_in_order();
  while (spines_.size() < kMostSpines && add_spine()) {
  }
}

// Among nodes that could come next, the first in the graph.
void GroupPaths::put_in_order() {
  const int count = int(next_.size());
  std::vector<size_t> waiting;
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int n = 0; n < count; ++n) {
    waiting.push_back(back_[size_t(n)].size());
    if (waiting.back() == 0) ready.push(n);
  }
  while (!ready.empty()) {
    const int n = ready.top();
    ready.pop();
    order_.push_back(n);
    for (int s : next_[size_t(n)])
      if (--waiting[size_t(s)] == 0) ready.push(s);
  }
  NEON_ASSERT(int(order_.size()) == count);
  after_.resize(size_t(count) + 1), before_.resize(size_t(count) + 1), labels_.resize(size_t(count) + 1);
  int last = count;
  for (int n : order_) {
    after_[size_t(last)] = n;
    before_[size_t(n)] = last;
    labels_[size_t(n)] = labels_[size_t(last)] + kGap;
    last = n;
  }
  after_[size_t(last)] = count;
  before_[size_t(count)] = last;
}

// The chain that covers most nodes that no spine covers and that join no group; false where that is few.
bool GroupPaths::add_spine() {
  const size_t count = next_.size();
  std::vector<int> most(count, 0), from(count, -1);  // such nodes on a chain up to each; where it comes from
  int end = -1;
  for (int n : order_) {
    for (int p : back_[size_t(n)])
      if (most[size_t(p)] > most[size_t(n)]) most[size_t(n)] = most[size_t(p)], from[size_t(n)] = p;
    most[size_t(n)] += !joins_[size_t(n)] && !covered_[size_t(n)];
    if (end < 0 || most[size_t(n)] > most[size_t(end)]) end = n;
  }
  if (end < 0 || most[size_t(end)] < kLeastCovered) return false;
  std::vector<int> place(count, -1), chain;
  for (int n = end; n >= 0; n = from[size_t(n)])
    if (!joins_[size_t(n)]) chain.push_back(n), covered_[size_t(n)] = true;
  std::ranges::reverse(chain);
  for (size_t i = 0; i < chain.size(); ++i) place[size_t(chain[i])] = int(i);
  Spine spine{std::vector<int>(count, int(count)), std::vector<int>(count, -1)};
  for (int n : order_)
    for (int p : back_[size_t(n)])
      spine.last[size_t(n)] = std::max({spine.last[size_t(n)], spine.last[size_t(p)], place[size_t(p)]});
  for (size_t i = order_.size(); i-- > 0;)
    for (int n = order_[i]; int s : next_[size_t(n)])
      spine.first[size_t(n)] = std::min(
          {spine.first[size_t(n)], spine.first[size_t(s)], place[size_t(s)] >= 0 ? place[size_t(s)] : int(count)});
  spines_.push_back(std::move(spine));
  return true;
}

bool GroupPaths::on_spine(int from, int to) const {
  return std::ranges::any_of(spines_,
                             [&](const Spine& spine) { return spine.first[size_t(from)] <= spine.last[size_t(to)]; });
}

// Whether all edges of what was found have been followed; else `side` stands at the next of them.
bool GroupPaths::done(Side& side, const std::vector<std::vector<int>>& edges) {
  for (; side.group < side.found.size(); ++side.group, side.member = 0)
    for (const auto& members = members_[size_t(side.found[side.group])]; side.member < members.size();
         ++side.member, side.edge = 0)
      if (side.edge < edges[size_t(members[side.member])].size()) return false;
  return true;
}

// Follows one edge between groups that stand from `from` to `to`; whether the path from one to the other is now found.
bool GroupPaths::meets(Side& side, const std::vector<std::vector<int>>& edges, int from, int to, int other_mark) {
  ++followed_;
  const int found = side.found[side.group];
  const int node = members_[size_t(found)][side.member];
  const int group = group_of_[size_t(edges[size_t(node)][side.edge++])];
  const int own = side.found[0], other = own == from ? to : from;
  if (group == other) return found != own;  // not by an edge that leads there directly
  if (group == own || seen_[size_t(group)] == side.mark) return false;
  if (labels_[size_t(group)] < labels_[size_t(from)] || labels_[size_t(group)] > labels_[size_t(to)]) return false;
  if (seen_[size_t(group)] == other_mark) return true;
  seen_[size_t(group)] = side.mark;
  side.found.push_back(group);
  return side.mark == forward_.mark ? on_spine(group, to) : on_spine(from, group);
}

bool GroupPaths::leads_outside(int a, int b) {
  low_ = a, high_ = b;
  if (labels_[size_t(a)] > labels_[size_t(b)]) std::swap(low_, high_);
  if (on_spine(low_, high_)) return true;
  forward_ = {{low_}, 0, 0, 0, ++marks_};
  backward_ = {{high_}, 0, 0, 0, ++marks_};
  while (true) {
    forward_ended_ = done(forward_, next_);
    if (forward_ended_ || done(backward_, back_)) return false;
    if (meets(forward_, next_, low_, high_, backward_.mark)) return true;
    if (meets(backward_, back_, low_, high_, forward_.mark)) return true;
  }
}

void GroupPaths::join(int a, int b) {
  NEON_ASSERT((low_ == a && high_ == b) || (low_ == b && high_ == a));
  // The groups that follow the first one go behind the second, or those that the second needs go before the first.
  std::vector<int> moved = forward_ended_ ? forward_.found : backward_.found;
  moved.erase(moved.begin());
  const int place = forward_ended_ ? high_ : low_, gone = forward_ended_ ? low_ : high_;
  std::ranges::sort(moved, {}, [&](int group) { return labels_[size_t(group)]; });
  for (int group : moved) unlink(group);
  unlink(gone);
  move_after(forward_ended_ ? place : before_[size_t(place)], moved);
  if (place != a) {  // a stands where b did
    const int before = before_[size_t(b)], after = after_[size_t(b)];
    after_[size_t(before)] = before_[size_t(after)] = a;
    before_[size_t(a)] = before, after_[size_t(a)] = after;
    labels_[size_t(a)] = labels_[size_t(b)];
  }
  for (Spine& spine : spines_) {
    spine.first[size_t(a)] = std::min(spine.first[size_t(a)], spine.first[size_t(b)]);
    spine.last[size_t(a)] = std::max(spine.last[size_t(a)], spine.last[size_t(b)]);
  }
  for (int n : members_[size_t(b)]) group_of_[size_t(n)] = a;
  auto& members = members_[size_t(a)];
  members.insert(members.end(), members_[size_t(b)].begin(), members_[size_t(b)].end());
  members_[size_t(b)].clear();
  low_ = high_ = -1;
}

void GroupPaths::unlink(int group) {
  const int before = before_[size_t(group)], after = after_[size_t(group)];
  after_[size_t(before)] = after;
  before_[size_t(after)] = before;
}

// Groups in their order, behind `place`.
void GroupPaths::move_after(int place, std::vector<int> groups) {
  if (groups.empty()) return;
  make_room(place, groups.size());
  const int end = after_[size_t(place)];
  const bool last = end == int(next_.size());
  const uint64_t low = labels_[size_t(place)];
  const uint64_t step = last ? kGap : (labels_[size_t(end)] - low) / (groups.size() + 1);
  for (size_t i = 0; i < groups.size(); ++i) {
    const int group = groups[i];
    labels_[size_t(group)] = low + step * (i + 1);
    after_[size_t(place)] = group;
    before_[size_t(group)] = place;
    place = group;
  }
  after_[size_t(place)] = end;
  before_[size_t(end)] = place;
}

// Sees to it that `count` labels fit behind `place`: where they do not, those of neighbours are spread anew, of as many
// as it takes.
void GroupPaths::make_room(int place, size_t count) {
  const int ends = int(next_.size());
  int first = place, last = after_[size_t(place)];
  if (last == ends || labels_[size_t(last)] - labels_[size_t(first)] > count + 1) return;
  size_t between = 1;  // labels from first to last, less one
  while (true) {
    for (size_t more = between; more-- > 0 && last != ends; ++between) last = after_[size_t(last)];
    for (size_t more = between; more-- > 0 && first != ends; ++between) first = before_[size_t(first)];
    const uint64_t span = last == ends ? UINT64_MAX : labels_[size_t(last)] - labels_[size_t(first)];
    if (span / (between + count) < kLeastGap && (last != ends || first != ends)) continue;
    const uint64_t step = last == ends ? kGap : span / (between + count);
    uint64_t label = labels_[size_t(first)];
    for (int group = first; group != last; group = after_[size_t(group)]) {
      if (group != first) labels_[size_t(group)] = label;
      label += step * (group == place ? count + 1 : 1);
    }
    return;
  }
}

}  // namespace neon
