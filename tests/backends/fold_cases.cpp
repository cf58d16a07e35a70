#include "tests/backends/fold_cases.h"

namespace neon::test {

namespace {

using Axes = std::vector<int64_t>;

OpCase reduction(const std::string& op, const Shape& shape, const Axes& axes, const std::string& fast = "fused") {
  int64_t length = 1;
  for (int64_t axis : axes) length *= shape[int(axis)];
  return {op, text(shape, " over ", Shape(axes)), {{shape}}, {{"axes", axes}}, length, fast};
}

Attributes batch_norm_attributes(const Axes& axes) { return {{"axes", axes}, {"epsilon", 1e-3}}; }

}  // namespace

std::vector<OpCase> reduction_cases(const std::string& op) {
  std::vector<OpCase> out;
  auto add = [&](const Shape& shape, const Axes& axes, const std::string& fast = "fused") {
    out.push_back(reduction(op, shape, axes, fast));
  };
  add({5}, {0});
  add({1}, {0});
  add({7, 3}, {0});
  add({7, 3}, {1});
  add({7, 3}, {0, 1});
  add({5, 1}, {1});
  add({1, 5}, {0});
  add({1, 1}, {0});
  add({1, 6}, {1});
  add({3, 4, 5}, {1, 2});
  add({3, 4, 5}, {0, 1});
  add({3, 4, 1, 5}, {2, 3});
  // In the middle, also of columns longer than a tile, and wider.
  for (const Shape& shape :
       {Shape{3, 4, 5}, Shape{37, 3, 2}, Shape{2, 3, 700}, Shape{3, 700, 5}, Shape{2, 1100, 600}, Shape{3, 700, 1}})
    add(shape, {1});
  add({3, 4, 2, 5}, {1, 2});
  add({3, 2, 4, 5}, {2});
  add({2, 3, 4, 5}, {0, 2, 3}, "plain");  // as batch norm of feature maps
  add({2, 3, 4, 5}, {0, 1, 2, 3});
  add({130, 70}, {0});
  add({130, 70}, {1});
  add({130, 70}, {0, 1});
  add({4, 3000}, {1});
  add({3000, 4}, {0});
  add({7, 11, 13, 5}, {0, 1, 2});  // as batch norm of images
  add({600, 700}, {0});            // more columns than a tile has
  add({3, 4}, {}, "plain");        // over nothing
  add({0, 4}, {0}, "plain");
  add({0, 4}, {1}, "plain");
  add({3, 0}, {0, 1}, "plain");
  return out;
}

// Of matrices, or of a batch of them.
std::vector<OpCase> batch_norm_cases(bool gradient) {
  std::vector<OpCase> out;
  auto add = [&](const Shape& shape, const Axes& axes, const std::string& fast) {
    Shape statistic = shape;
    int64_t count = 1;
    for (int64_t axis : axes) count *= shape[int(axis)], statistic = statistic.with(int(axis), 1);
    OpCase c{gradient ? "batch_norm_grad" : "batch_norm",
             shape.to_string(),
             {{shape}, {statistic, 0.5, 1.5}},
             batch_norm_attributes(axes),
             count,
             fast};
    if (gradient) {
      c.inputs.push_back({statistic, -0.1, 0.1});
      c.inputs.push_back({statistic, 0.5, 1.5});
      c.inputs.push_back({statistic, -0.01, 0.01});
      c.inputs.push_back({shape});
    } else {
      c.inputs.push_back({statistic});
    }
    out.push_back(c);
  };
  add({9, 5}, {0}, "fused");
  add({33, 1}, {0}, "fused");
  add({2, 20}, {0}, "fused");
  add({1, 4}, {0}, "fused");
  add({4, 3, 2, 5}, {0, 2, 3}, "mixed");
  add({40, 7, 6, 5}, {0, 1, 2}, "fused");
  add({600, 9}, {0}, "fused");
  add({1024, 3}, {0}, "fused");
  add({5, 15, 16, 3}, {0, 1, 2}, "fused");
  add({3, 4, 5}, {1}, "fused");
  add({3, 600, 5}, {1}, "fused");
  add({4, 3, 2, 5}, {1, 2}, "fused");
  return out;
}

std::vector<OpCase> normalize_cases(const std::string& op) {
  const bool gradient = op.ends_with("_grad"), centred = !op.starts_with("rms");
  std::vector<OpCase> out;
  auto add = [&](const Shape& shape, const Axes& axes, const std::string& fast = "fused") {
    Shape statistic = shape;
    int64_t count = 1;
    for (int64_t axis : axes) count *= shape[int(axis)], statistic = statistic.with(int(axis), 1);
    OpCase c{op, text(shape, " over ", Shape(axes)), {{shape}}, batch_norm_attributes(axes), count, fast};
    if (gradient && centred) {
      c.inputs.push_back({statistic, -0.1, 0.1});
      c.inputs.push_back({statistic, -0.01, 0.01});
    }
    if (gradient) {
      c.inputs.push_back({statistic, 0.5, 1.5});
      c.inputs.push_back({shape});
    }
    out.push_back(c);
  };
  add({9, 5}, {1}), add({3, 1}, {1}), add({1, 20}, {1}), add({3, 4, 6}, {2}), add({2, 3, 4, 5}, {3});
  add({5, 700}, {1}), add({2, 3, 1100}, {2}), add({70, 33}, {1}), add({3, 4, 5}, {1}), add({2, 600, 7}, {1});
  add({2, 6, 3, 4}, {1, 3}), add({3, 40, 1, 9}, {1, 3}), add({2, 300, 5, 4}, {1, 3});
  return out;
}

std::vector<OpCase> group_norm_cases(const std::string& op) {
  std::vector<OpCase> out;
  auto add = [&](const Shape& shape, int64_t groups, const std::string& fast = "fused") {
    Shape statistic = shape;
    for (int axis = 1; axis < shape.rank() - 1; ++axis) statistic = statistic.with(axis, 1);
    const Shape channels{shape.back()};
    OpCase c{op,
             text(shape, " in ", groups, " groups"),
             {{shape}, {channels, 0.5, 1.5}},
             {{"groups", groups}, {"epsilon", 1e-3}},
             shape.elements() / groups,
             fast};
    if (op.ends_with("_grad")) {
      c.inputs.push_back({statistic, -0.1, 0.1});
      c.inputs.push_back({statistic, -0.01, 0.01});
      c.inputs.push_back({statistic, 0.5, 1.5});
      c.inputs.push_back({shape});
    } else {
      c.inputs.push_back({channels, -0.5, 0.5});
    }
    out.push_back(c);
  };
  add({3, 5, 4, 6}, 1), add({3, 5, 4, 6}, 2), add({3, 5, 4, 6}, 6), add({2, 40, 9}, 3), add({2, 300, 20}, 5);
  add({1, 7, 8}, 8), add({4, 6}, 2), add({2, 3, 2, 3, 4}, 2), add({70, 1, 1, 64}, 2), add({1, 33, 35, 16}, 4);
  return out;
}

std::vector<OpCase> softmax_cases(const std::string& op) {
  std::vector<OpCase> out;
  auto add = [&](const Shape& shape) {
    const Shape cost = shape.with(shape.rank() - 1, 1);
    OpCase c{op, shape.to_string(), {{shape}}, {}, shape.back()};
    if (op == "log_softmax_grad") c.inputs[0] = {shape, -5, 0};  // logarithms of probabilities
    if (op == "softmax_grad" || op == "log_softmax_grad") c.inputs.push_back({shape});
    if (op.starts_with("softmax_cross_entropy")) c.inputs.push_back({shape, 0, 1});
    if (op == "softmax_cross_entropy_grad") c.inputs.push_back({cost});
    if (shape.elements() == 0) c.fast = "plain";
    out.push_back(c);
  };
  add({6}), add({4, 10}), add({1, 3}), add({5, 1}), add({1, 1}), add({2, 3, 4}), add({0, 3}), add({130, 70});
  if (op == "softmax") add({14, 20000});  // rows that a GPU walks over several times, in shared memory
  return out;
}

}  // namespace neon::test
