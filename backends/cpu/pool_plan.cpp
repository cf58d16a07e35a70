#include "backends/cpu/pool_plan.h"

#include <algorithm>

namespace neon::cpu {

PoolPlan::PoolPlan(const Attributes& attributes, const Shape& x, const Shape& y)
    : samples(x[0]), elements(x.slice(1, x.rank()).elements()), outputs(y.slice(1, y.rank()).elements()) {
  const Windows windows = windows_of(attributes, attributes.integers("window"));
  const int missing = kAxes - windows.axes();
  for (int axis = 0; axis < windows.axes(); ++axis) {
    const size_t i = size_t(axis);
    in_[missing + axis] = x[axis + 1];
    out_[missing + axis] = y[axis + 1];
    window_[missing + axis] = windows.size[i];
    stride_[missing + axis] = windows.strides[i];
    before_[missing + axis] = windows.before[i];
  }
  for (int axis = 0; axis < kAxes; ++axis) cut(axis);
}

bool PoolPlan::covers_once() const {
  for (int axis = 0; axis < kAxes; ++axis)
    if (stride_[axis] != window_[axis] || before_[axis] || out_[axis] * window_[axis] != in_[axis]) return false;
  return true;
}

PoolPlan::Elements PoolPlan::seen_by(int64_t first, int64_t last) const {
  if (is_deep()) return {0, elements};  // windows of neighbouring rows lie far apart
  const int64_t line = in_[2] * in_[3], begin = std::max<int64_t>(0, first * stride_[1] - before_[1]),
                end = std::min(in_[1], (last - 1) * stride_[1] - before_[1] + window_[1]);
  return {begin * line, end * line};
}

int64_t PoolPlan::rows_within(int64_t most) const {
  if (is_deep()) return rows();
  const int64_t line = std::max<int64_t>(in_[2] * in_[3], 1), lines = std::max(most / line, window_[1]);
  return std::min(rows(), (lines - window_[1]) / stride_[1] + 1);
}

// Windows along an axis in stretches. Channels are neighbours only where windows step by one.
void PoolPlan::cut(int axis) {
  auto& all = stretches_[axis];
  for (int64_t o = 0; o < out_[axis]; ++o) {
    const int64_t start = o * stride_[axis] - before_[axis];
    const Stretch one{o, o + 1, std::max<int64_t>(0, -start), std::min(window_[axis], in_[axis] - start)};
    const bool joins = !all.empty() && all.back().from == one.from && all.back().to == one.to &&
                       (axis < kAxes - 1 || stride_[axis] == 1);
    if (joins) all.back().last = o + 1;
    else all.push_back(one);
  }
}

const PoolPlan::Stretch& PoolPlan::stretch_at(int axis, int64_t output) const {
  return *std::ranges::find_if(stretches_[axis], [&](const Stretch& s) { return output < s.last; });
}

// The elements of a window relative to its start, and their places in it.
int64_t PoolPlan::gather(const Stretch (&of)[kAxes], Places& places) const {
  int64_t count = 0;
  for (int64_t d = of[0].from; d < of[0].to; ++d)
    for (int64_t h = of[1].from; h < of[1].to; ++h)
      for (int64_t w = of[2].from; w < of[2].to; ++w)
        for (int64_t c = of[3].from; c < of[3].to; ++c, ++count) {
          places.offsets[size_t(count)] = ((d * in_[1] + h) * in_[2] + w) * in_[3] + c;
          places.codes[size_t(count)] = int32_t(((d * window_[1] + h) * window_[2] + w) * window_[3] + c);
        }
  return count;
}

}  // namespace neon::cpu
