// Convolutions and pooling over arrays (N,C,...) of any number of axes in space.
#include <algorithm>
#include <limits>

#include "neon/onnx/evaluate_parts.h"

namespace neon::onnx {

namespace {

using Sizes = std::vector<int64_t>;

Sizes space_of(const Sizes& sizes) { return {sizes.begin() + 2, sizes.end()}; }

// The windows of a node over an array of `input` pixels, each axis by itself.
class SeenPixels {
 public:
  SeenPixels(const Call& call, Sizes filter, Sizes input) : size(std::move(filter)), input(std::move(input)) {
    const Attributes& of = call.node.attributes;
    strides = of.integers("strides"), pads = of.integers("pads");
    dilations = of.has("dilations") ? of.integers("dilations") : Sizes(size.size(), 1);
    for (size_t i = 0; i < size.size(); ++i)
      outputs.push_back(
          (this->input[i] + pads[i] + pads[size.size() + i] - dilations[i] * (size[i] - 1) - 1) / strides[i] + 1);
  }
  // The pixel that place `place` of window `output` sees, as a number in row-major order; -1 where it is padding.
  int64_t seen(int64_t output, int64_t place) const {
    int64_t out = 0, unit = 1;
    for (size_t i = size.size(); i-- > 0;) {
      const int64_t at = output % outputs[i] * strides[i] - pads[i] + place % size[i] * dilations[i];
      if (at < 0 || at >= input[i]) return -1;
      out += at * unit, unit *= input[i];
      output /= outputs[i], place /= size[i];
    }
    return out;
  }
  // seen() of all windows, place after place.
  std::vector<int64_t> table() const {
    std::vector<int64_t> out;
    const int64_t count = product_of(outputs), places = product_of(size);
    for (int64_t p = 0; p < places; ++p)
      for (int64_t o = 0; o < count; ++o) out.push_back(seen(o, p));
    return out;
  }
  Sizes size, input, strides, pads, dilations, outputs;
};

Sizes with_space(int64_t samples, int64_t maps, const Sizes& space) {
  Sizes out = {samples, maps};
  out.insert(out.end(), space.begin(), space.end());
  return out;
}

// Adds weight * from[seen[o]] to sum o, where it is no padding.
void add_along(std::vector<double>& sums, const double* from, const int64_t* seen, double weight, Precision precision) {
  const auto count = int64_t(sums.size());
  double* const to = sums.data();
  if (precision == Precision::full) {
    for (int64_t o = 0; o < count; ++o) to[o] += seen[o] < 0 ? 0 : weight * from[seen[o]];
    return;
  }
  for (int64_t o = 0; o < count; ++o) to[o] = double(float(to[o] + (seen[o] < 0 ? 0 : weight * from[seen[o]])));
}

// y[n,k] sums over channels c of the group, and over places.
Array convolution(const Call& call) {
  const Array &x = call.in(0), &w = call.in(1);
  const int64_t groups = call.whole("group", 1), maps = w.sizes.at(0), channels = w.sizes.at(1);
  if (channels * groups != x.sizes.at(1))
    fail(ErrorKind::data, "node ", call.node.name, ": other channels than filters");
  const SeenPixels windows(call, space_of(w.sizes), space_of(x.sizes));
  const std::vector<int64_t> table = windows.table();
  const int64_t pixels = product_of(windows.input), outputs = product_of(windows.outputs),
                places = product_of(windows.size);
  Array out{with_space(x.sizes[0], maps, windows.outputs), {}};
  for (int64_t n = 0; n < x.sizes[0]; ++n)
    for (int64_t k = 0; k < maps; ++k) {
      std::vector<double> sums(size_t(outputs), 0);
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t channel = k / (maps / groups) * channels + c;
        const double* const from = &x.numbers[size_t((n * x.sizes[1] + channel) * pixels)];
        for (int64_t p = 0; p < places; ++p) {
          const double weight = w.numbers[size_t((k * channels + c) * places + p)];
          add_along(sums, from, &table[size_t(p * outputs)], weight, call.precision);
        }
      }
      out.numbers.insert(out.numbers.end(), sums.begin(), sums.end());
    }
  return out;
}

// The adjoint: each pixel of x is spread over the pixels that its window sees.
Array transposed_convolution(const Call& call) {
  const Array &x = call.in(0), &w = call.in(1);
  const Attributes& of = call.node.attributes;
  const int64_t groups = call.whole("group", 1), channels = x.sizes.at(1), maps = w.sizes.at(1);
  const Sizes from = space_of(x.sizes), filter = space_of(w.sizes);
  Sizes sizes;
  for (size_t i = 0; i < from.size(); ++i)
    sizes.push_back((from[i] - 1) * of.integers("strides")[i] + of.integers("output_padding")[i] +
                    (filter[i] - 1) * of.integers("dilations")[i] + 1 - of.integers("pads")[i] -
                    of.integers("pads")[from.size() + i]);
  const SeenPixels windows(call, filter, sizes);
  if (windows.outputs != from) fail(ErrorKind::data, "node ", call.node.name, ": output_padding does not fit");
  const std::vector<int64_t> table = windows.table();
  const int64_t pixels = product_of(from), outputs = product_of(sizes), places = product_of(filter);
  Array out{with_space(x.sizes[0], maps * groups, sizes), {}};
  std::vector<Sum> sums(size_t(product_of(out.sizes)), Sum(call.precision));
  for (int64_t n = 0; n < x.sizes[0]; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t m = 0; m < maps; ++m) {
        const int64_t map = c / (channels / groups) * maps + m;
        Sum* const to = &sums[size_t((n * maps * groups + map) * outputs)];
        for (int64_t p = 0; p < places; ++p)
          for (int64_t o = 0; o < pixels; ++o)
            if (const int64_t seen = table[size_t(p * pixels + o)]; seen >= 0)
              to[seen].add(w.numbers[size_t((c * maps + m) * places + p)] *
                           x.numbers[size_t((n * channels + c) * pixels + o)]);
      }
  for (const Sum& sum : sums) out.numbers.push_back(sum.value());
  return out;
}

Array pooled(const Call& call) {
  const Array& x = call.in(0);
  const SeenPixels windows(call, call.node.attributes.integers("kernel_shape"), space_of(x.sizes));
  const std::vector<int64_t> table = windows.table();
  const int64_t pixels = product_of(windows.input), outputs = product_of(windows.outputs),
                places = product_of(windows.size);
  const bool largest = call.node.op == "MaxPool", counts_padding = call.whole("count_include_pad", 0) != 0;
  Array out{with_space(x.sizes[0], x.sizes[1], windows.outputs), {}};
  for (int64_t map = 0; map < x.sizes[0] * x.sizes[1]; ++map)
    for (int64_t o = 0; o < outputs; ++o) {
      double most = -std::numeric_limits<double>::infinity();
      Sum sum(call.precision);
      int64_t count = 0;
      for (int64_t p = 0; p < places; ++p) {
        const int64_t seen = table[size_t(p * outputs + o)];
        if (seen < 0) continue;
        const double number = x.numbers[size_t(map * pixels + seen)];
        ++count, sum.add(number);
        if (number > most) most = number;
      }
      out.numbers.push_back(largest ? most : sum.value() / double(counts_padding ? places : count));
    }
  return out;
}

}  // namespace

std::optional<Array> evaluate_windows(const Call& call) {
  const std::string& op = call.node.op;
  if (op == "Conv") return convolution(call);
  if (op == "ConvTranspose") return transposed_convolution(call);
  if (op == "MaxPool" || op == "AveragePool") return pooled(call);
  return {};
}

}  // namespace neon::onnx
