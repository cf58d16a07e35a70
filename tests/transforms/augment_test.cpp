// Augmentations against plain loops over images: they take one number after the other of the 16 that a sample has in an
// epoch, sample n those from element 16 n of the stream augment/0 on.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "backends/graph/ops.h"
#include "tests/transforms/augmented.h"

using namespace neon;
using namespace neon_test;

namespace {

const auto kBatch = int64_t(kIndices.size());

double grey(const Picture& p, int64_t n, int64_t y, int64_t x) {
  return 0.299 * p.at(n, y, x, 0) + 0.587 * p.at(n, y, x, 1) + 0.114 * p.at(n, y, x, 2);
}

}  // namespace

TEST_CASE("crops and flips are those of the streams, and one op on the data set") {
  const Picture p{8, 6};
  const std::string list = "[RandomCrop: {pad: 2}, Flip]";
  std::set<int> tops;
  check(list, p, {8, 6}, true, 0, [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
    const int top = int(std::floor(drawn(n, 0) * 5)) - 2, left = int(std::floor(drawn(n, 1) * 5)) - 2;
    tops.insert(top);
    const int64_t row = top + y, column = left + (drawn(n, 5) < 0.5f ? 5 - x : x);
    return row < 0 || row >= 8 || column < 0 || column >= 6 ? kBlack : p.at(n, row, column, c);
  });
  CHECK(tops.size() > 1);
  const auto made = make(list, p, arithmetics()[2], true);
  int crops = 0;
  for (const LoweredKernel& kernel : made->program->lowered().kernels) {
    crops += kernel.is(ops::crop);
    CHECK((kernel.is(ops::crop) || kernel.is(ops::keyed_uniform) || kernel.fused));
  }
  CHECK(crops == 1);
  CHECK(made->program->lowered().kernels.size() == 4);  // draws, places, crop, pixels as numbers
}

TEST_CASE("a crop of flipped images is a flipped crop") {
  const Picture p{8, 9};
  check("[Flip: {probability: 1}, RandomCrop: {size: 4}]", p, {4, 4}, true, 0,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
          const auto top = int64_t(std::floor(drawn(n, 3) * 5)), left = int64_t(std::floor(drawn(n, 4) * 6));
          return p.at(n, top + y, left + 3 - x, c);
        });
  check("[Flip: {probability: 1}, Flip: {probability: 1}]", p, {8, 9}, true, 0,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) { return p.at(n, y, x, c); });
}

TEST_CASE("crops and boxes may be higher than wide, or wider than high") {
  const Picture p{8, 9};
  check("[RandomCrop: {size: [3, 7]}, Flip: {probability: 1}]", p, {3, 7}, true, 0,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
          const auto top = int64_t(std::floor(drawn(n, 0) * 6)), left = int64_t(std::floor(drawn(n, 1) * 3));
          return p.at(n, top + y, left + 6 - x, c);
        });
  for (bool training : {false, true})
    check("[CenterCrop: {size: [6, 3]}]", p, {6, 3}, training, 0,
          [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) { return p.at(n, 1 + y, 3 + x, c); });
  check("[RandomCrop: {size: [6, 3]}]", p, {6, 3}, false, 0,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) { return p.at(n, 1 + y, 3 + x, c); });
  // The largest box of that shape is 8 x 4 in the middle, at half its size: the mean of four pixels.
  check("[RandomScale: {size: [4, 2]}]", Picture{8, 8}, {4, 2}, false, 8,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
          const Picture square{8, 8};
          double sum = 0;
          for (int64_t k = 0; k < 4; ++k) sum += square.at(n, 2 * y + k / 2, 2 + 2 * x + k % 2, c);
          return sum / 4;
        });
}

TEST_CASE("the border of a first crop stays when a second one cuts it") {
  const Picture p{4, 4, 1};
  check("[RandomCrop: {size: 8, pad: 2, border: edge}, RandomCrop: {size: 6}]", p, {6, 6}, true, 0,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
          const auto top = int64_t(std::floor(drawn(n, 3) * 3)), left = int64_t(std::floor(drawn(n, 4) * 3));
          auto inner = [](int64_t at) { return std::clamp<int64_t>(at - 2, 0, 3); };
          return p.at(n, inner(top + y), inner(left + x), c);
        });
}

TEST_CASE("an evaluation takes the middle, and leaves colours alone") {
  const Picture p{8, 6};
  check("[RandomCrop: {size: 4, pad: 3}, Flip, Brightness, Contrast, Saturation, ColorNoise, Cutout]", p, {4, 4}, false,
        0, [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) { return p.at(n, 2 + y, 1 + x, c); });
  check("[RandomCrop: {pad: 3}, Flip]", p, {8, 6}, false, 0,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) { return p.at(n, y, x, c); });
  // Of a size that only fits with its padding, with what lies there.
  check("[RandomCrop: {size: 8, pad: 1}]", {6, 8}, {8, 8}, false, 0,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
          return y == 0 || y == 7 ? kBlack : Picture{6, 8}.at(n, y - 1, x, c);
        });
  check("[RandomCrop: {size: 8, pad: 1, border: edge}]", {6, 8}, {8, 8}, false, 0,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
          return Picture{6, 8}.at(n, std::clamp<int64_t>(y - 1, 0, 5), x, c);
        });
  // The box 6 x 6 in the middle, at half its size: the mean of four pixels.
  for (const Picture& image : {Picture{8, 6}, Picture{6, 8}}) {
    const int64_t top = (image.height - 6) / 2, left = (image.width - 6) / 2;
    check("[RandomScale: {size: 3}]", image, {3, 3}, false, 8,
          [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
            double sum = 0;
            for (int64_t k = 0; k < 4; ++k) sum += image.at(n, top + 2 * y + k / 2, left + 2 * x + k % 2, c);
            return sum / 4;
          });
  }
}

TEST_CASE("random boxes follow area and aspect") {
  struct Boxes {
    const char* parameters;
    double area[2], aspect[2];
  };
  const Boxes all[] = {{"{size: 5, area: [0.2, 0.9], aspect: [0.5, 2]}", {0.2, 0.9}, {0.5, 2}},
                       {"{size: 5}", {0.08, 1}, {0.75, 4 / 3.0}},
                       // Boxes that would be higher or wider than the image.
                       {"{size: 5, area: [0.8, 1], aspect: [0.1, 0.5]}", {0.8, 1}, {0.1, 0.5}},
                       {"{size: 5, area: [0.8, 1], aspect: [2, 10]}", {0.8, 1}, {2, 10}}};
  const Picture p{12, 10};
  for (const Boxes& boxes : all)
    check(text("[RandomScale: ", boxes.parameters, "]"), p, {5, 5}, true, 400,
          [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
            const double share = boxes.area[0] + drawn(n, 0) * (boxes.area[1] - boxes.area[0]);
            const double aspect = boxes.aspect[0] * std::pow(boxes.aspect[1] / boxes.aspect[0], drawn(n, 1));
            const double tall = std::min(std::sqrt(share * 120 / aspect), 12.0);
            const double wide = std::min(std::sqrt(share * 120 * aspect), 10.0);
            // Of more than 10 rows to 5 each is the mean of two places; of 10 columns and of fewer rows one is enough.
            const int64_t places = tall > 10 ? 2 : 1;
            auto place = [](double begin, double length, int64_t at, int64_t of, double most) {
              return std::clamp(begin + (double(at) + 0.5) * length / double(of) - 0.5, 0.0, most - 1);
            };
            double sum = 0;
            for (int64_t k = 0; k < places; ++k) {
              const double v = place(drawn(n, 2) * (12 - tall), tall, places * y + k, places * 5, 12),
                           u = place(drawn(n, 3) * (10 - wide), wide, x, 5, 10);
              const auto top = int64_t(v), left = int64_t(u);
              const double a = v - double(top), b = u - double(left);
              auto pixel = [&](int64_t row, int64_t column) {
                return p.at(n, std::min<int64_t>(row, 11), std::min<int64_t>(column, 9), c);
              };
              sum += (1 - a) * ((1 - b) * pixel(top, left) + b * pixel(top, left + 1)) +
                     a * ((1 - b) * pixel(top + 1, left) + b * pixel(top + 1, left + 1));
            }
            return sum / double(places);
          });
  // Sixteen pixels to one, as a reader that brings them to the size would make it.
  for (const bool training : {false, true})
    check("[RandomScale: {size: 3, area: [1, 1], aspect: [1, 1]}]", {12, 12}, {3, 3}, training, 8,
          [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
            double sum = 0;
            for (int64_t k = 0; k < 16; ++k) sum += Picture{12, 12}.at(n, 4 * y + k / 4, 4 * x + k % 4, c);
            return sum / 16;
          });
  // A box may be swapped in itself, and what follows it sees its pixels.
  for (const bool crops : {false, true})
    check(text("[RandomScale: {size: 6, area: [1, 1], aspect: [1, 1]}, Flip", crops ? ", RandomCrop: {size: 4}]" : "]"),
          {6, 6}, crops ? ImageArea{4, 4} : ImageArea{6, 6}, true, 8,
          [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
            const auto place = [&](int64_t k) { return crops ? int64_t(drawn(n, 5 + k) * 3) : 0; };
            const int64_t column = place(1) + x;
            return Picture{6, 6}.at(n, place(0) + y, drawn(n, 4) < 0.5f ? 5 - column : column, c);
          });
  check("[RandomScale: {area: [1, 1], aspect: [1, 1]}]", {6, 6}, {6, 6}, true, 8,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
          return Picture{6, 6}.at(n, y, x, c);
        });
}

TEST_CASE("of all augmentations together, no array is stored that can be made where it is read") {
  const auto made = make("[RandomScale: {size: 32}, Flip, Brightness, Contrast, Saturation, ColorNoise]", {40, 36},
                         {"f32", DType::f32, {.threads = 1}}, true);
  const Lowered& lowered = made->program->lowered();
  const Shape images{kBatch, 32, 32, 3};
  int64_t written = 0, read = 0;
  for (const LoweredKernel& kernel : lowered.kernels) {
    for (Value value : kernel.outputs) written += lowered.graph.shape(value) == images;
    for (Value value : kernel.inputs) read += lowered.graph.shape(value) == images;
    CHECK(!kernel.is(ops::crop));
  }
  // The box's pixels and the result. Brighter pixels, whose mean contrast needs first, are made twice.
  CHECK((written == 2 && read == 2));
  INFO(to_string(lowered));
  CHECK(lowered.kernels.size() == 6);  // draws, what follows from them, boxes, resample, and two over pixels
}

TEST_CASE("brightness, contrast and saturation are distances times a factor") {
  const Picture p{5, 4};
  auto factor = [](int64_t n) { return 0.5 + drawn(n, 0) * 1.25; };
  check("[Brightness: {range: [0.5, 1.75]}]", p, {5, 4}, true, 16,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
          return p.byte(n, y, x, c) * kScale * factor(n) + kBlack;
        });
  check("[Contrast: {range: [0.5, 1.75]}]", p, {5, 4}, true, 64,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
          double mean = 0;
          for (int64_t k = 0; k < 60; ++k) mean += p.at(n, k / 12, k / 3 % 4, k % 3) / 60;
          return mean + (p.at(n, y, x, c) - mean) * factor(n);
        });
  check("[Saturation: {range: [0.5, 1.75]}]", p, {5, 4}, true, 32,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
          return grey(p, n, y, x) + (p.at(n, y, x, c) - grey(p, n, y, x)) * factor(n);
        });
}

TEST_CASE("noise of colours lies along the components of ImageNet's, in the images' range from black to white") {
  const Picture p{3, 4};
  constexpr double kRange = 255 * kScale;
  const double components[3][3] = {{-0.5675, -0.5808, -0.5836}, {0.7192, -0.0045, -0.6948}, {0.4009, -0.8140, 0.4203}};
  const double sizes[] = {0.2175, 0.0188, 0.0045};
  check("[ColorNoise: {deviation: 0.5}]", p, {3, 4}, true, 64,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
          double sum = p.at(n, y, x, c);
          for (int k = 0; k < 3; ++k) {
            const double normal =
                std::sqrt(-2 * std::log(1 - double(drawn(n, 2 * k)))) * std::cos(2 * M_PI * drawn(n, 2 * k + 1));
            sum += 0.5 * normal * sizes[k] * kRange * components[k][c];
          }
          return sum;
        });
}

TEST_CASE("a square about a random pixel is covered with the means") {
  const Picture p{7, 9};
  for (const std::vector<double>& means : {std::vector<double>{}, {0.25, 0.5, 0.75}})
    for (int64_t size : {1, 4, 5})
      check(
          text("[Cutout: {size: ", size, "}]"), p, {7, 9}, true, 0,
          [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
            const auto top = int64_t(drawn(n, 0) * 7) - (size - 1) / 2,
                       left = int64_t(drawn(n, 1) * 9) - (size - 1) / 2;
            const bool covered = y >= top && y < top + size && x >= left && x < left + size;
            return !covered ? p.at(n, y, x, c) : means.empty() ? kBlack : means[size_t(c)];
          },
          means);
}

TEST_CASE("contrast is normalised by the length of an image, in an evaluation, too") {
  const Picture p{6, 5};
  for (const double scale : {55.0, 2.0})
    for (const bool training : {true, false})
      check(text("[ContrastNormalize: {scale: ", scale, "}]"), p, {6, 5}, training, 64 * scale,
            [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
              const Image image = seen(p, n);
              double mean = 0, squares = 0;
              for (const double v : image) mean += v / double(image.size());
              for (const double v : image) squares += (v - mean) * (v - mean);
              return (p.at(n, y, x, c) - mean) / std::sqrt(squares) * scale;
            });
  // An image of one colour is not divided by its length of 0.
  check("[ContrastNormalize]", {1, 1, 1}, {1, 1}, true, 0,
        [](int64_t, int64_t, int64_t, int64_t, int64_t) { return 0.0; });
}

TEST_CASE("a square behind ContrastNormalize is 0, the mean of each image") {
  const Picture p{6, 5};  // whose black is not 0
  const auto made = make("[ContrastNormalize, Cutout: {size: 5}]", p, arithmetics()[0], true);
  const auto plain = make("[ContrastNormalize]", p, arithmetics()[0], true);
  const Tensor y = made->y(), x = plain->y();
  int64_t covered = 0;
  for (int64_t k = 0; k < y.elements(); ++k) {
    covered += y.at(k) == 0;
    CHECK((y.at(k) == 0 || y.at(k) == x.at(k)));
  }
  CHECK(covered >= kBatch * 3 * 3 * 3);
}

TEST_CASE("another epoch draws anew; another step, place in the batch and threads change nothing") {
  const Picture p{32, 32};
  const std::string list = "[RandomCrop: {pad: 4}, Flip, RandomScale, Contrast, Cutout, ColorNoise]";  // 21 numbers
  const auto one = make(list, p, arithmetics()[2], true), two = make(list, p, arithmetics()[2], true, {}, 2);
  const auto bytes = [](const Augmented& made, int64_t first, int64_t count) {
    const Tensor y = made.y().rows(first, count);
    return std::string(static_cast<const char*>(y.data()), y.bytes());
  };
  const std::string first = bytes(*one, 0, kBatch);
  CHECK(first == bytes(*two, 0, kBatch));
  CHECK(bytes(*one, 2, 1) == bytes(*one, 3, 1));  // sample 3 twice
  one->run(kStep + 1, kEpoch);
  CHECK(bytes(*one, 0, kBatch) == first);
  one->run(kStep, kEpoch + 1);
  for (int64_t i = 0; i < kBatch; ++i) CHECK(bytes(*one, i, 1) != bytes(*two, i, 1));
}

TEST_CASE("augmentations that do not suit the images are refused") {
  auto trouble = [](const std::string& list, const Picture& p, bool training = true) {
    try {
      make(list, p, arithmetics()[2], training);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(trouble("[RandomCrop: {size: 9, pad: 1}]", {6, 8}) ==
        "RandomCrop: cannot cut 9 x 9 pixels from images of 6 x 8 with pad 1; give a smaller size");
  CHECK(trouble("[RandomCrop: {size: 8, pad: 1}]", {6, 8}) == "none");
  CHECK(trouble("[CenterCrop: 7]", {6, 8}) ==
        "CenterCrop: cannot cut 7 x 7 pixels from images of 6 x 8; give a smaller size");
  CHECK(trouble("[RandomCrop: {size: 9, pad: 1}]", {6, 8}, false) ==
        "RandomCrop: cannot cut 9 x 9 pixels from images of 6 x 8 with pad 1; give a smaller size");
  CHECK(trouble("[ColorNoise]", {4, 4, 1}) == "ColorNoise: is for RGB images, these have 1 channel(s); leave it out");
  CHECK_THROWS_WITH(make("[ContrastNormalize]", {4, 4}, arithmetics()[2], true, {0.5, 0.5, 0.5}),
                    "ContrastNormalize: makes the mean of each image 0, so normalize has no means of channels to "
                    "subtract; leave one of the two out");
  for (const char* name : {"Brightness", "Contrast", "Saturation", "ColorNoise"})
    for (const bool training : {true, false}) {
      CHECK(trouble(text("[ContrastNormalize, Flip, ", name, "]"), {4, 4}, training) ==
            text(name, ": changes colours, and ContrastNormalize makes other numbers of them; write ", name,
                 " before ContrastNormalize"));
      CHECK(trouble(text("[", name, ", ContrastNormalize]"), {4, 4}, training) == "none");
    }
  CHECK(trouble("[ContrastNormalize, RandAugment]", {4, 4}).starts_with("RandAugment: changes colours"));
  CHECK(trouble("[Whiten, Brightness]", {4, 4}).starts_with("Brightness: changes colours, and Whiten makes "));
  CHECK(trouble("[Saturation]", {4, 4, 1}).starts_with("Saturation: is for RGB images"));
  CHECK(trouble("[Contrast: {range: [2, 1]}]", {4, 4}).find("expected the least and the largest factor") !=
        std::string::npos);
  CHECK(trouble("[RandomScale: {area: [0.5]}]", {4, 4}).find("area: expected the least and the largest") !=
        std::string::npos);
}

TEST_CASE("every augmentation is tested here, in mixes_test or in cli/whiten_test") {
  std::set<std::string> names;
  for (const auto& entry : Registry<Augmentation>::get().entries()) names.insert(entry->name);
  CHECK(names == std::set<std::string>{"Brightness", "CenterCrop", "ColorNoise", "Contrast", "ContrastNormalize",
                                       "CutMix", "Cutout", "Flip", "Mixup", "RandAugment", "RandomCrop",
                                       "RandomErasing", "RandomScale", "Rotation", "Saturation", "Shear", "Whiten"});
}
