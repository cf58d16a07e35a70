// Samples drawn from every class in proportion.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace neon {

// 0 .. n-1 for samples of these labels, each from 0 to classes - 1, in an order drawn from the stream (seed, name). The
// last `taken` samples are the ones to take away. A class of m samples loses m * taken / n of them, rounded up or down.
// The last sample of a class stays, as long as others can be taken.
std::vector<int64_t> order_by_class(std::span<const int32_t> labels, int64_t classes, int64_t taken, uint64_t seed,
                                    std::string_view name);

// The same without classes: any sample is as likely to be taken as another.
std::vector<int64_t> drawn_order(int64_t n, uint64_t seed, std::string_view name);

// Samples to take some of. Samples of one group stay together.
struct GroupedSamples {
  std::vector<int32_t> labels;  // by sample, each from 0 to classes - 1
  int64_t classes = 1;
  bool labelled = false;            // false: all samples are of one class, since they have no labels
  std::vector<int64_t> groups;      // by sample; empty: each sample is a group
  std::vector<int64_t> order;       // of the samples, drawn: the first ones are taken first
  std::vector<int64_t> class_rank;  // of the classes, drawn: which of equal remainders are rounded up
};

// The members of each group, groups by the first of their members in the order.
std::vector<std::vector<int64_t>> members_of(const GroupedSamples& samples);

// Which samples to take away, about `taken` of them. Each class loses its share, rounded up or down, where groups allow
// it. The last sample of a class stays, as long as others can be taken.
std::vector<bool> take_groups(const GroupedSamples& samples, int64_t taken);

}  // namespace neon
