// Region pooling against loops over the bins as Girshick's code has them, written out here with other arithmetic; what
// coordinates that are no pixels give; and what is said of arrays that do not go together.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

// The bounds of bin `index` of `count` of the region from coordinate `first` to `last`, cut at 0 and `length`.
std::pair<int, int> bounds(double first, double last, double scale, int index, int count, int length) {
  const double begin = std::round(first * scale), size = std::max(std::round(last * scale) - begin + 1, 1.0);
  const double from = begin + std::floor(index * size / count), to = begin + std::ceil((index + 1) * size / count);
  return {int(std::clamp(from, 0.0, double(length))), int(std::clamp(to, 0.0, double(length)))};
}

// region_max of 2x2 bins of an image of one channel.
struct Pooled {
  Tensor y, position;
};
Pooled pool(const Shape& image, const std::vector<float>& x, const std::vector<float>& corners,
            const ProgramOptions& options) {
  Graph graph;
  const auto pooled = graph.add_all(
      "region_max",
      {graph.input("x", DType::f32, image), graph.input("regions", DType::f32, {1, int64_t(corners.size()) / 4, 4})},
      {{"height", int64_t(2)}, {"width", int64_t(2)}, {"scale", 1.0}});
  graph.output("y", pooled[0]), graph.output("position", pooled[1]);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, options);
  program->bind("x", x.data()), program->bind("regions", corners.data());
  program->run(0);
  return {program->output("y").clone(), program->output("position").clone()};
}

std::string complaint(const TensorType& x, const TensorType& regions, int64_t height = 2) {
  Graph graph;
  try {
    graph.add_all("region_max", {graph.input("x", x.dtype, x.shape), graph.input("r", regions.dtype, regions.shape)},
                  {{"height", height}, {"width", int64_t(2)}, {"scale", 1.0}});
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("each bin of a region gives its largest element and where it stands") {
  int64_t empty = 0;
  for (const OpCase& c : cases_of(*find_op("region_max"))) {
    INFO(c.to_string());
    const CaseRun run = run_case(c, DType::f64, DType::f64, ProgramOptions{.plain = true});
    const Tensor &x = run.inputs[0], &regions = run.inputs[1], &y = run.outputs[0];
    const int rows = int(x.shape()[1]), columns = int(x.shape()[2]), channels = int(x.shape()[3]);
    const double scale = c.attributes.real("scale");
    int64_t k = 0;
    for (int r = 0; r < y.shape()[0] * y.shape()[1]; ++r)
      for (int p = 0; p < y.shape()[2]; ++p)
        for (int q = 0; q < y.shape()[3]; ++q)
          for (int channel = 0; channel < channels; ++channel, ++k) {
            const auto [top, bottom] =
                bounds(regions.at(4 * r + 1), regions.at(4 * r + 3), scale, p, int(y.shape()[2]), rows);
            const auto [left, right] =
                bounds(regions.at(4 * r), regions.at(4 * r + 2), scale, q, int(y.shape()[3]), columns);
            double best = -HUGE_VAL;
            int where = -1;
            for (int pixel = 0; pixel < rows * columns; ++pixel) {
              const int i = pixel / columns, j = pixel % columns;
              if (i < top || i >= bottom || j < left || j >= right) continue;
              const double value = x.at((r / y.shape()[1] * rows * columns + pixel) * channels + channel);
              if (value > best) best = value, where = pixel;
            }
            empty += where < 0;
            REQUIRE(y.at(k) == (where < 0 ? 0 : best));
            REQUIRE(run.outputs[1].at(k) == where);
          }
  }
  CHECK(empty > 0);
}

TEST_CASE("a region's gradient goes where its largest elements stood") {
  for (const OpCase& c : cases_of(*find_op("region_max_gradient"))) {
    INFO(c.to_string());
    const CaseRun run = run_case(c, DType::f64, DType::f64, ProgramOptions{.plain = true});
    const Tensor &y = run.inputs[0], &position = run.inputs[1], &x = run.outputs[0];
    const int64_t channels = x.shape()[3], of_sample = y.shape().slice(1, 5).elements(),
                  pixels = x.shape()[1] * x.shape()[2];
    std::vector<double> expected(size_t(x.elements()), 0);
    for (int64_t k = 0; k < y.elements(); ++k)
      if (position.at(k) >= 0)
        expected.at(size_t((k / of_sample * pixels + int64_t(position.at(k))) * channels + k % channels)) += y.at(k);
    for (int64_t at = 0; at < x.elements(); ++at) REQUIRE(x.at(at) == Approx(expected[size_t(at)]).margin(1e-12));
  }
}

TEST_CASE("of equal elements of a region the first is taken, and NaN is above all") {
  for (bool plain : {true, false}) {
    const float inf = HUGE_VALF;
    const Pooled done = pool({1, 2, 4, 1}, {1, 3, -inf, -inf, 3, 2, NAN, 7}, {0, 0, 1, 1, 2, 0, 3, 0, 2, 0, 3, 1},
                             {.threads = 1, .plain = plain});
    const double expected[] = {1, 3, 3, 2, -inf, -inf, -inf, -inf, -inf, -inf, NAN, 7},
                 positions[] = {0, 1, 4, 5, 2, 3, 2, 3, 2, 3, 6, 7};
    for (int64_t i = 0; i < 12; ++i) {
      INFO(i);
      CHECK((std::isnan(expected[i]) ? std::isnan(done.y.at(i)) : done.y.at(i) == expected[i]));
      CHECK(done.position.at(i) == positions[i]);
    }
    const Pooled whole =
        pool({1, 2, 2, 1}, {5, 5, 5, NAN}, {0, 0, 0.4f, 1.4f, 0, 1, 1, 1}, {.threads = 1, .plain = plain});
    CHECK((whole.position.at(0) == 0 && whole.position.at(2) == 2));
    CHECK((whole.position.at(4) == 2 && std::isnan(whole.y.at(5))));
  }
}

TEST_CASE("a region with a coordinate that is no finite number gives NaN, one that is far away is cut") {
  const std::vector<float> x = {1, 2, 3, 4};
  for (bool plain : {true, false})
    for (const float broken : {NAN, HUGE_VALF, -HUGE_VALF})
      for (size_t which = 0; which < 4; ++which) {
        std::vector<float> corners = {0, 0, 1, 1, 0, 0, 1, 1};
        corners[which] = broken;
        const Pooled done = pool({1, 2, 2, 1}, x, corners, {.threads = 1, .plain = plain});
        for (int64_t i = 0; i < 4; ++i) {
          CHECK((std::isnan(done.y.at(i)) && done.position.at(i) == -1));
          CHECK((done.y.at(i + 4) == x[size_t(i)] && done.position.at(i + 4) == double(i)));
        }
      }
  for (bool plain : {true, false}) {
    const Pooled far = pool({1, 2, 2, 1}, x, {-1e30f, -1e30f, 1e30f, 1e30f, 1e30f, 1e30f, -1e30f, -1e30f},
                            {.threads = 1, .plain = plain});
    CHECK(far.y.at(3) == 4);
    for (int64_t i = 4; i < 8; ++i) CHECK((far.y.at(i) == 0 && far.position.at(i) == -1));
  }
}

TEST_CASE("images and regions that do not go together") {
  const TensorType images{DType::f32, {2, 4, 4, 3}}, regions{DType::f32, {2, 5, 4}};
  CHECK(complaint(images, regions) == "none");
  const std::string both = "regions (N,R,4) are pooled of images (N,H,W,C), both of floating types, got ";
  CHECK(complaint(images, {DType::f32, {3, 5, 4}}) == both + "f32 (3, 5, 4) and f32 (2, 4, 4, 3)");
  CHECK(complaint(images, {DType::f32, {2, 5, 5}}) == both + "f32 (2, 5, 5) and f32 (2, 4, 4, 3)");
  CHECK(complaint(images, {DType::i32, {2, 5, 4}}) == both + "i32 (2, 5, 4) and f32 (2, 4, 4, 3)");
  CHECK_THAT(complaint({DType::f32, {2, 2, 4, 4, 3}}, regions), Catch::Contains("images have four axes"));
  CHECK_THAT(complaint(images, regions, 0), Catch::Contains("are cut into 0 x 2 bins"));
  CHECK_THAT(complaint({DType::f32, {2, 65536, 65536, 1}}, regions),
             Catch::Contains("have more pixels than a position can name"));
}
