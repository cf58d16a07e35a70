#include "tests/backends/label_cases.h"

namespace neon::test {

std::vector<OpCase> ctc_cases(const std::string& op) {
  std::vector<OpCase> out;
  const auto add = [&](const Shape& z, int64_t most, std::vector<double> labels, std::vector<double> lengths,
                       int64_t blank = 0) {
    OpCase c{op, text(z, ", labels ", Shape{z[0], most}, ", blank ", blank), {}, {{"blank", blank}}};
    c.inputs = {{z, -3, 0},
                {{z[0], most}, 0, 1, DType::i32, std::move(labels)},
                {{z[0]}, 0, 1, DType::i32, std::move(lengths)}};
    c.inputs[0].arithmetic = true;
    if (op == "ctc_grad") {
      CaseInput g{{z[0]}};
      g.arithmetic = true;
      c.inputs.push_back(g);
    }
    c.length = 8 * z[1];  // each step rounds sums of a size that grows with the steps
    c.fast = "ctc";
    out.push_back(c);
  };
  add({3, 6, 4}, 3, {1, 2, 3, 2, 2, -1, 3, -1, -1}, {6, 5, 4});
  add({2, 5, 3}, 2, {0, 1, 1, 1}, {5, 3}, 2);
  add({2, 7, 5}, 4, {4, 4, 1, 4, -1, -1, -1, -1}, {7, 6}, 3);
  add({1, 1, 2}, 1, {1}, {1});
  add({2, 40, 12}, 9, {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 11, 10, 1, 1, -1, -1, -1, -1}, {40, 33});
  // None of its paths gives the labels of the first: they repeat, and take four steps. The second has no steps.
  if (op == "ctc_grad") add({3, 5, 3}, 3, {1, 1, 2, 1, -1, -1, 2, 1, -1}, {3, 0, 5});
  return out;
}

std::vector<OpCase> edit_distance_cases() {
  std::vector<OpCase> out;
  const auto add = [&](const Shape& a, int64_t count, double classes) {
    // Half of the numbers below 0 are none.
    OpCase c{"edit_distance", text(a, " and ", Shape{a[0], count}), {}};
    c.inputs = {{a, -1.4, classes, DType::i32}, {{a[0], count}, -1.4, classes, DType::i32}};
    c.fast = "edit distance";
    out.push_back(c);
  };
  add({3, 6}, 5, 3), add({1, 1}, 1, 2), add({2, 70}, 90, 5), add({4, 3}, 300, 20), add({5, 9}, 2, 1);
  return out;
}

}  // namespace neon::test
