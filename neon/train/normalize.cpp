#include "neon/train/normalize.h"

#include <cmath>

namespace neon {

namespace {

constexpr int64_t kMostChannels = 16;  // each is a term of an expression

void check_shape(const Normalize& normalize, const Shape& sample) {
  if (sample.rank() != 3)
    fail(ErrorKind::config, "normalize: is for images (C, H, W), the samples are ", sample, "; leave it out");
  if (sample[0] > kMostChannels)
    fail(ErrorKind::config, "normalize: is for images of at most ", kMostChannels, " channels, these have ", sample[0]);
  for (const auto* numbers : {&normalize.mean, &normalize.std})
    if (!numbers->empty() && int64_t(numbers->size()) != sample[0])
      fail(ErrorKind::config, "normalize: ", numbers == &normalize.mean ? "mean" : "std", " has ", numbers->size(),
           " numbers, the images have ", sample[0], " channels");
}

void take(const Normalize& normalize, auto& data) {
  const auto channels = size_t(data.sample[0]);
  data.means = normalize.mean.empty() ? std::vector<double>(channels, 0) : normalize.mean;
  data.deviations = normalize.std.empty() ? std::vector<double>(channels, 1) : normalize.std;
}

// Sums of a channel's numbers and of their squares; of bytes exact.
void measure(Data& data) {
  const int64_t channels = data.sample[0], places = data.sample.elements() / channels;
  const Tensor& x = data.train.inputs;
  std::vector<double> sums(size_t(channels), 0), squares(size_t(channels), 0);
  dispatch(x.dtype(), [&]<typename T>() {
    const auto values = x.as<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t c = data.channels_last ? i % size_t(channels) : i / size_t(places) % size_t(channels);
      const auto value = load_as<double>(values[i]);
      sums[c] += value;
      squares[c] += value * value;
    }
  });
  const double count = double(x.elements() / channels);
  for (size_t c = 0; c < size_t(channels); ++c) {
    const double mean = sums[c] / count, variance = squares[c] / count - mean * mean;
    if (!(variance > 0))
      fail(ErrorKind::data, data.source, ": channel ", c, " is ", mean, " everywhere: normalize would divide by 0");
    data.means[c] = mean * data.scale + data.shift;
    data.deviations[c] = std::sqrt(variance) * std::abs(double(data.scale));
  }
}

}  // namespace

void set_normalization(const Normalize& normalize, Data& data) {
  if (!normalize.is_given()) return;
  check_shape(normalize, data.sample);
  take(normalize, data);
  if (normalize.measured) measure(data);
}

void set_normalization(const Normalize& normalize, DataCheck& check) {
  if (!normalize.is_given() || check.sample.rank() == 0) return;
  check_shape(normalize, check.sample);
  take(normalize, check);
}

}  // namespace neon
