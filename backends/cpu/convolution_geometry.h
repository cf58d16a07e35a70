// The sizes of a convolution, with one to three axes of space, for kernels of our own.
#pragma once
#include <array>
#include <vector>

#include "backends/cpu/kernel.h"
#include "backends/graph/windows.h"

namespace neon::cpu {

constexpr int kSpace = 3;  // axes between batch and channels; of two, the first has one element

// A convolution of x (N,in...,C) with w (K,filter...,C/groups) to y (N,out...,K).
struct ConvolutionGeometry {
  ConvolutionGeometry(const Attributes& attributes, const Shape& x, const Shape& w, const Shape& y)
      : samples(x[0]), groups(attributes.integer("groups")), channels(x.back()), maps(y.back()) {
    const Windows windows = windows_of(attributes, {w.begin() + 1, w.end() - 1});
    const int first = kSpace - windows.axes();
    for (int axis = 0; axis < windows.axes(); ++axis) {
      const size_t i = size_t(axis);
      in[first + axis] = x[axis + 1];
      out[first + axis] = y[axis + 1];
      filter[first + axis] = w[axis + 1];
      stride[first + axis] = windows.strides[i];
      before[first + axis] = windows.before[i];
      dilation[first + axis] = windows.dilation[i];
    }
    for (int64_t tap = 0; tap < taps(); ++tap)
      tap_places.push_back({tap / (filter[1] * filter[2]) * dilation[0], tap / filter[2] % filter[1] * dilation[1],
                            tap % filter[2] * dilation[2]});
  }
  int64_t taps() const { return filter[0] * filter[1] * filter[2]; }
  int64_t pixels() const { return in[0] * in[1] * in[2]; }
  int64_t outputs() const { return out[0] * out[1] * out[2]; }
  int64_t channels_of_group() const { return channels / groups; }
  int64_t maps_of_group() const { return maps / groups; }
  double products() const {
    return double(samples) * double(outputs()) * double(taps()) * double(channels_of_group()) * double(maps);
  }

  using Place = std::array<int64_t, kSpace>;
  // The place in the input, perhaps before its edge, at which the window of output `o` begins.
  Place window_of(int64_t o) const {
    return {o / (out[1] * out[2]) * stride[0] - before[0], o / out[2] % out[1] * stride[1] - before[1],
            o % out[2] * stride[2] - before[2]};
  }
  // The pixel of the input under a tap of a window; -1 in the padding.
  int64_t pixel_under(const Place& window, int64_t tap) const {
    int64_t pixel = 0;
    for (int axis = 0; axis < kSpace; ++axis) {
      const int64_t place = window[size_t(axis)] + tap_places[size_t(tap)][size_t(axis)];
      if (place < 0 || place >= in[axis]) return -1;
      pixel = pixel * in[axis] + place;
    }
    return pixel;
  }

  // A pixel of the input among those with the padding before them.
  Place padded_place(int64_t pixel) const {
    return {pixel / (in[1] * in[2]) + before[0], pixel / in[2] % in[1] + before[1], pixel % in[2] + before[2]};
  }
  // The output whose window has this place under a tap; -1 where no window has it.
  int64_t output_above(const Place& padded, int64_t tap) const {
    int64_t output = 0;
    for (int axis = 0; axis < kSpace; ++axis) {
      const int64_t begin = padded[size_t(axis)] - tap_places[size_t(tap)][size_t(axis)];
      const int64_t place = stride[axis] == 1 ? begin : begin % stride[axis] ? -1 : begin / stride[axis];
      if (place < 0 || place >= out[axis]) return -1;
      output = output * out[axis] + place;
    }
    return output;
  }

  // Calls visit(tap, pixel) for each tap of output `o` that lies in the input, in order.
  template <typename Visit>
  void each_tap(int64_t o, Visit&& visit) const {
    const Place start = window_of(o);
    for (int64_t t = 0; t < filter[0]; ++t) {
      const int64_t d = start[0] + t * dilation[0];
      if (d < 0 || d >= in[0]) continue;
      for (int64_t r = 0; r < filter[1]; ++r) {
        const int64_t h = start[1] + r * dilation[1];
        if (h < 0 || h >= in[1]) continue;
        for (int64_t s = 0; s < filter[2]; ++s) {
          const int64_t w = start[2] + s * dilation[2];
          if (w >= 0 && w < in[2]) visit((t * filter[1] + r) * filter[2] + s, (d * in[1] + h) * in[2] + w);
        }
      }
    }
  }

  int64_t samples, groups, channels, maps;
  int64_t in[kSpace] = {1, 1, 1}, out[kSpace] = {1, 1, 1}, filter[kSpace] = {1, 1, 1}, stride[kSpace] = {1, 1, 1},
          before[kSpace] = {}, dilation[kSpace] = {1, 1, 1};
  std::vector<std::array<int64_t, kSpace>> tap_places;  // of each tap, from where its window begins
};

// The geometry of a kernel: a convolution of x with w, or a gradient from y and w, or from x and y.
inline ConvolutionGeometry geometry_of(const LoweredKernel& kernel, const Context& context) {
  const Shape &a = context.type(kernel.inputs[0]).shape, &b = context.type(kernel.inputs[1]).shape;
  const Shape& result = context.type(kernel.outputs[0]).shape;
  switch (kernel.convolution()) {
    case ConvolutionKind::by_input: return {kernel.attributes, result, b, a};
    case ConvolutionKind::by_filters: return {kernel.attributes, a, result, b};
    default: return {kernel.attributes, a, b, result};
  }
}

}  // namespace neon::cpu
