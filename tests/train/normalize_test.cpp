// Statistics of channels: measured ones against sums by hand, given ones as given.
#include "neon/train/normalize.h"

#include <catch2/catch.hpp>
#include <cmath>

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
  CHECK_THROWS_WITH(read(Setting::scalar("maybe")), Catch::Contains("true, false, or {mean: [...], std: [...]}"));
}
