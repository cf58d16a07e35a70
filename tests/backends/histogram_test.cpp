// Histograms against NumPy's, by the definition that neon's tests had; what is counted nowhere; large arrays and
// threads.
#include <catch2/catch.hpp>
#include <cmath>

#include "neon/core/random.h"
#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;

namespace {

std::vector<int64_t> counts_of(const Tensor& x, int64_t bins, int64_t offset, const ProgramOptions& options) {
  Graph graph;
  graph.output("counts", histogram(graph, graph.input("x", x.dtype(), x.shape()), bins, offset));
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, options);
  program->bind("x", x.data());
  program->run(0);
  program->run(1);  // nothing is left of the first
  const auto counts = program->output("counts").as<int32_t>();
  return {counts.begin(), counts.end()};
}

Tensor array(const std::vector<double>& values, DType dtype = DType::f32) {
  Tensor out(dtype, {int64_t(values.size())});
  for (size_t i = 0; i < values.size(); ++i) out.set(int64_t(i), values[i]);
  return out;
}

int64_t sum(const std::vector<int64_t>& counts) {
  int64_t out = 0;
  for (int64_t count : counts) out += count;
  return out;
}

}  // namespace

TEST_CASE("bins are those of NumPy") {
  const Setting cases = golden("backends/golden/histograms.json");
  REQUIRE(cases.items.size() > 10);
  for (const Setting& c : cases.items) {
    const int64_t bins = int64_t(number_of(at(c, "bins"))), offset = int64_t(number_of(at(c, "offset")));
    const Tensor x = tensor_of(at(c, "x"), dtype_from_name(at(c, "dtype").value));
    INFO(at(c, "dtype").value << " " << x.shape().to_string() << ", " << bins << " bins from " << offset);
    const std::vector<double> expected = numbers(at(c, "counts"));
    for (bool plain : {false, true}) {
      const auto got = counts_of(x, bins, offset, {.threads = 2, .plain = plain});
      REQUIRE(got.size() == expected.size());
      for (size_t bin = 0; bin < got.size(); ++bin) {
        INFO("bin " << bin << (plain ? ", plain" : ""));
        CHECK(double(got[bin]) == expected[bin]);
      }
    }
  }
}

TEST_CASE("zeros are in the first bin; infinity, NaN and what is too large are nowhere") {
  const double largest = 3.4028234663852886e38;
  for (bool plain : {false, true}) {
    const ProgramOptions options{.plain = plain};
    CHECK(counts_of(array({0, -0.0, 1e-30}), 4, -10, options) == std::vector<int64_t>{3, 0, 0, 0});
    CHECK(sum(counts_of(array({HUGE_VAL, -HUGE_VAL, NAN}), 1024, -500, options)) == 0);
    // The last bin is closed at its upper edge: it holds 2^2 and 2^3, and no more.
    CHECK(counts_of(array({1, 2, 4, 8, 16, largest}), 3, 0, options) == std::vector<int64_t>{1, 1, 2});
    CHECK(counts_of(array({largest}), 256, -128, options).back() == 1);
    CHECK(counts_of(array({1e300, 1e-300}, DType::f64), 2, 0, options) == std::vector<int64_t>{1, 0});  // f32: inf, 0
  }
}

TEST_CASE("threads and blocks count every element once") {
  Tensor x(DType::f32, {100003});
  Stream stream(8, "sizes");
  for (float& v : x.as<float>()) v = float(stream.normal());
  const auto expected = counts_of(x, 64, -48, {.plain = true});
  CHECK(sum(expected) == x.elements());
  for (int threads : {1, 2, 3, 8}) CHECK(counts_of(x, 64, -48, {.threads = threads}) == expected);
}

TEST_CASE("a histogram that is not asked for counts nothing") {
  Graph graph;
  const Value x = graph.input("x", DType::f32, {5});
  graph.output("counts", histogram(graph, x, 4, 0, graph.scalar("watched")));
  Variables variables;
  const auto program = compile_for_cpu(graph, variables);
  const float data[] = {1, 1, 2, 4, 8};
  program->bind("x", data);
  for (int watched : {1, 0, 1}) {
    program->set_scalar("watched", watched);
    program->run(0);
    const auto counts = program->output("counts").as<int32_t>();
    CHECK(std::vector<int32_t>(counts.begin(), counts.end()) ==
          (watched ? std::vector<int32_t>{2, 1, 1, 1} : std::vector<int32_t>{0, 0, 0, 0}));
  }
}

TEST_CASE("bins and offsets that cannot be are refused") {
  Graph graph;
  const Value x = graph.input("x", DType::f32, {5});
  CHECK_THROWS_WITH(histogram(graph, x, 0, 0), "a histogram has 1 to 1024 bins, not 0");
  CHECK_THROWS_WITH(histogram(graph, x, 2000, 0), "a histogram has 1 to 1024 bins, not 2000");
  CHECK_THROWS_WITH(histogram(graph, x, 8, 5000),
                    "the offset of a histogram is an exponent of 2 from -1000 to 1000, not 5000");
  CHECK_THROWS_WITH(histogram(graph, x, 8, 0, x), "whether a histogram counts is one number, not f32 (5)");
}
