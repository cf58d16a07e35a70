// Plain kernels of crop and resample.
#include <algorithm>
#include <cmath>

#include "backends/cpu/plain.h"
#include "backends/graph/images.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

int64_t image_of(const PlainArguments& a, int64_t sample) {
  if (a.inputs.size() < 3) return sample;
  const int64_t index = a.inputs[2].as<int32_t>()[size_t(sample)], count = a.inputs[0].shape()[0];
  if (index < 0 || index >= count)
    fail(ErrorKind::data, "index ", index, " at place ", sample, " is not in [0, ", count, ")");
  return index;
}

void crop(PlainArguments& a) {
  const Tensor &data = a.inputs[0], &place = a.inputs[1];
  Tensor& y = a.outputs[0];
  const auto border = Border(a.node.attributes.integer("border"));
  const int64_t rows = data.shape()[1], columns = data.shape()[2], channels = data.shape()[3];
  const int64_t height = y.shape()[1], width = y.shape()[2];
  for (int64_t n = 0; n < y.shape()[0]; ++n)
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j) {
        const bool flips = place.at(3 * n + 2) != 0;
        const int64_t row = inside(int64_t(place.at(3 * n)) + i, rows, border);
        const int64_t column = inside(int64_t(place.at(3 * n + 1)) + (flips ? width - 1 - j : j), columns, border);
        for (int64_t c = 0; c < channels; ++c)
          y.set(((n * height + i) * width + j) * channels + c,
                row < 0 || column < 0 ? 0 : data.at(((image_of(a, n) * rows + row) * columns + column) * channels + c));
      }
}

void resample(PlainArguments& a) {
  const Tensor &data = a.inputs[0], &box = a.inputs[1];
  Tensor& y = a.outputs[0];
  const int64_t rows = data.shape()[1], columns = data.shape()[2], channels = data.shape()[3];
  const int64_t height = y.shape()[1], width = y.shape()[2];
  const int64_t numbers = box.shape()[1];
  for (int64_t n = 0; n < y.shape()[0]; ++n)
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j) {
        const auto of_box = [&](int64_t which) { return which < numbers ? box.at(numbers * n + which) : 0; };
        const double down_by = (double(i) + 0.5) / double(height), across_by = (double(j) + 0.5) / double(width);
        const double v =
            std::clamp(of_box(0) + down_by * of_box(2) + across_by * of_box(4) - 0.5, 0.0, double(rows - 1));
        const double u =
            std::clamp(of_box(1) + across_by * of_box(3) + down_by * of_box(5) - 0.5, 0.0, double(columns - 1));
        const bool nearest = takes_nearest(a.node.attributes);
        const auto top = int64_t(nearest ? v + 0.5 : v), left = int64_t(nearest ? u + 0.5 : u);
        const double down = nearest ? 0 : v - double(top), right = nearest ? 0 : u - double(left);
        for (int64_t c = 0; c < channels; ++c) {
          auto pixel = [&](int64_t row, int64_t column) {
            return data.at(
                ((image_of(a, n) * rows + std::min(row, rows - 1)) * columns + std::min(column, columns - 1)) *
                    channels +
                c);
          };
          y.set(((n * height + i) * width + j) * channels + c,
                (1 - down) * ((1 - right) * pixel(top, left) + right * pixel(top, left + 1)) +
                    down * ((1 - right) * pixel(top + 1, left) + right * pixel(top + 1, left + 1)));
        }
      }
}

const PlainRegistration plain_images_functions[] = {{ops::crop, crop}, {ops::resample, resample}};

}  // namespace

}  // namespace neon::cpu
