#include "neon/train/normalize.h"

#include <omp.h>

#include <atomic>
#include <cmath>
#include <exception>

#include "neon/core/key_error.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

constexpr int64_t kMostChannels = 16;  // each is a term of an expression

void check_shape(const Normalize& normalize, const Shape& sample) {
  if (sample.rank() != 3)
    fail_about("normalize", "is for images (C, H, W), the samples are ", sample, "; leave it out");
  if (sample[0] > kMostChannels)
    fail_about("normalize", "is for images of at most ", kMostChannels, " channels, these have ", sample[0]);
  if (normalize.measure_mean && !normalize.mean.empty())
    fail_about("normalize", "mean and measure_mean are both given; leave one of them out");
  for (const auto* numbers : {&normalize.mean, &normalize.std})
    if (!numbers->empty() && int64_t(numbers->size()) != sample[0])
      fail_about("normalize", numbers == &normalize.mean ? "mean" : "std", " has ", numbers->size(),
                 numbers->size() == 1 ? " number" : " numbers", ", the images have ", sample[0],
                 " channels: one for each");
}

void take(const Normalize& normalize, SampleMeaning& data) {
  const auto channels = size_t(data.sample[0]);
  data.means = normalize.mean.empty() ? std::vector<double>(channels, 0) : normalize.mean;
  data.deviations = normalize.std.empty() ? std::vector<double>(channels, 1) : normalize.std;
}

// Sums of the channels' numbers, less a number of each channel, and of their squares. Sums of bytes are exact up to
// 10^11 of them, in whatever order they are added.
struct ChannelSums {
  explicit ChannelSums(int64_t channels)
      : less(size_t(channels), 0), sums(size_t(channels), 0), squares(size_t(channels), 0) {}
  std::vector<double> less, sums, squares;
  double count = 0;  // numbers of a channel

  // Takes the first number of each channel off: floats that are all alike then have squares of 0.
  void begin_at_first(const Tensor& x, int64_t places, bool channels_last) {
    for (size_t c = 0; c < less.size(); ++c) less[c] = x.at(channels_last ? int64_t(c) : int64_t(c) * places);
  }

  void add(const Tensor& x, int64_t places, bool channels_last) {
    const size_t channels = sums.size();
    dispatch(x.dtype(), [&]<typename T>() {
      const auto values = x.as<T>();
      for (size_t i = 0; i < values.size(); ++i) {
        const size_t c = channels_last ? i % channels : i / size_t(places) % channels;
        const double value = load_as<double>(values[i]) - less[c];
        sums[c] += value;
        squares[c] += value * value;
      }
    });
    count += double(x.elements() / int64_t(channels));
  }
  void add(const ChannelSums& other) {
    for (size_t c = 0; c < sums.size(); ++c) sums[c] += other.sums[c], squares[c] += other.squares[c];
    count += other.count;
  }
};

// A thread reads samples of a stream with this.
struct ReadingThread {
  ReadingThread(const Shape& sample, size_t target_bytes)
      : sums(sample[0]), pixels(DType::u8, {sample[1], sample[2], sample[0]}), target(target_bytes) {}
  void read(const RowReader& reader, int64_t index) try {
    reader.read_row(index, std::as_writable_bytes(pixels.as<uint8_t>()), target, scratch);
    sums.add(pixels, 1, true);
  } catch (const Error& error) {
    LeftOut* const left_out = reader.left_out();
    if (error.kind() != ErrorKind::data || !left_out) throw;
    left_out->add(index, error.what());
  }
  ChannelSums sums;
  ReadScratch scratch;
  Tensor pixels;
  std::vector<std::byte> target;
};

// Every sample of a stream, read once. Samples are begun in their order and none after one that failed, so the first
// that fails is the same whatever the threads.
void read_through(const RowReader& reader, const Shape& sample, ChannelSums& all) {
  std::atomic<int64_t> failed = reader.size();
  std::exception_ptr trouble;
  const int threads = available_threads();
  std::vector<std::unique_ptr<ReadingThread>> of_thread;
  for (int i = 0; i < threads; ++i) of_thread.push_back(std::make_unique<ReadingThread>(sample, reader.target_bytes()));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
  for (int64_t i = 0; i < reader.size(); ++i) try {
      if (i < failed) of_thread[size_t(omp_get_thread_num())]->read(reader, i);
    } catch (...) {
#pragma omp critical
      if (i < failed) failed = i, trouble = std::current_exception();
    }
  if (trouble) std::rethrow_exception(trouble);
  for (const auto& thread : of_thread) all.add(thread->sums);
}

// The means, and where these are asked for the deviations.
void measure(Data& data, bool deviations) {
  const int64_t channels = data.sample[0];
  ChannelSums sums(channels);
  if (data.train.reader) read_through(*data.train.reader, data.sample, sums);
  else if (data.train.rows) read_through(*data.train.rows, data.sample, sums);
  else {
    const int64_t places = data.sample.elements() / channels;
    // Sums of bytes are exact, and the same as those of a stream.
    if (data.train.inputs.dtype() != DType::u8) sums.begin_at_first(data.train.inputs, places, data.channels_last);
    sums.add(data.train.inputs, places, data.channels_last);
  }
  if (sums.count == 0) fail(ErrorKind::data, data.source, ": none of its training images can be read");
  for (size_t c = 0; c < size_t(channels); ++c) {
    const double rest = sums.sums[c] / sums.count, mean = sums.less[c] + rest;
    const double variance = sums.squares[c] / sums.count - rest * rest;
    data.means[c] = mean * data.scale + data.shift;
    if (!deviations) continue;
    if (!(variance > 0))
      fail(ErrorKind::data, data.source, ": channel ", c, " is ", mean, " everywhere: normalize would divide by 0");
    data.deviations[c] = std::sqrt(variance) * std::abs(double(data.scale));
  }
}

}  // namespace

void set_normalization(const Normalize& normalize, Data& data) {
  if (!normalize.is_given()) return;
  check_shape(normalize, data.sample);
  take(normalize, data);
  if (normalize.is_measured()) measure(data, normalize.measured);
}

void set_normalization(const Normalize& normalize, DataCheck& check) {
  if (!normalize.is_given() || check.sample.rank() == 0) return;
  check_shape(normalize, check.sample);
  take(normalize, check);
}

}  // namespace neon
