#include "tests/backends/box_cases.h"

#include <cmath>

namespace neon::test {

std::vector<OpCase> largest_cases() {
  std::vector<OpCase> out;
  const auto add = [&](const Shape& x, std::vector<double> counts, std::vector<double> values = {}) {
    OpCase c{"largest", text(x, ", of ", counts.size(), " counts"), {}};
    c.inputs = {{x, -2, 2, DType::f32, std::move(values), true},
                {{x[0], 1}, 0, 1, DType::f32, std::move(counts), true}};
    c.fast = "plain";
    out.push_back(c);
  };
  add({3, 7}, {2, 0, 7}), add({2, 300}, {5, 299}), add({1, 1}, {1}), add({4, 9}, {-3, 0.5, 3.9, 1e9});
  add({2, 8}, {3, 5}, {1, 2, 2, 2, 1, 0, -0.0, 2, -HUGE_VAL, -1, -1, NAN, -HUGE_VAL, -1, -2, NAN});
  return out;
}

std::vector<OpCase> nms_cases() {
  std::vector<OpCase> out;
  // Corners are whole numbers, so that each type has the same overlaps.
  const auto corners = [](int64_t boxes, int seed) {
    std::vector<double> values;
    for (int64_t i = 0; i < boxes; ++i) {
      const auto x = double(i * 7 * seed % 13), y = double(i * 5 * seed % 11);
      for (const double number : {x, y, x + 2 + double(i % 5), y + 1 + double(i * seed % 7)}) values.push_back(number);
    }
    return values;
  };
  const auto add = [&](const Shape& scores, int64_t most, int64_t candidates, double overlap, bool pixels,
                       std::vector<double> values = {}) {
    OpCase c{"nms",
             text(scores, ", ", most, " of ", candidates),
             {},
             {{"overlap", overlap},
              {"most", most},
              {"candidates", candidates},
              {"least", 0.0},
              {"pixels", int64_t(pixels)}}};
    c.inputs = {{{scores[0], scores[2], 4}, 0, 1, DType::f32, corners(scores[0] * scores[2], int(most % 3) + 1), true},
                {scores, -1, 3, DType::f32, std::move(values), true}};
    c.fast = "plain";
    out.push_back(c);
  };
  add({2, 1, 30}, 8, 0, 0.3, false), add({1, 3, 300}, 40, 100, 0.5, true), add({1, 1, 1}, 2, 0, 0.5, false);
  add({2, 2, 6}, 5, 3, 0.25, false, {1, 1, 0, 2, 2, 2, 3, NAN, 1, -1, 0.5, 0.5});
  return out;
}

}  // namespace neon::test
