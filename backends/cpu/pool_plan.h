// How the windows of a pooling op lie in an array: rows of windows that see the same places of theirs are one run for
// the loops of level_pool.cpp, which take the channels side by side. Windows at the borders are runs of their own, with
// fewer elements.
#pragma once
#include <vector>

#include "backends/elementwise/kernels.h"
#include "backends/graph/windows.h"

namespace neon::cpu {

class PoolPlan {
 public:
  // x is the larger array, y the pooled one.
  PoolPlan(const Attributes& attributes, const Shape& x, const Shape& y);

  const int64_t samples, elements, outputs;  // of the batch; of a sample of x and of y
  int64_t rows() const { return out_[0] * out_[1]; }
  int64_t places() const { return window_[0] * window_[1] * window_[2] * window_[3]; }
  // Whether every element belongs to one window and no more.
  bool covers_once() const;

  // The elements of a sample's x that rows `first` to `last` - 1 of its windows see, with what lies between them.
  struct Elements {
    int64_t begin, end;
  };
  Elements seen_by(int64_t first, int64_t last) const;
  // As many rows as see no more than `most` elements; one at least.
  int64_t rows_within(int64_t most) const;

  // Room for the elements of one window.
  struct Places {
    explicit Places(const PoolPlan& plan) : offsets(size_t(plan.places())), codes(size_t(plan.places())) {}
    std::vector<int64_t> offsets;
    std::vector<int32_t> codes;
  };
  // Calls visit(run, x, y) for the runs that make up row `row` of a sample's outputs; x and y are where in the sample's
  // arrays the run begins.
  template <typename Visit>
  void each_run(int64_t row, Places& places, Visit&& visit) const {
    const int64_t at[2] = {row / out_[1], row % out_[1]};
    for (const Stretch& width : stretches_[2])
      for (const Stretch& channels : stretches_[3]) {
        const int64_t count = gather({stretch_at(0, at[0]), stretch_at(1, at[1]), width, channels}, places);
        const elementwise::PoolRun run{
            places.offsets.data(),          places.codes.data(), count,  width.last - width.first,
            channels.last - channels.first, stride_[2] * in_[3], out_[3]};
        const int64_t start[kAxes] = {at[0] * stride_[0] - before_[0], at[1] * stride_[1] - before_[1],
                                      width.first * stride_[2] - before_[2], channels.first * stride_[3] - before_[3]};
        visit(run, ((start[0] * in_[1] + start[1]) * in_[2] + start[2]) * in_[3] + start[3],
              (row * out_[2] + width.first) * out_[3] + channels.first);
      }
  }

 private:
  static constexpr int kAxes = 4;  // depth, height, width, channels; those that are missing have one element

  // Windows `first` to `last` - 1 along an axis, all of which have their places `from` to `to` - 1 in the array.
  struct Stretch {
    int64_t first, last, from, to;
  };
  void cut(int axis);
  // Whether the windows of one row of outputs and the next need not see neighbouring lines.
  bool is_deep() const { return in_[0] > 1 || out_[0] > 1; }
  const Stretch& stretch_at(int axis, int64_t output) const;
  int64_t gather(const Stretch (&of)[kAxes], Places& places) const;

  int64_t in_[kAxes] = {1, 1, 1, 1}, out_[kAxes] = {1, 1, 1, 1}, window_[kAxes] = {1, 1, 1, 1},
          stride_[kAxes] = {1, 1, 1, 1}, before_[kAxes] = {};
  std::vector<Stretch> stretches_[kAxes];
};

}  // namespace neon::cpu
