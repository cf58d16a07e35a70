#include "backends/graph/windows.h"

#include <algorithm>

#include "neon/core/error.h"

namespace neon {

int64_t Windows::outputs(int axis, int64_t length) const {
  const size_t i = size_t(axis);
  const int64_t room = length + before[i] + after[i] - extent(axis);
  return room < 0 ? 0 : room / strides[i] + 1;
}

std::vector<int64_t> Windows::outputs(std::span<const int64_t> input) const {
  std::vector<int64_t> out;
  for (int axis = 0; axis < axes(); ++axis) {
    const size_t i = size_t(axis);
    out.push_back(outputs(axis, input[i]));
    if (out.back() == 0)
      fail(ErrorKind::config, "a window of ", size[i], dilation[i] > 1 ? text(" with dilation ", dilation[i]) : "",
           " does not fit in ", Shape(input), " along axis ", axis, ", where there are ", input[i],
           " elements and padding of ", before[i], " and ", after[i]);
  }
  return out;
}

std::optional<Windows> Windows::turned() const {
  Windows out = *this;
  for (int axis = 0; axis < axes(); ++axis) {
    const size_t i = size_t(axis);
    out.before[i] = extent(axis) - 1 - before[i];
    out.after[i] = extent(axis) - 1 - after[i];
    if (strides[i] != 1 || out.before[i] < 0 || out.after[i] < 0) return {};
  }
  return out;
}

namespace {

// A list of one number an axis, none below `least`.
const std::vector<int64_t>& checked(const std::vector<int64_t>& list, size_t count, int64_t least, const char* what) {
  if (list.size() != count) fail(ErrorKind::config, what, " ", Shape(list), " should be a list of ", count, " numbers");
  for (int64_t number : list)
    if (number < least || number > kMostOfWindows)
      fail(ErrorKind::config, what, " ", number, " is not in [", least, ", ", kMostOfWindows, "]");
  return list;
}

}  // namespace

Windows windows_of(const Attributes& attributes, std::vector<int64_t> size) {
  const size_t axes = size.size();
  Windows out;
  out.size = checked(size, axes, 1, "a window's size");
  out.strides = checked(attributes.integers("strides"), axes, 1, "strides");
  out.dilation.assign(axes, 1);
  if (attributes.has("dilation")) out.dilation = checked(attributes.integers("dilation"), axes, 1, "dilation");
  const auto& padding = checked(attributes.integers("padding"), 2 * axes, 0, "padding");
  for (size_t i = 0; i < axes; ++i) {
    out.before.push_back(padding[2 * i]);
    out.after.push_back(padding[2 * i + 1]);
  }
  return out;
}

}  // namespace neon
