// Which bytes of a memory are taken while which kernels run. Used by the planning of memory alone.
#pragma once
#include <cstddef>
#include <vector>

namespace neon {

// A tree over the kernels: its nodes are ranges of kernels, halved down to single ones. Taking bytes costs about the
// logarithm of the number of kernels, however many lifetimes overlap.
class TakenBytes {
 public:
  explicit TakenBytes(int kernels);
  // Takes `bytes`, at least 1, at the lowest offset where they are free while the kernels first .. last run. Returns
  // the offset.
  size_t take(int first, int last, size_t bytes);

 private:
  struct Interval {
    size_t begin, end;
  };
  // Disjoint intervals in order, which do not touch.
  class Intervals {
   public:
    void add(size_t begin, size_t end);
    // The interval with the lowest end behind `offset`; null without one.
    const Interval* behind(size_t offset) const;

   private:
    std::vector<Interval> list_;
  };
  struct Node {
    Intervals always;     // bytes taken while all of the node's kernels run
    Intervals sometimes;  // bytes taken while any of them runs
  };

  // Calls visit(node, covered) for the fewest nodes that cover the kernels first .. last, and for the nodes above them.
  template <typename Visit>
  void each_node(int first, int last, Visit&& visit, size_t number = 1, int low = 0, int count = 0);

  int kernels_ = 1;          // rounded up to a power of two
  std::vector<Node> nodes_;  // the halves of node k are 2 k and 2 k + 1
};

}  // namespace neon
