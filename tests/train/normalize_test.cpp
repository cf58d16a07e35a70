// Statistics of channels: measured ones against sums by hand, given ones as given.
#include "neon/train/normalize.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <new>
#include <thread>

using namespace neon;

namespace {

Data images(bool channels_last, DType dtype) {
  Data data;
  data.sample = {2, 3, 2};
  data.channels_last = channels_last;
  data.scale = 0.5f;
  data.shift = -1;
  data.source = "images";
  data.train.inputs = Tensor(dtype, Shape{4}.concat(data.stored_sample()));
  for (int64_t i = 0; i < data.train.inputs.elements(); ++i) {
    const int64_t c = channels_last ? i % 2 : i / 6 % 2;
    data.train.inputs.set(i, double(c == 0 ? i % 5 + 10 : 3 * (i % 7)));
  }
  return data;
}

std::string trouble(const Normalize& normalize, Data data) {
  try {
    set_normalization(normalize, data);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("means and deviations of channels are those of the training set, as the net sees it") {
  for (bool channels_last : {false, true})
    for (DType dtype : {DType::u8, DType::f32}) {
      Data data = images(channels_last, dtype);
      set_normalization({{}, {}, true}, data);
      for (int64_t c = 0; c < 2; ++c) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < data.train.inputs.elements(); ++i)
          if ((channels_last ? i % 2 : i / 6 % 2) == c) sum += data.train.inputs.at(i) * 0.5 - 1;
        for (int64_t i = 0; i < data.train.inputs.elements(); ++i)
          if ((channels_last ? i % 2 : i / 6 % 2) == c)
            squares += std::pow(data.train.inputs.at(i) * 0.5 - 1 - sum / 24, 2);
        CHECK(data.means[size_t(c)] == Approx(sum / 24).epsilon(1e-12));
        CHECK(data.deviations[size_t(c)] == Approx(std::sqrt(squares / 24)).epsilon(1e-12));
      }
    }
}

TEST_CASE("floats of a channel that are all alike have no deviation, and far from 0 they have their own") {
  Data data;
  data.sample = {2, 16, 16};
  data.source = "images";
  data.train.inputs = Tensor(DType::f32, {500, 2, 16, 16});
  for (const double of_second : {0.1, 0.7, 1e-3}) {
    for (int64_t i = 0; i < data.train.inputs.elements(); ++i)
      data.train.inputs.set(i, i / 256 % 2 ? of_second : 5000 + double(i % 2));
    CHECK_THAT(trouble({{}, {}, true}, data), Catch::Contains("channel 1 is") && Catch::Contains("everywhere"));
  }
  for (int64_t i = 0; i < data.train.inputs.elements(); ++i)
    data.train.inputs.set(i, 1e6 * double(1 + i / 256 % 2) + double(i % 2));
  set_normalization({{}, {}, true}, data);
  CHECK(data.means == std::vector<double>{1e6 + 0.5, 2e6 + 0.5});
  CHECK(data.deviations == std::vector<double>{0.5, 0.5});
}

TEST_CASE("given means and deviations are taken, and one alone leaves the other") {
  Data data = images(true, DType::u8);
  set_normalization({}, data);
  CHECK(data.means.empty());
  set_normalization({{0.5, 0.25}, {}, false}, data);
  CHECK((data.means == std::vector<double>{0.5, 0.25} && data.deviations == std::vector<double>{1, 1}));
  set_normalization({{}, {2, 3}, false}, data);
  CHECK((data.means == std::vector<double>{0, 0} && data.deviations == std::vector<double>{2, 3}));
  DataCheck check;
  check.sample = {2, 3, 2};
  set_normalization({{}, {}, true}, check);
  CHECK(check.means.size() == 2);
}

TEST_CASE("means alone are measured, beside deviations that are given") {
  Data data = images(true, DType::u8), both = images(true, DType::u8);
  set_normalization({{}, {}, true}, both);
  set_normalization({{}, {128, 64}, false, true}, data);
  CHECK(data.means == both.means);
  CHECK(data.deviations == std::vector<double>{128, 64});
  for (int64_t i = 0; i < data.train.inputs.elements(); i += 2) data.train.inputs.set(i, 7);
  set_normalization({{}, {}, false, true}, data);  // nothing is divided by a deviation of 0
  CHECK((data.means[0] == 7 * 0.5 - 1 && data.deviations == std::vector<double>{1, 1}));
  CHECK(trouble({{0.5, 0.5}, {}, false, true}, data) ==
        "normalize: mean and measure_mean are both given; leave one of them out");
}

TEST_CASE("what cannot be normalised is refused") {
  CHECK(trouble({{0.5}, {}, false}, images(true, DType::u8)) ==
        "normalize: mean has 1 number, the images have 2 channels: one for each");
  Data rows = images(false, DType::f32);
  rows.sample = {12};
  CHECK(trouble({{}, {}, true}, rows) == "normalize: is for images (C, H, W), the samples are (12); leave it out");
  Data black = images(true, DType::u8);
  for (int64_t i = 0; i < black.train.inputs.elements(); i += 2) black.train.inputs.set(i, 7);
  CHECK(trouble({{}, {}, true}, black) == "images: channel 0 is 7 everywhere: normalize would divide by 0");
}

namespace {

// 20,000 samples, of which 20 cannot be read, after a while, nor can 300.
struct Failing : SampleReader {
  int64_t size() const override { return 20'000; }
  Shape sample() const override { return {2, 3, 2}; }
  int32_t label(int64_t) const override { return 0; }
  uint32_t checksum(int64_t index) const override { return uint32_t(index); }
  int32_t read(int64_t index, std::span<uint8_t> pixels, ReadScratch&) const override {
    ++reads;
    for (size_t k = 0; k < pixels.size(); ++k) pixels[k] = uint8_t(size_t(index) * 7 + k * k);
    if (index == 20) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (index != 20 && index != 300) return 0;
    if (kind == ErrorKind::memory) throw std::bad_alloc();
    fail(kind, "sample ", index, " is bad");
  }
  LeftOut* left_out() const override { return leaves_out ? &noted : nullptr; }
  ErrorKind kind = ErrorKind::data;
  bool leaves_out = false;
  mutable std::atomic<int> reads = 0;
  mutable LeftOut noted;
};

Data streamed(std::shared_ptr<Failing> reader) {
  Data data;
  data.sample = {2, 3, 2};
  data.channels_last = true;
  data.train.reader = std::move(reader);
  return data;
}

}  // namespace

TEST_CASE("measuring a stream ends at the first sample that cannot be read, unless those are left out") {
  auto reader = std::make_shared<Failing>();
  setenv("OMP_NUM_THREADS", "3", 1);
  CHECK(trouble({{}, {}, true}, streamed(reader)) == "sample 20 is bad");
  CHECK(reader->reads < 10'000);
  reader->leaves_out = true;
  CHECK(trouble({{}, {}, true}, streamed(reader)) == "none");
  CHECK((reader->noted.count() == 2 && reader->noted.first() == "sample 20 is bad"));
  // Want of memory is not the sample's fault.
  reader = std::make_shared<Failing>();
  reader->leaves_out = true;
  reader->kind = ErrorKind::memory;
  Data data = streamed(reader);
  CHECK_THROWS_AS(set_normalization({{}, {}, true}, data), std::bad_alloc);
  CHECK(reader->noted.count() == 0);
  unsetenv("OMP_NUM_THREADS");
}

TEST_CASE("normalize is read from a spec, and written as it was") {
  auto read = [](const Setting& setting) {
    Normalize out;
    Problems problems;
    Value_of<Normalize>::read(setting, out, {}, problems);
    problems.throw_if_any();
    return out;
  };
  CHECK(read(Setting::scalar("true")).measured);
  CHECK_FALSE(read(Setting::scalar("false")).is_given());
  const Setting map = Setting::map({{"mean", Setting::list({Setting::scalar("0.5")}), {}}});
  CHECK(read(map).mean == std::vector<double>{0.5});
  CHECK(read(Value_of<Normalize>::write(read(map))).mean == std::vector<double>{0.5});
  const Setting measures = Setting::map({{"measure_mean", Setting::scalar("true"), {}}});
  CHECK(read(Value_of<Normalize>::write(read(measures))).measure_mean);
  CHECK_THROWS_WITH(read(Setting::scalar("maybe")), Catch::Contains("true, false, or {mean: [...], std: [...]}"));
}
