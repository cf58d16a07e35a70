#include "datasets/image.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "datasets/file.h"
#include "datasets/jpeg_image.h"
#include "datasets/png_image.h"

namespace neon {

namespace {

[[noreturn]] void no_image(std::string_view bytes, const std::string& source) {
  fail(ErrorKind::data, source, ": expected a JPEG or PNG image", looks_like_clause(bytes.substr(0, 512)));
}

// What one place of a resized axis is made of.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;  // their sum is 1
};

std::vector<Taps> taps_of(int64_t from, int64_t to) {
  const double scale = double(from) / double(to), reach = std::max(scale, 1.0);
  std::vector<Taps> out;
  for (int64_t i = 0; i < to; ++i) {
    const double centre = (double(i) + 0.5) * scale;
    Taps taps;
    taps.first = std::max<int64_t>(0, int64_t(centre - reach + 0.5));
    const int64_t last = std::min(from, int64_t(centre + reach + 0.5));
    double sum = 0;
    std::vector<double> weights;
    for (int64_t k = taps.first; k < last; ++k) {
      weights.push_back(std::max(0.0, 1 - std::abs((double(k) + 0.5 - centre) / reach)));
      sum += weights.back();
    }
    for (double weight : weights) taps.weights.push_back(float(weight / sum));
    out.push_back(std::move(taps));
  }
  return out;
}

// The shorter side's length becomes `size`, the other's the nearest that keeps the shape.
Tensor with_shorter_side(const Tensor& image, int64_t size) {
  const int64_t height = image.shape()[0], width = image.shape()[1], shorter = std::min(height, width);
  if (shorter == size) return image;
  auto side = [&](int64_t length) {
    return std::max(size, int64_t(std::llround(double(length) * double(size) / double(shorter))));
  };
  return resized(image, side(height), side(width));
}

}  // namespace

bool is_image_name(std::string_view name) {
  const std::string small = lower(name.substr(std::min(name.size(), name.rfind('.'))));
  return small == ".jpg" || small == ".jpeg" || small == ".png";
}

ImageSize image_size(std::string_view bytes, const std::string& source) {
  if (is_jpeg(bytes)) return jpeg_size(bytes, source);
  if (is_png(bytes)) return png_size(bytes, source);
  no_image(bytes, source);
}

Tensor read_image(std::string_view bytes, const ImageFormat& format, const std::string& source) {
  Tensor image;
  if (is_jpeg(bytes)) image = read_jpeg(bytes, int(format.channels), format.size, source);
  else if (is_png(bytes)) image = read_png(bytes, int(format.channels), source);
  else no_image(bytes, source);
  return format.size == 0 ? image : centre_of(with_shorter_side(image, format.size), format.size, format.size);
}

Tensor resized(const Tensor& x, int64_t height, int64_t width) {
  const int64_t rows = x.shape()[0], columns = x.shape()[1], channels = x.shape()[2];
  const auto across = taps_of(columns, width), down = taps_of(rows, height);
  const auto from = x.as<uint8_t>();
  std::vector<float> narrow(size_t(rows * width * channels), 0);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t j = 0; j < width; ++j)
      for (size_t k = 0; k < across[size_t(j)].weights.size(); ++k) {
        const Taps& taps = across[size_t(j)];
        const uint8_t* pixel = &from[size_t((row * columns + taps.first + int64_t(k)) * channels)];
        float* to = &narrow[size_t((row * width + j) * channels)];
        for (int64_t c = 0; c < channels; ++c) to[c] += taps.weights[k] * float(pixel[c]);
      }
  Tensor out(DType::u8, {height, width, channels});
  const size_t line = size_t(width * channels);
  std::vector<float> sums(line);
  for (int64_t i = 0; i < height; ++i) {
    const Taps& taps = down[size_t(i)];
    std::ranges::fill(sums, 0.0f);
    for (size_t k = 0; k < taps.weights.size(); ++k)
      for (size_t j = 0; j < line; ++j) sums[j] += taps.weights[k] * narrow[(size_t(taps.first) + k) * line + j];
    for (size_t j = 0; j < line; ++j)
      out.as<uint8_t>()[size_t(i) * line + j] = uint8_t(std::lround(std::clamp(sums[j], 0.0f, 255.0f)));
  }
  return out;
}

Tensor centre_of(const Tensor& x, int64_t height, int64_t width) {
  const int64_t rows = x.shape()[0], columns = x.shape()[1], channels = x.shape()[2];
  if (rows == height && columns == width) return x;
  NEON_ASSERT(height <= rows && width <= columns);
  Tensor out(DType::u8, {height, width, channels});
  const int64_t top = (rows - height) / 2, left = (columns - width) / 2;
  for (int64_t i = 0; i < height; ++i)
    std::copy_n(&x.as<uint8_t>()[size_t(((top + i) * columns + left) * channels)], width * channels,
                &out.as<uint8_t>()[size_t(i * width * channels)]);
  return out;
}

}  // namespace neon
