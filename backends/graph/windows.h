// Filters and pooling windows that step over the axes of an array (N, H, W, C) or (N, D, H, W, C), channels last.
// Output i along an axis sees the elements i * stride - before + place * dilation, place = 0 .. size - 1; what lies
// outside the array is padding.
#pragma once
#include <optional>
#include <vector>

#include "backends/graph/expression.h"

namespace neon {

constexpr int64_t kMostOfWindows = 0x7fffffff;  // that any of their numbers may be

// One number an axis: of a filter the axes between batch and channels, of a pooling window all but the batch.
struct Windows {
  std::vector<int64_t> size, strides, before, after, dilation;
  int axes() const { return int(size.size()); }
  // Elements from the first place of a window to its last.
  int64_t extent(int axis) const { return dilation[size_t(axis)] * (size[size_t(axis)] - 1) + 1; }
  // Outputs along an axis of `length` elements; 0 when not even one window fits.
  int64_t outputs(int axis, int64_t length) const;
  // Throws a config error that says which window does not fit `input`, an axis's length each.
  std::vector<int64_t> outputs(std::span<const int64_t> input) const;
  // Windows over the outputs, by which each element sees the outputs that saw it, those of the last places first: with
  // filters (C,R,S,K) turned around, every axis of places in reverse, the adjoint of a convolution is one, too. None
  // where windows step by more than one, or where some see padding alone.
  std::optional<Windows> turned() const;
};

// Attributes `strides`, `padding` (before and after, axis by axis) and, where there is one, `dilation`, for windows
// of `size`. Throws a config error for numbers that cannot be.
Windows windows_of(const Attributes& attributes, std::vector<int64_t> size);

// x (N,H,W,C), w (K,R,S,C/groups) -> (N,P,Q,K); likewise in 3-D. The windows' size is the filters'.
Value convolution(Graph& graph, Value x, Value w, const Windows& windows, int64_t groups);
// The adjoint: y (N,P,Q,K), w (K,R,S,C/groups) -> (N,H,W,C), H and W as in `sizes`. Also called deconvolution.
Value deconvolution(Graph& graph, Value y, Value w, const Windows& windows, int64_t groups,
                    const std::vector<int64_t>& sizes);

}  // namespace neon
