// One of several targets of a sample, each for an output of the net.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "neon/core/shape.h"
#include "neon/core/target_kind.h"
#include "neon/core/tensor.h"

namespace neon {

// Means and deviations of numbers that the reader brought to mean 0 and deviation 1: number i of a sample by entry i
// modulo their count.
struct Standard {
  std::vector<double> means, deviations;
  bool operator==(const Standard&) const = default;
  bool empty() const { return means.empty(); }
};

struct NamedTarget {
  std::string name;
  TargetKind kind = TargetKind::number;
  int64_t width = 1;               // of the output: the numbers, classes or labels
  std::vector<std::string> names;  // of the classes or labels, in the order of the outputs; empty: they are numbers
  Standard standard;               // of numbers: so are the net's outputs
  bool operator==(const NamedTarget&) const = default;
  int64_t classes() const { return kind == TargetKind::classes ? width : 0; }
  // The numbers that it takes in a row of targets (n, columns of all) f32: a class has one, its number.
  int64_t columns() const { return kind == TargetKind::classes ? 1 : width; }
};

// The place of the first column of target k in a row of all.
inline int64_t first_column_of(const std::vector<NamedTarget>& targets, size_t k) {
  int64_t out = 0;
  for (size_t i = 0; i < k; ++i) out += targets[i].columns();
  return out;
}
// The first target that is one class, or their count.
size_t first_of_classes(const std::vector<NamedTarget>& targets);
inline int64_t columns_of(const std::vector<NamedTarget>& targets) { return first_column_of(targets, targets.size()); }

// The row of target k of a sample as an output is compared with it, of `width` numbers: a class is 1 at its number.
void put_compared(const std::vector<NamedTarget>& targets, size_t k, const Tensor& rows, int64_t sample, double* to);

// "price (number), grade (3 classes)"
std::string text_of(const std::vector<NamedTarget>& targets);
// "targets price (number), grade (3 classes); shares are drawn by the classes of 'grade'"
std::string targets_text(const std::vector<NamedTarget>& targets);

}  // namespace neon
