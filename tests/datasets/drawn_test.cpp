// Data that the program draws itself.
#include <omp.h>

#include <catch2/catch.hpp>
#include <limits>
#include <map>

#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

// Share of the test samples whose nearest class mean is their own.
double nearest_mean_accuracy(const Data& data) {
  const int64_t features = data.sample.elements();
  std::vector<std::vector<double>> mean(size_t(data.classes), std::vector<double>(size_t(features)));
  std::vector<double> count(size_t(data.classes));
  const auto train = data.train.inputs.as<uint8_t>(), test = data.test.inputs.as<uint8_t>();
  for (int64_t i = 0; i < data.train.size(); ++i) {
    const auto label = size_t(data.train.targets.at(i));
    ++count[label];
    for (int64_t j = 0; j < features; ++j) mean[label][size_t(j)] += train[size_t(i * features + j)];
  }
  for (size_t c = 0; c < mean.size(); ++c)
    for (double& value : mean[c]) value /= count[c];
  int64_t right = 0;
  for (int64_t i = 0; i < data.test.size(); ++i) {
    double best = std::numeric_limits<double>::infinity();
    int64_t guess = -1;
    for (int64_t c = 0; c < data.classes; ++c) {
      double distance = 0;
      for (int64_t j = 0; j < features; ++j) {
        const double d = test[size_t(i * features + j)] - mean[size_t(c)][size_t(j)];
        distance += d * d;
      }
      if (distance < best) best = distance, guess = c;
    }
    right += guess == int64_t(data.test.targets.at(i));
  }
  return double(right) / double(data.test.size());
}

}  // namespace

TEST_CASE("Digits are neither trivial nor noise, balanced, and whole within the image") {
  const auto set = make("Digits", {{"ntrain", "6000"}, {"ntest", "1000"}});
  const Data data = set->load(offline());
  CHECK(agrees(set->check(offline()), data));
  CHECK(data.sample == Shape{1, 28, 28});
  const double accuracy = nearest_mean_accuracy(data);
  CHECK(accuracy > 0.68);
  CHECK(accuracy < 0.86);
  std::vector<int> counts(10);
  for (int32_t label : data.train.targets.as<int32_t>()) ++counts.at(size_t(label));
  for (int count : counts) CHECK((count > 500 && count < 700));
  const auto pixels = data.train.inputs.as<uint8_t>();
  int64_t ink_at_edge = 0;
  for (int64_t i = 0; i < 6000; ++i) {
    int brightest = 0;
    for (int64_t j = 0; j < 784; ++j) {
      const int pixel = pixels[size_t(i * 784 + j)];
      brightest = std::max(brightest, pixel);
      ink_at_edge += (j < 28 || j >= 756 || j % 28 == 0 || j % 28 == 27) && pixel > 128;
    }
    CHECK(brightest > 150);
  }
  CHECK(ink_at_edge < 6000 * 108 / 200);  // well under a percent of the border
}

TEST_CASE("Digits depend on the seed and the sample, not on threads or on how many are drawn") {
  const auto set = make("Digits", {{"ntrain", "500"}, {"ntest", "0"}});
  const Data a = set->load(offline("", 7));
  CHECK(a.test.size() == 0);
  const int threads = omp_get_max_threads();
  const Variable one("OMP_NUM_THREADS", "1");
  omp_set_num_threads(1);
  const Data b = set->load(offline("", 7));
  omp_set_num_threads(threads);
  CHECK(values(a.train.inputs) == values(b.train.inputs));
  CHECK(values(a.train.targets) == values(b.train.targets));
  CHECK(values(set->load(offline("", 8)).train.inputs) != values(a.train.inputs));
  const Data longer = make("Digits", {{"ntrain", "700"}, {"ntest", "1"}, {"seed", "7"}})->load(offline("", 99));
  CHECK(values(longer.train.inputs.rows(0, 500)) == values(a.train.inputs));
  // Train and test are drawn apart.
  CHECK(values(longer.train.inputs.rows(0, 1)) != values(longer.test.inputs.rows(0, 1)));
}

TEST_CASE("UniformRandom is uniform, with labels of every class") {
  const auto set = make("UniformRandom", {{"ntrain", "1000"}, {"nin", "[2, 3, 4]"}, {"nout", "7"}, {"seed", "5"}});
  const Data data = set->load(offline());
  CHECK(agrees(set->check(offline()), data));
  CHECK((data.sample == Shape{2, 3, 4} && data.train.inputs.shape() == Shape{1000, 3, 4, 2}));
  double sum = 0;
  for (float value : data.train.inputs.as<float>()) {
    REQUIRE((value >= 0 && value < 1));
    sum += value;
  }
  CHECK(sum / 24000 == Approx(0.5).margin(0.01));  // five deviations
  std::vector<int> counts(7);
  for (int32_t label : data.train.targets.as<int32_t>()) ++counts.at(size_t(label));
  for (int count : counts) CHECK(count > 80);
  CHECK(make("UniformRandom", {{"nout", "0"}})->load(offline()).train.targets.empty());
}

TEST_CASE("UniformRandom has tokens of all numbers, and labels of samples or of steps") {
  const auto tokens = make("UniformRandom", {{"ntrain", "500"}, {"nin", "12"}, {"tokens", "9"}, {"nout", "4"}});
  const Data of_samples = tokens->load(offline());
  CHECK(of_samples.train.inputs.shape() == Shape{500, 12});
  CHECK(of_samples.train.targets.shape() == Shape{500});
  CHECK((of_samples.sequence && of_samples.tokens == 9 && of_samples.label_of == LabelOf::sample));
  std::map<int32_t, int> times;
  for (const int32_t token : of_samples.train.inputs.as<int32_t>()) ++times[token];
  CHECK(times.size() == 9);
  CHECK((times.begin()->first == 0 && times.rbegin()->first == 8));
  // 6,000 draws of nine numbers have a deviation of 24.3 each.
  for (const auto& [token, count] : times) CHECK(std::abs(count - 6000 / 9.0) < 5 * 24.3);
  const Data of_steps =
      make("UniformRandom", {{"nin", "[7, 3]"}, {"nout", "4"}, {"each_step", "true"}})->load(offline());
  CHECK(of_steps.train.inputs.shape() == Shape{1000, 7, 3});
  CHECK(of_steps.train.targets.shape() == Shape{1000, 7});
  CHECK((of_steps.sequence && of_steps.tokens == 0 && of_steps.label_of == LabelOf::step));
  for (const Keys& wrong : {Keys{{"tokens", "9"}, {"nin", "[2, 3]"}},
                            {{"tokens", "9"}, {"bytes", "true"}},
                            {{"tokens", "9"}, {"nout", "0"}}})
    CHECK_THROWS_WITH(make("UniformRandom", wrong), Catch::Contains("with tokens, give nin"));
  CHECK_THROWS_WITH(make("UniformRandom", {{"nin", "5"}, {"each_step", "true"}}), Catch::Contains("give nin [T, F]"));
}

TEST_CASE("UniformRandom labels each pixel by a uniform class") {
  const auto set =
      make("UniformRandom", {{"ntrain", "50"}, {"nin", "[3, 11, 7]"}, {"nout", "4"}, {"each_pixel", "true"}});
  const Data data = set->load(offline());
  CHECK(agrees(set->check(offline()), data));
  CHECK((data.label_of == LabelOf::pixel && data.classes == 4 && data.sample == Shape{3, 11, 7}));
  CHECK(data.train.targets.shape() == Shape{50, 11, 7});
  std::vector<int> counts(4);
  for (const int32_t label : data.train.targets.as<int32_t>()) ++counts.at(size_t(label));
  // 50 * 77 draws of four numbers have a deviation of 26.9 each.
  for (const int count : counts) CHECK(std::abs(count - 3850 / 4.0) < 5 * 26.9);
  for (const Keys& wrong :
       {Keys{{"nin", "[6, 2]"}}, {{"nin", "[3, 4, 5]"}, {"nout", "0"}}, {{"nin", "6"}, {"tokens", "9"}}}) {
    Keys keys = wrong;
    keys.emplace_back("each_pixel", "true");
    CHECK_THROWS_WITH(make("UniformRandom", keys), Catch::Contains("give nin [C, H, W], and nout the classes"));
  }
}

TEST_CASE("UniformRandom of bytes is uniform, and divided by 255") {
  const auto set = make("UniformRandom", {{"ntrain", "1000"}, {"nin", "[3, 11, 7]"}, {"bytes", "true"}, {"seed", "5"}});
  const Data data = set->load(offline());
  CHECK(agrees(set->check(offline()), data));
  CHECK(data.train.inputs.dtype() == DType::u8);
  CHECK(data.scale == Approx(1.0 / 255));
  std::vector<int> counts(256);
  for (uint8_t value : data.train.inputs.as<uint8_t>()) ++counts[value];
  for (int count : counts) CHECK(count == Approx(1000 * 231 / 256.0).margin(150));  // five deviations
}

TEST_CASE("the boxes of ToyBoxes hold the bright pixels, shape by shape") {
  const auto set = make("ToyBoxes", {{"ntrain", "60"}, {"ntest", "0"}, {"size", "[40, 72]"}, {"most", "4"}});
  const Data data = set->load(offline());
  REQUIRE(data.train.inputs.shape() == Shape{60, 40, 72, 3});
  REQUIRE(data.train.targets.shape() == Shape{60, 4, 6});
  CHECK((data.label_of == LabelOf::box && data.classes == 3));
  std::array<int, 3> classes{};
  int64_t objects = 0;
  for (int64_t n = 0; n < 60; ++n) {
    std::vector<bool> bright(40 * 72);
    for (int64_t i = 0; i < 40 * 72; ++i) bright[size_t(i)] = data.train.inputs.at((n * 40 * 72 + i) * 3) >= 128;
    for (int64_t m = 0; m < 4; ++m) {
      const auto number = [&](int64_t k) { return data.train.targets.at((n * 4 + m) * 6 + k); };
      if (number(0) < 0) {
        CHECK(m > 0);
        continue;
      }
      ++objects, ++classes[size_t(number(0))];
      const auto pixel = [](double share, int64_t size) { return std::llround(share * double(size)); };
      const int64_t left = pixel(number(1), 72), top = pixel(number(2), 40), right = pixel(number(3), 72),
                    bottom = pixel(number(4), 40);
      // Each border touches the shape, whose pixels are then taken away.
      const auto any = [&](int64_t y0, int64_t y1, int64_t x0, int64_t x1) {
        for (int64_t y = y0; y < y1; ++y)
          for (int64_t x = x0; x < x1; ++x)
            if (bright[size_t(y * 72 + x)]) return true;
        return false;
      };
      CHECK((any(top, top + 1, left, right) && any(bottom - 1, bottom, left, right)));
      CHECK((any(top, bottom, left, left + 1) && any(top, bottom, right - 1, right)));
      for (int64_t y = top; y < bottom; ++y)
        for (int64_t x = left; x < right; ++x) bright[size_t(y * 72 + x)] = false;
    }
    CHECK(std::ranges::count(bright, true) == 0);
  }
  CHECK(objects > 90);
  for (const int count : classes) CHECK(count > 20);
  CHECK_THROWS_WITH(make("ToyBoxes", {{"size", "[40, 72, 30]"}}),
                    Catch::Contains("size: (40, 72, 30) should be two numbers, height and width"));
  CHECK_THROWS_WITH(make("ToyBoxes", {{"shapes", "[disc, disc]"}}), Catch::Contains("shapes: disc is given twice"));
}

TEST_CASE("ToyImages draws each shape as its class") {
  const auto set = make("ToyImages", {{"shapes", "[circle, ellipse, square, triangle, cross]"}, {"ntrain", "200"}});
  const Data data = set->load(offline());
  CHECK(agrees(set->check(offline()), data));
  CHECK(data.classes == 5);
  CHECK(data.class_names[2] == "square");
  const auto pixels = data.train.inputs.as<uint8_t>();
  for (int64_t i = 0; i < 200; ++i) {
    int left = 32, right = -1, top = 32, bottom = -1, ink = 0;
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x)
        if (pixels[size_t(((i * 32 + y) * 32 + x) * 3)] > 0) {
          left = std::min(left, x), right = std::max(right, x);
          top = std::min(top, y), bottom = std::max(bottom, y);
          ++ink;
        }
    REQUIRE(right >= left);
    // Whole within the image; as wide as high unless it is an ellipse.
    CHECK((left > 0 && top > 0 && right < 31 && bottom < 31));
    const int width = right - left, height = bottom - top;
    if (data.train.targets.at(i) == 1) CHECK(std::abs(width - height) >= 2);
    else CHECK(std::abs(width - height) <= 1);
    CHECK(ink < 500);
    // The same outline in each channel, in a grey of its own.
    int greys[3] = {};
    for (size_t k = 0; k < 3 * 32 * 32; ++k) greys[k % 3] = std::max<int>(greys[k % 3], pixels[size_t(i * 3072) + k]);
    CHECK((greys[0] >= 60 && greys[1] >= 60 && greys[2] >= 60 && !(greys[0] == greys[1] && greys[1] == greys[2])));
    for (size_t k = 0; k < 32 * 32; ++k) {
      const uint8_t* pixel = &pixels[size_t(i * 3072) + 3 * k];
      if (pixel[0] > 10) CHECK((pixel[1] > 0 && pixel[2] > 0));
    }
  }
  CHECK_THAT(error_of([] {
               make("ToyImages", {{"shapes", "[circle]"}})->load(offline());
             }),
             Catch::Contains("at least two"));
  CHECK_THAT(error_of([] {
               make("ToyImages", {{"shapes", "[circle, circle]"}})->load(offline());
             }),
             Catch::Contains("given twice"));
  CHECK_THAT(error_of([] {
               make("ToyImages", {{"shapes", "[circle, sqare]"}});
             }),
             Catch::Contains("did you mean square"));
}

TEST_CASE("symbols to give back by their priorities") {
  const Data data = make("PrioritySortTask", {{"length", "5"}, {"symbols", "4"}, {"ntrain", "30"}})->load(offline());
  REQUIRE(data.train.inputs.shape() == Shape{30, 10, 6});
  for (int64_t i = 0; i < 30; ++i) {
    std::map<double, int> by_priority;
    const auto input = [&](int64_t t, int64_t k) { return data.train.inputs.at((i * 10 + t) * 6 + k); };
    for (int64_t t = 0; t < 5; ++t) {
      int symbol = 0, ones = 0;
      for (int k = 0; k < 4; ++k)
        if (input(t, k) == 1) symbol = k, ++ones;
      CHECK((ones == 1 && input(t, 5) == 0 && data.train.targets.at(i * 10 + t) == -1));
      CHECK((input(t, 4) >= -1 && input(t, 4) <= 1));
      by_priority[-input(t, 4)] = symbol;
    }
    REQUIRE(by_priority.size() == 5);
    int64_t t = 5;
    for (const auto& [priority, symbol] : by_priority) {
      for (int k = 0; k < 6; ++k) CHECK(input(t, k) == (k == 5 ? 1 : 0));
      CHECK(data.train.targets.at(i * 10 + t++) == symbol);
    }
  }
}
