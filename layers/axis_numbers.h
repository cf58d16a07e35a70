// Numbers for each axis of images and volumes, as specs give them: 3 for all axes, [3, 5] for height and width, [2, 3,
// 5] with depth first, or a map by axis, in neon's many spellings: {R: 3, S: 5}, {str_h: 2, str_w: 1}, {pad_d: 1}.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "neon/core/params.h"

namespace neon {

struct AxisNumbers {
  AxisNumbers() = default;
  explicit AxisNumbers(int64_t number) : list{number} {}
  // d, h, w: the axes of space; c: channels; k: feature maps, of a filter.
  struct Named {
    char axis;
    int64_t number;
  };
  std::vector<int64_t> list;  // as written, without names
  std::vector<Named> named;   // or with them
  bool all = false;           // "all": as large as the input

  bool given() const { return all || !list.empty() || !named.empty(); }
  // The number that the map gives an axis, else `otherwise`.
  int64_t of(char axis, int64_t otherwise) const;
  // The numbers of `axes` axes of space, of three depth first; `otherwise` where none is given. Throws a config error,
  // which calls them `what`, when they are not as many as the axes, or for one of another axis that is not in `more`.
  std::vector<int64_t> of_space(int axes, int64_t otherwise, const std::string& what, std::string_view more = "") const;
};

template <>
struct Value_of<AxisNumbers> {
  static std::string type() { return "integer, list, or map by axis (d or T, h or R, w or S, c or J, k or K)"; }
  static void read(const Setting& from, AxisNumbers& out, const Constraint& constraint, Problems& problems);
  static Setting write(const AxisNumbers& value);
};

}  // namespace neon
