// The columns of predictions for one of several targets of a net.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "datasets/named_target.h"
#include "neon/core/tensor.h"

namespace neon {

class TargetColumns {
 public:
  // The outputs of this target are [first, first + target.width) of a row. At most `top` classes are shown.
  TargetColumns(const NamedTarget& target, int64_t first, int64_t top)
      : target_(target), first_(first), top_(std::min(top, target.width)) {}
  // Names, with a comma before each: "price" of a number, "grade" and "grade.output" of classes, "tags" of labels and
  // "tags.red" of each.
  std::string head() const;
  // The same of row `at` of y (N, outputs of all).
  std::string cells(const Tensor& y, int64_t at) const;
  void add_to(nlohmann::ordered_json& line, const Tensor& y, int64_t at) const;

 private:
  double output(const Tensor& y, int64_t at, int64_t k) const { return y.at(at * y.shape()[1] + first_ + k); }
  std::string name(int64_t k) const;
  std::vector<int64_t> best(const Tensor& y, int64_t at) const;
  std::vector<std::string> labels(const Tensor& y, int64_t at) const;

  const NamedTarget& target_;
  const int64_t first_, top_;
};

// The number of an output as predictions show it: f64 with all digits, other types with those of f32.
std::string output_text(const Tensor& y, double value);

}  // namespace neon
