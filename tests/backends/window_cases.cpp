#include "tests/backends/window_cases.h"

#include <algorithm>
#include <iterator>

#include "backends/graph/regions.h"
#include "backends/graph/windows.h"

namespace neon::test {

namespace {

using Axes = std::vector<int64_t>;

struct Convolution {
  std::string name;
  Shape x, w;
  Axes strides, padding, dilation;  // empty: 1, 0, 1
  int64_t groups = 1;
};

const std::vector<Convolution>& convolutions() {
  static const std::vector<Convolution> all = {
      {"3x3", {2, 5, 6, 3}, {4, 3, 3, 3}},
      {"20 channels, padded", {1, 3, 4, 20}, {20, 2, 3, 20}, {}, {1, 0, 1, 1}},
      {"odd sizes, strides", {2, 7, 9, 2}, {3, 3, 5, 2}, {2, 3}, {1, 1, 2, 2}},
      {"stride above the filter", {2, 7, 8, 2}, {3, 2, 2, 2}, {3, 4}},
      {"elements left over", {1, 6, 8, 3}, {2, 3, 3, 3}, {2, 2}},
      {"dilated", {1, 7, 8, 3}, {4, 3, 2, 3}, {}, {2, 2, 1, 1}, {2, 3}},
      {"dilated with strides", {1, 9, 8, 2}, {3, 2, 3, 2}, {2, 3}, {1, 2, 0, 3}, {3, 2}},
      {"two groups", {2, 4, 5, 6}, {8, 3, 2, 3}, {}, {1, 1, 0, 0}, {}, 2},
      {"three groups with strides", {1, 5, 5, 9}, {6, 2, 2, 3}, {2, 2}, {0, 1, 1, 0}, {}, 3},
      {"padding on one side", {2, 4, 5, 3}, {5, 3, 3, 3}, {}, {2, 0, 0, 1}},
      {"padding above the filter", {1, 3, 2, 2}, {3, 2, 2, 2}, {}, {3, 2, 4, 0}},
      {"1x1", {2, 3, 4, 5}, {7, 1, 1, 5}},
      {"1x1 with strides", {2, 5, 4, 8}, {3, 1, 1, 8}, {2, 3}},
      {"1x1 with strides, few channels", {4, 8, 6, 4}, {6, 1, 1, 4}, {2, 2}},
      {"filter of the whole input", {3, 4, 3, 5}, {6, 4, 3, 5}},
      {"padded in full, unequal filters", {2, 5, 4, 7}, {6, 4, 3, 7}, {}, {3, 3, 2, 2}},
      {"as many outputs, even filters", {2, 6, 7, 35}, {37, 2, 4, 35}, {}, {0, 1, 2, 1}},
      {"filter beyond the input", {1, 2, 3, 2}, {3, 4, 5, 2}, {}, {1, 2, 2, 1}},
      {"one channel, one map", {3, 6, 5, 1}, {1, 3, 3, 1}},
      {"one row", {2, 1, 9, 3}, {4, 1, 3, 3}, {1, 2}, {0, 0, 1, 1}},
      {"one pixel", {2, 1, 1, 4}, {3, 1, 1, 4}},
      {"no samples", {0, 5, 4, 3}, {2, 3, 3, 3}},
      {"images", {4, 14, 13, 16}, {32, 5, 5, 16}, {}, {2, 2, 2, 2}},
      {"images of one channel", {8, 28, 28, 1}, {16, 5, 5, 1}},
      {"volumes", {2, 3, 4, 5, 2}, {3, 2, 3, 3, 2}},
      {"volumes, padded, with strides", {1, 4, 5, 4, 3}, {4, 3, 2, 3, 3}, {2, 1, 2}, {1, 1, 0, 1, 2, 0}, {1, 2, 1}},
      {"volumes in groups", {1, 3, 3, 4, 4}, {6, 2, 2, 2, 2}, {1, 2, 1}, {0, 1, 1, 0, 1, 1}, {}, 2},
      // Of 32 samples and more, which kernels for AMX multiply at once.
      {"40 samples, padded, with strides", {40, 9, 8, 5}, {20, 3, 5, 5}, {2, 1}, {1, 2, 2, 0}},
      {"32 samples, dilated rows", {32, 9, 7, 3}, {18, 2, 3, 3}, {1, 2}, {1, 1, 0, 1}, {3, 1}},
      {"33 samples, padding above the filter", {33, 3, 2, 2}, {3, 2, 2, 2}, {}, {3, 2, 4, 0}},
      {"33 samples, stride above the filter", {33, 7, 8, 2}, {3, 2, 2, 2}, {3, 4}},
      {"64 samples, 1x1", {64, 5, 6, 40}, {48, 1, 1, 40}},
      {"70 samples of one channel", {70, 12, 11, 1}, {16, 5, 5, 1}},
      // Of which oneDNN's kernels for bf16 give wrong numbers.
      {"strides, 55 channels", {3, 7, 11, 55}, {23, 1, 2, 55}, {2, 2}, {0, 0, 2, 2}},
      {"strides, 83 channels", {4, 10, 14, 83}, {27, 2, 2, 83}, {4, 3}, {0, 0, 2, 2}},
      {"dilated, 39 channels", {3, 11, 3, 39}, {24, 3, 4, 39}, {}, {1, 1, 1, 1}, {2, 1}},
      {"volumes with strides, 5 channels", {2, 3, 2, 5, 5}, {8, 4, 4, 3, 5}, {2, 3, 1}, {2, 2, 1, 1, 0, 0}},
      {"volumes, dilated with strides", {4, 3, 6, 7, 14}, {11, 3, 1, 4, 14}, {2, 1, 1}, {1, 1, 0, 0, 1, 1}, {1, 2, 2}},
      // Enough tiles for Winograd's convolution: those left over, in every direction.
      {"3x3 by tiles", {2, 31, 26, 48}, {16, 3, 3, 48}},
      {"3x3 by tiles, padding on some sides", {2, 30, 33, 16}, {32, 3, 3, 16}, {}, {0, 2, 1, 0}},
      {"5x5 by tiles", {3, 13, 14, 32}, {48, 5, 5, 32}, {}, {2, 2, 2, 2}},
      // Sizes and filters of neon 1's own tests, with fewer samples and maps.
      {"3x7x58, 3x3x3", {1, 3, 7, 58, 16}, {16, 3, 3, 3, 16}},
      {"3x7x58, 3x3x3, padded, with strides", {1, 3, 7, 58, 16}, {16, 3, 3, 3, 16}, {1, 2, 2}, {1, 1, 1, 1, 1, 1}},
      {"3x7x58, 1x3x3", {1, 3, 7, 58, 16}, {16, 1, 3, 3, 16}},
      {"3x1x68, 1x1x11", {2, 3, 1, 68, 16}, {16, 1, 1, 11, 16}},
      {"3x1x68, 1x1x11 of one channel", {2, 3, 1, 68, 1}, {128, 1, 1, 11, 1}, {1, 1, 2}, {0, 0, 0, 0, 5, 5}},
  };
  return all;
}

// Each channel with a filter of its own, and two.
std::vector<Convolution> depthwise_convolutions() {
  return {
      {"depthwise", {2, 4, 5, 6}, {6, 3, 3, 1}, {}, {1, 1, 1, 1}, {}, 6},
      {"depthwise, 24 channels", {1, 9, 10, 24}, {24, 3, 3, 1}, {}, {1, 1, 1, 1}, {}, 24},
      {"depthwise with strides", {2, 13, 12, 16}, {16, 3, 3, 1}, {2, 2}, {1, 1, 1, 1}, {}, 16},
      {"depthwise, 5x5 with strides", {2, 11, 16, 12}, {12, 5, 5, 1}, {2, 2}, {2, 2, 2, 2}, {}, 12},
      {"depthwise, 7x7, odd channels", {1, 9, 10, 7}, {7, 7, 7, 1}, {}, {3, 3, 3, 3}, {}, 7},
      {"depthwise, 2x3, padded on some sides", {2, 10, 11, 20}, {20, 2, 3, 1}, {1, 3}, {0, 2, 1, 0}, {}, 20},
      {"depthwise, stride above the filter", {2, 11, 10, 8}, {8, 2, 1, 1}, {3, 2}, {1, 0, 0, 1}, {}, 8},
      {"depthwise, padding above the filter", {2, 3, 2, 4}, {4, 2, 2, 1}, {}, {3, 2, 4, 0}, {}, 4},
      {"depthwise, 40 samples of 33 rows", {40, 33, 9, 40}, {40, 3, 3, 1}, {}, {1, 1, 1, 1}, {}, 40},
      {"depthwise, 264 channels", {3, 9, 8, 264}, {264, 3, 3, 1}, {2, 1}, {1, 1, 1, 1}, {}, 264},
      {"depthwise, dilated", {2, 7, 8, 4}, {4, 3, 3, 1}, {}, {2, 2, 2, 2}, {2, 2}, 4},
      {"depthwise, two maps each", {1, 5, 4, 4}, {8, 3, 2, 1}, {2, 1}, {0, 2, 1, 0}, {}, 4},
  };
}

// neon 1's test of dilation: all of these together.
std::vector<Convolution> dilated_convolutions() {
  std::vector<Convolution> out;
  for (const int64_t side : {3, 4, 7})
    for (const int64_t dilation : {2, 3})
      for (const int64_t stride : {1, 2, 3, 6})
        out.push_back({text(side, "x", side, ", dilation ", dilation, ", strides of ", stride),
                       {1, 20, 21, 3},
                       {2, side, side, 3},
                       {stride, stride},
                       {2, 2, 2, 2},
                       {dilation, dilation}});
  return out;
}

// Of neon 1's tests in their own sizes.
std::vector<Convolution> large_convolutions(int64_t samples) {
  const Shape x = {samples, 3, 7, 58, 64}, row = {32, 3, 1, 68, 1};
  return {{"3x7x58x64, 3x3x3", x, {64, 3, 3, 3, 64}},
          {"3x7x58x64, 3x3x3, padded, with strides", x, {64, 3, 3, 3, 64}, {1, 2, 2}, {1, 1, 1, 1, 1, 1}},
          {"3x7x58x64, 1x3x3", x, {64, 1, 3, 3, 64}},
          {"32 of 3x1x68, 1x1x11", row, {128, 1, 1, 11, 1}},
          {"32 of 3x1x68, 1x1x11, padded, with strides", row, {128, 1, 1, 11, 1}, {1, 1, 2}, {0, 0, 0, 0, 5, 5}}};
}

Axes filled(const Axes& given, size_t count, int64_t by) { return given.empty() ? Axes(count, by) : given; }

Axes middle(const Shape& shape) { return {shape.begin() + 1, shape.end() - 1}; }

int64_t product(const Axes& sizes) { return Shape(sizes).elements(); }

}  // namespace

namespace {

std::vector<OpCase> cases_of(const std::vector<Convolution>& convolutions, const std::string& op) {
  std::vector<OpCase> out;
  for (const Convolution& c : convolutions) {
    const size_t axes = size_t(c.x.rank()) - 2;
    const Attributes attributes = {{"strides", filled(c.strides, axes, 1)},
                                   {"padding", filled(c.padding, 2 * axes, 0)},
                                   {"dilation", filled(c.dilation, axes, 1)},
                                   {"groups", c.groups}};
    const Axes outputs = windows_of(attributes, middle(c.w)).outputs(middle(c.x));
    const Shape y = Shape{c.x[0]}.concat(Shape(outputs)).concat({c.w[0]});
    OpCase made{op,
                c.name,
                {{c.x}, {c.w}},
                attributes,
                product(middle(c.w)) * c.w.back(),
                c.x[0] ? "product" : "empty product"};
    if (op == "convolution_data_gradient") {
      made.inputs = {{y}, {c.w}};
      made.attributes = attributes.with("sizes", middle(c.x));
      made.length = product(middle(c.w)) * c.w[0] / c.groups;
    } else if (op == "convolution_weight_gradient") {
      made.inputs = {{c.x}, {y}};
      made.attributes = attributes.with("sizes", middle(c.w));
      made.length = c.x[0] * product(outputs);
    }
    out.push_back(std::move(made));
  }
  return out;
}

}  // namespace

std::vector<OpCase> convolution_cases(const std::string& op) {
  std::vector<Convolution> all = convolutions();
  std::ranges::move(depthwise_convolutions(), std::back_inserter(all));
  std::ranges::move(dilated_convolutions(), std::back_inserter(all));
  return cases_of(all, op);
}

std::vector<OpCase> large_convolution_cases(int64_t samples) {
  std::vector<OpCase> out;
  for (const char* op : {"convolution", "convolution_data_gradient", "convolution_weight_gradient"})
    std::ranges::move(cases_of(large_convolutions(samples), op), std::back_inserter(out));
  return out;
}

namespace {

struct Pooling {
  const char* name;
  Shape x;
  Axes window, strides, padding;  // empty: the window, 0
};

const std::vector<Pooling>& poolings() {
  static const std::vector<Pooling> all = {
      {"2x2", {2, 4, 6, 3}, {2, 2, 1}},
      {"overlapping", {2, 5, 6, 2}, {3, 3, 1}, {2, 2, 1}},
      {"overlapping in one axis", {1, 4, 7, 3}, {2, 3, 1}, {2, 1, 1}},
      {"stride above the window", {2, 7, 8, 2}, {2, 2, 1}, {3, 4, 1}},
      {"elements left over", {1, 5, 7, 4}, {2, 3, 1}},
      {"padded", {2, 5, 4, 3}, {3, 3, 1}, {2, 2, 1}, {1, 1, 1, 1, 0, 0}},
      {"padded on one side", {1, 5, 6, 2}, {3, 2, 1}, {2, 2, 1}, {0, 2, 1, 0, 0, 0}},
      {"whole input", {3, 4, 5, 4}, {4, 5, 1}},
      {"one pixel", {2, 3, 3, 5}, {1, 1, 1}, {2, 2, 1}},
      {"20 channels", {2, 4, 4, 20}, {2, 2, 1}},
      {"16 channels", {2, 5, 6, 16}, {2, 2, 1}, {2, 2, 1}, {0, 1, 0, 0, 0, 0}},
      {"16 channels, padded on both sides", {2, 6, 8, 16}, {2, 2, 1}, {2, 2, 1}, {1, 1, 1, 1, 0, 0}},
      {"16 channels, stride above the window", {2, 9, 8, 16}, {2, 2, 1}, {3, 4, 1}, {1, 0, 0, 0, 0, 0}},
      {"16 channels, overlapping", {2, 9, 8, 16}, {3, 3, 1}, {2, 2, 1}, {1, 1, 0, 1, 0, 0}},
      {"16 channels, overlapping in one axis", {2, 7, 8, 16}, {2, 3, 1}, {2, 2, 1}},
      {"16 channels, all neighbours", {2, 5, 7, 16}, {3, 3, 1}, {1, 1, 1}, {1, 1, 1, 1, 0, 0}},
      {"16 channels, far apart", {1, 14, 15, 16}, {5, 5, 1}, {4, 3, 1}, {2, 2, 1, 1, 0, 0}},
      {"29 channels, overlapping", {2, 7, 8, 29}, {3, 3, 1}, {2, 2, 1}, {1, 1, 0, 1, 0, 0}},
      {"over channels", {2, 3, 2, 8}, {1, 1, 2}},
      {"over channels and space", {1, 5, 4, 6}, {2, 2, 3}, {2, 1, 2}, {0, 1, 1, 0, 1, 1}},
      {"a row of channels", {3, 7}, {3}, {1}, {1, 1}},
      {"window of 256", {1, 17, 17, 1}, {16, 16, 1}, {1, 1, 1}},
      {"no samples", {0, 4, 4, 2}, {2, 2, 1}},
      {"images", {4, 24, 24, 16}, {2, 2, 1}},
      {"images, overlapping", {2, 15, 15, 33}, {3, 3, 1}, {2, 2, 1}, {1, 1, 1, 1, 0, 0}},
      {"volumes", {2, 4, 3, 4, 2}, {2, 2, 2, 1}, {2, 1, 2, 1}},
      {"volumes, padded", {1, 3, 4, 5, 3}, {2, 3, 3, 1}, {1, 2, 2, 1}, {1, 0, 1, 1, 1, 1, 0, 0}},
      {"images one deep, padded", {1, 1, 64, 64, 4}, {2, 3, 3, 1}, {1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 0, 0}},
      // As in neon 1's own tests, with fewer samples.
      {"32x32x32, 3x3 over 2 channels", {1, 32, 32, 32}, {3, 3, 2}, {2, 2, 2}},
  };
  return all;
}

// The place of the first window that is the array's first element; in these cases no window has padding there.
double first_element(const Axes& window, const Axes& padding) {
  int64_t place = 0;
  for (size_t i = 0; i < window.size(); ++i) place = place * window[i] + padding[2 * i];
  return double(place);
}

bool is_padded(const Attributes& attributes) {
  for (int64_t number : attributes.integers("padding"))
    if (number) return true;
  return false;
}

// Whether the place in a window where the first one has the first element is an element in all of them.
bool all_see_what_the_first_see(const Shape& x, const Shape& y, const Attributes& attributes) {
  const auto& strides = attributes.integers("strides");
  for (size_t axis = 0; axis < strides.size(); ++axis)
    if ((y[int(axis) + 1] - 1) * strides[axis] >= x[int(axis) + 1]) return false;
  return true;
}

// Positions that are elements of the array.
CaseInput positions(const Shape& y, const Attributes& attributes) {
  const auto& window = attributes.integers("window");
  const int64_t places = product(window);
  CaseInput out{y, 0, 1, places > 255 ? DType::i32 : DType::u8, {}};
  if (is_padded(attributes)) out.values = {first_element(window, attributes.integers("padding"))};
  else
    for (int64_t i = 0; i < 11; ++i) out.values.push_back(double(i * 7 % places));
  return out;
}

}  // namespace

namespace {

// Of each bin's channels in turn its first pixel and its last, -1 where it has none.
std::vector<double> first_pixels(const Shape& x, const CaseInput& regions, const Attributes& bins) {
  const int64_t height = bins.integer("height"), width = bins.integer("width");
  std::vector<double> out;
  for (int64_t r = 0; r < regions.shape.elements() / 4; ++r) {
    double corners[4], missing;
    for (size_t i = 0; i < 4; ++i) corners[i] = regions.values[(4 * size_t(r) + i) % regions.values.size()];
    const Region region = region_of(corners, bins.real("scale"), missing);
    for (int64_t k = 0; k < height * width * x[3]; ++k) {
      const Bin down = bin_of(region.rows, k / x[3] / width, height, x[1]),
                across = bin_of(region.columns, k / x[3] % width, width, x[2]);
      if (down.begin >= down.end || across.begin >= across.end) out.push_back(-1);
      else if (k % 2) out.push_back(double((down.end - 1) * x[2] + across.end - 1));
      else out.push_back(double(down.begin * x[2] + across.begin));
    }
  }
  return out;
}

}  // namespace

std::vector<OpCase> pooling_cases(const std::string& op) {
  std::vector<OpCase> out;
  for (const Pooling& p : poolings())
    for (int64_t count_padding : {0, 1}) {
      const bool average = op.starts_with("pool_avg");
      Attributes attributes = {{"window", p.window},
                               {"strides", p.strides.empty() ? p.window : p.strides},
                               {"padding", filled(p.padding, 2 * p.window.size(), 0)}};
      if (count_padding && (!average || !is_padded(attributes))) continue;
      if (average) attributes = attributes.with("count_padding", count_padding);
      const Axes sizes(p.x.begin() + 1, p.x.end());
      const Shape y = Shape{p.x[0]}.concat(Shape(windows_of(attributes, p.window).outputs(sizes)));
      OpCase made{op, p.name, {{p.x}}, attributes, product(p.window), "pooling"};
      if (count_padding) made.name += ", padding counts";
      if (op.ends_with("_gradient")) {
        made.inputs = {{y}};
        made.attributes = attributes.with("sizes", sizes);
      }
      if (op == "pool_max_gradient") {
        if (!all_see_what_the_first_see(p.x, y, attributes)) continue;
        made.inputs.push_back(positions(y, attributes));
      }
      out.push_back(std::move(made));
    }
  return out;
}

std::vector<OpCase> region_cases(const std::string& op) {
  struct Regions {
    const char* name;
    Shape x;
    int64_t count, height, width;  // of regions an image; of bins
    double scale;
    std::vector<double> corners;  // x1, y1, x2, y2 of each, repeated
  };
  const Regions all[] = {
      {"whole image", {1, 4, 6, 3}, 1, 2, 3, 1, {0, 0, 5, 3}},
      {"bins that share pixels", {2, 7, 6, 2}, 2, 3, 2, 1, {0, 1, 4, 5, 1, 0, 5, 6}},
      {"halves are rounded", {1, 6, 6, 4}, 3, 2, 2, 0.5, {1, 3, 5, 7, 0.5, 0, 9, 11, 2.5, 5, 2.5, 5}},
      {"more bins than pixels", {2, 3, 4, 3}, 1, 4, 5, 0.25, {4, 4, 11, 7, 0, 0, 3, 3}},
      {"corners the wrong way round", {1, 5, 5, 2}, 1, 2, 2, 1, {4, 4, 1, 0}},
      {"beyond the image", {2, 4, 4, 5}, 2, 2, 3, 1, {-3, -2, 2, 6, 2, 3, 9, 9, 5, 5, 7, 7}},
      {"far away", {1, 3, 3, 2}, 2, 2, 2, 1, {-60000, -60000, 60000, 60000, 50000, 0, 60000, 2}},
      {"overlapping", {1, 6, 5, 1}, 4, 2, 2, 1, {0, 0, 4, 5, 0, 0, 4, 5, 1, 1, 4, 4, 2, 0, 3, 5}},
      {"no regions", {2, 3, 3, 4}, 0, 2, 2, 1, {}},
      {"no samples", {0, 3, 3, 4}, 1, 2, 2, 1, {}},
      {"images", {3, 14, 15, 24}, 5, 7, 7, 0.0625, {16, 0, 200, 120, 64, 32, 224, 223, 0, 96, 96, 200}},
  };
  std::vector<OpCase> out;
  for (const Regions& r : all) {
    const CaseInput regions{{r.x[0], r.count, 4}, 0, 1, DType::f32, r.corners};
    const Attributes bins = {{"height", r.height}, {"width", r.width}, {"scale", r.scale}};
    OpCase made{op, r.name, {{r.x}, regions}, bins, 1, "regions"};
    if (op == "region_max_gradient") {
      const Shape y{r.x[0], r.count, r.height, r.width, r.x[3]};
      made.inputs = {{y}, {y, 0, 1, DType::i32, first_pixels(r.x, regions, bins)}, regions};
      made.attributes = {{"scale", r.scale}, {"sizes", Axes{r.x[1], r.x[2]}}};
      made.length = r.count * r.height * r.width;
    }
    out.push_back(std::move(made));
  }
  return out;
}

std::vector<OpCase> columns_cases(const std::string& op) {
  std::vector<OpCase> out;
  auto add = [&](const std::string& name, const Shape& x, const Axes& sizes, const Axes& strides, const Axes& padding,
                 const Axes& dilation) {
    Attributes windows = {{"strides", strides}, {"padding", padding}, {"dilation", dilation}, {"sizes", sizes}};
    if (op == "patches") {
      const int64_t least = product(sizes) * x.back(), more = int64_t(out.size()) % 3 * 4;
      windows = windows.with("channels", more < 8 ? least + more : (least + 7) / 8 * 8);
    }
    out.push_back({op, name, {{x}}, std::move(windows), 1, "plain"});
  };
  for (const Convolution& c : convolutions())
    if (c.x.rank() == 4 && c.groups == 1)
      add(c.name, c.x, middle(c.w), filled(c.strides, 2, 1), filled(c.padding, 4, 0), filled(c.dilation, 2, 1));
  add("turned, several blocks", {3, 5, 9, 70}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1});
  add("several blocks", {2, 7, 11, 33}, {3, 2}, {2, 1}, {1, 1, 0, 1}, {1, 2});
  add("of 3 channels", {3, 33, 31, 3}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1});
  add("wide windows of many channels", {1, 5, 4, 131}, {4, 3}, {1, 1}, {0, 0, 1, 0}, {1, 1});
  add("windows of places far apart", {2, 63, 65, 3}, {3, 3}, {1, 2}, {1, 0, 2, 1}, {30, 29});
  add("two rows of a window", {2, 23, 37, 3}, {2, 7}, {2, 2}, {3, 3, 3, 3}, {1, 1});
  add("long rows", {2, 3, 1100, 2}, {2, 3}, {1, 1}, {0, 1, 1, 1}, {1, 1});
  return out;
}

std::vector<OpCase> depth_to_space_cases() {
  std::vector<OpCase> out;
  auto add = [&](const char* name, const Shape& y, const Axes& blocks, const Axes& sizes) {
    out.push_back({"depth_to_space", name, {{y}}, {{"blocks", blocks}, {"sizes", sizes}}, 1, "definition"});
  };
  add("even", {2, 2, 2, 18}, {2, 3}, {4, 6, 3});
  add("more channels", {2, 2, 2, 16}, {2, 2}, {4, 4, 3});
  add("single pixels", {1, 3, 5, 8}, {1, 1}, {3, 5, 3});
  add("rows left out", {1, 4, 3, 9}, {2, 2}, {7, 6, 2});
  add("rows and columns left out", {2, 3, 2, 20}, {4, 5}, {9, 7, 1});
  add("one block", {5, 1, 1, 32}, {3, 3}, {3, 3, 3});
  add("20 channels", {2, 2, 1, 80}, {2, 2}, {4, 2, 20});
  add("no samples", {0, 2, 2, 12}, {2, 2}, {4, 4, 3});
  return out;
}

}  // namespace neon::test
