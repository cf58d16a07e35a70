// Paths between groups of nodes while groups are joined: two groups may be one kernel only where no path between them
// leaves both. Used by grouping alone.
//
// Groups stand in an order in which every one comes after those it needs; a search looks only at groups that stand
// between its ends, from both ends in turn, so that it costs as much as the smaller side. Long paths, from a layer to
// its gradient by way of the cost, are known without a search: `spines` are long chains of nodes that never join a
// group.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace neon {

class GroupPaths {
 public:
  // Every node is a group of its own number. `next` are the nodes that must run after each; `joins` marks nodes that
  // may join a group. Both must outlive it.
  GroupPaths(const std::vector<std::vector<int>>& next, const std::vector<bool>& joins);

  // Whether a path, in either direction, leads from one of two groups to the other through a third.
  bool leads_outside(int a, int b);
  // The nodes of b go to a. Only after leads_outside(a, b) gave false.
  void join(int a, int b);
  // Edges that searches have followed, for tests: what joining costs.
  int64_t followed() const { return followed_; }

 private:
  struct Spine {
    std::vector<int> first, last;  // by group: the first place on the spine that it reaches, the last that reaches it
  };
  // A search in one direction: groups found, and where it stands in going through their edges.
  struct Side {
    std::vector<int> found;  // the first is the end that the search begins at
    size_t group = 0, member = 0, edge = 0;
    int mark = 0;
  };

  void put_in_order();
  bool add_spine();
  bool on_spine(int from, int to) const;
  bool done(Side& side, const std::vector<std::vector<int>>& edges);
  bool meets(Side& side, const std::vector<std::vector<int>>& edges, int from, int to, int other_mark);
  void move_after(int place, std::vector<int> groups);
  void unlink(int group);
  void make_room(int place, size_t count);

  const std::vector<std::vector<int>>& next_;
  std::vector<std::vector<int>> back_;  // the same edges, turned around
  const std::vector<bool>& joins_;
  std::vector<int> order_;  // nodes, at first
  std::vector<std::vector<int>> members_;
  std::vector<int> group_of_;
  std::vector<Spine> spines_;
  std::vector<bool> covered_;        // by node: on a spine
  std::vector<int> after_, before_;  // groups in their order; the last number is that of both ends
  std::vector<uint64_t> labels_;     // that grow along the order
  std::vector<int> seen_;            // by group: the mark of the last search that found it
  int marks_ = 0;
  Side forward_, backward_;
  bool forward_ended_ = false;  // of the last search: which side was gone through
  int low_ = -1, high_ = -1;    // and between which groups
  int64_t followed_ = 0;
};

}  // namespace neon
