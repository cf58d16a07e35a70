#include "tests/backends/cuda/tile_cases.h"

#include "backends/graph/windows.h"

namespace neon::test {

namespace {

struct Sizes {
  int64_t images, height, width, channels, maps;
  std::vector<int64_t> filter, strides, padding, dilation;
};

// A convolution and its gradients.
std::vector<OpCase> cases_of(const Sizes& s) {
  const Shape x{s.images, s.height, s.width, s.channels}, w{s.maps, s.filter[0], s.filter[1], s.channels};
  const std::vector<int64_t> sizes{s.height, s.width};
  const Attributes attributes = {
      {"strides", s.strides}, {"padding", s.padding}, {"dilation", s.dilation}, {"groups", int64_t(1)}};
  const std::vector<int64_t> out = windows_of(attributes, s.filter).outputs(sizes);
  const Shape y{s.images, out[0], out[1], s.maps};
  const std::string name = text(x, " ", w, " ", attributes);
  const int64_t places = s.filter[0] * s.filter[1];
  return {{"convolution", name, {{x}, {w}}, attributes, places * s.channels},
          {"convolution_data_gradient", name, {{y}, {w}}, attributes.with("sizes", sizes), places * s.maps},
          {"convolution_weight_gradient",
           name,
           {{x}, {y}},
           attributes.with("sizes", s.filter),
           s.images * out[0] * out[1]}};
}

}  // namespace

std::vector<OpCase> tile_cases() {
  const std::vector<int64_t> ones{1, 1}, twos{2, 2}, same(4, 1), none(4, 0);
  const std::vector<Sizes> all = {
      {8, 56, 56, 64, 64, {3, 3}, ones, same, ones},   // seven squares a row
      {8, 56, 56, 128, 32, {3, 3}, ones, same, ones},  // a dense block's
      {8, 23, 41, 72, 200, {3, 3}, ones, same, ones},  // ends within tiles, of depth and of maps
      {9, 32, 32, 64, 128, {11, 11}, twos, std::vector<int64_t>(4, 5), ones},
      {8, 65, 63, 32, 64, {7, 7}, twos, std::vector<int64_t>(4, 3), ones},  // planes of unequal size
      {8, 115, 60, 48, 64, {4, 1}, ones, none, ones},                       // a first layer's
      {16, 65, 65, 40, 96, {3, 3}, twos, {0, 1, 1, 0}, ones},               // uneven padding
      {8, 44, 44, 64, 64, {3, 3}, ones, {2, 2, 2, 2}, twos},                // dilated
      {8, 50, 50, 16, 136, {5, 5}, {2, 1}, {2, 2, 2, 2}, ones},             // two planes
      {8, 17, 19, 256, 256, {3, 3}, ones, same, ones},                      // several halos, one after the other
      {8, 88, 80, 104, 24, {2, 3}, ones, none, ones},
      {40, 40, 40, 64, 64, {3, 3}, ones, same, ones},  // more tiles than blocks, in turn
  };
  std::vector<OpCase> out;
  for (const Sizes& s : all)
    for (OpCase& c : cases_of(s)) out.push_back(std::move(c));
  return out;
}

std::vector<OpCase> pairs_cases() {
  const std::vector<int64_t> ones{1, 1}, twos{2, 2};
  const std::vector<Sizes> all = {
      {20, 96, 112, 4, 64, {7, 7}, twos, {3, 3, 3, 3}, ones},
      {20, 90, 94, 4, 72, {7, 7}, twos, {3, 3, 2, 4}, ones},     // ends within tiles, of maps in two of them
      {16, 96, 96, 4, 136, {5, 5}, twos, {2, 2, 2, 2}, ones},    // an odd number of pairs, many maps
      {32, 130, 66, 4, 24, {9, 5}, {1, 2}, {0, 0, 0, 0}, ones},  // rows one by one, few maps
      {40, 100, 128, 4, 96, {6, 3}, {3, 2}, {0, 0, 1, 0}, ones},
      {100, 65, 52, 4, 32, {8, 6}, {2, 2}, {4, 3, 0, 5}, ones},  // whole pairs
      {150, 65, 52, 4, 32, {5, 6}, {2, 2}, {4, 3, 5, 0}, ones},  // windows from odd pixels, of even width
  };
  std::vector<OpCase> out;
  for (const Sizes& s : all)
    for (OpCase& c : cases_of(s))
      if (c.op != "convolution_data_gradient") out.push_back(std::move(c));
  return out;
}

}  // namespace neon::test
