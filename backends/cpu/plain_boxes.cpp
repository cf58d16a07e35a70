// Plain kernels of largest and nms, which are fast enough: rows have few candidates.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "backends/cpu/plain.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

// The places of the numbers above `least`, the largest first, of equal ones the first; `most` of them at most.
std::vector<int64_t> falling(const Tensor& x, int64_t first, int64_t count, double least, int64_t most) {
  std::vector<double> numbers(static_cast<size_t>(count));
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i)
    if (numbers[size_t(i)] = x.at(first + i); numbers[size_t(i)] > least) out.push_back(i);
  const size_t kept = std::min(out.size(), size_t(std::max<int64_t>(most, 0)));
  std::ranges::partial_sort(out, out.begin() + int64_t(kept), [&](int64_t a, int64_t b) {
    const double of_a = numbers[size_t(a)], of_b = numbers[size_t(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  });
  out.resize(kept);
  return out;
}

void plain_largest(PlainArguments& a) {
  const Tensor& x = a.inputs[0];
  const int64_t rows = x.shape()[0], columns = x.shape()[1];
  for (int64_t i = 0; i < x.elements(); ++i) a.outputs[0].set(i, 0);
  for (int64_t n = 0; n < rows; ++n) {
    const double wanted = a.inputs[1].at(n);
    const int64_t count = wanted >= double(columns) ? columns : wanted >= 1 ? int64_t(wanted) : 0;
    for (const int64_t i : falling(x, n * columns, columns, -HUGE_VAL, count)) a.outputs[0].set(n * columns + i, 1);
  }
}

struct Box {
  double x1, y1, x2, y2;
  double area(double edge) const { return std::max(x2 - x1 + edge, 0.0) * std::max(y2 - y1 + edge, 0.0); }
};

bool overlap_more(const Box& a, const Box& b, double edge, double overlap) {
  const Box both{std::max(a.x1, b.x1), std::max(a.y1, b.y1), std::min(a.x2, b.x2), std::min(a.y2, b.y2)};
  const double shared = both.area(edge);
  return shared > overlap * (a.area(edge) + b.area(edge) - shared);
}

void plain_nms(PlainArguments& a) {
  const Tensor &boxes = a.inputs[0], &scores = a.inputs[1];
  const Attributes& by = a.node.attributes;
  const int64_t rows = scores.shape()[0] * scores.shape()[1], each = scores.shape()[1], count = scores.shape()[2];
  const int64_t most = by.integer("most"), candidates = by.integer("candidates");
  const double edge = by.integer("pixels") ? 1 : 0, overlap = by.real("overlap");
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<Box> chosen;
    int64_t taken = 0;
    for (const int64_t i : falling(scores, row * count, count, by.real("least"), candidates ? candidates : count)) {
      if (taken == most) break;
      const int64_t at = (row / each * count + i) * 4;
      const Box box{boxes.at(at), boxes.at(at + 1), boxes.at(at + 2), boxes.at(at + 3)};
      if (std::ranges::any_of(chosen, [&](const Box& other) { return overlap_more(other, box, edge, overlap); }))
        continue;
      chosen.push_back(box);
      a.outputs[0].set(row * most + taken++, double(i));
    }
    for (; taken < most; ++taken) a.outputs[0].set(row * most + taken, -1);
  }
}

const PlainRegistration plain_box_functions[] = {{ops::largest, plain_largest}, {ops::nms, plain_nms}};

}  // namespace

}  // namespace neon::cpu
