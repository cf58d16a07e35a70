// Operators whose results are plain to see.
#include "neon/onnx/evaluate.h"

#include <catch2/catch.hpp>

#include "neon/core/error.h"
#include "neon/onnx/writer.h"

using namespace neon;
using namespace neon::onnx;

namespace {

using Numbers = std::vector<double>;

Array run(Writer& writer, const std::string& last, Array input, Precision precision = Precision::full) {
  return evaluated(writer.finish(last), std::move(input), precision);
}

Tensor tensor_of(const Shape& shape, const std::vector<float>& numbers) {
  Tensor out(DType::f32, shape);
  for (size_t i = 0; i < numbers.size(); ++i) out.set(int64_t(i), numbers[i]);
  return out;
}

Numbers padded(const char* mode) {
  Writer w;
  const std::string y = w.add("Pad", {kInput, w.list({0, 2, 0, 1}), w.number(0)}, {{"mode", std::string(mode)}});
  return run(w, y, {{1, 3}, {1, 2, 3}}).numbers;
}

}  // namespace

TEST_CASE("padding is zero, the last element or the mirrored array") {
  CHECK(padded("constant") == Numbers{0, 0, 1, 2, 3, 0});
  CHECK(padded("edge") == Numbers{1, 1, 1, 2, 3, 3});
  CHECK(padded("reflect") == Numbers{3, 2, 1, 2, 3, 2});
}

TEST_CASE("a convolution multiplies what each window sees") {
  Writer w;
  const std::string filter = w.array("w", tensor_of({1, 1, 1, 2}, {1, 10}));
  const std::vector<int64_t> ones{1, 1}, pads{0, 1, 0, 0};
  const std::string y =
      w.add("Conv", {kInput, filter}, {{"strides", ones}, {"pads", pads}, {"dilations", ones}, {"group", int64_t(1)}});
  const Array found = run(w, y, {{1, 1, 1, 3}, {1, 2, 3}});
  CHECK(found.sizes == std::vector<int64_t>{1, 1, 1, 3});
  CHECK(found.numbers == Numbers{10, 21, 32});
}

TEST_CASE("a mean counts padding only where it should") {
  for (const int64_t counts : {0, 1}) {
    Writer w;
    const std::vector<int64_t> size{1, 2}, ones{1, 1}, pads{0, 1, 0, 0};
    const std::string y =
        w.add("AveragePool", {kInput},
              {{"kernel_shape", size}, {"strides", ones}, {"pads", pads}, {"count_include_pad", counts}});
    CHECK(run(w, y, {{1, 1, 1, 2}, {4, 8}}).numbers == Numbers{counts ? 2.0 : 4.0, 6});
  }
}

TEST_CASE("results are rounded to f32 where they are to be") {
  for (const Precision precision : {Precision::full, Precision::as_f32}) {
    Writer w;
    const std::string y = w.add("Add", {kInput, w.number(1)});
    const double small = 0x1p-30;
    CHECK(run(w, y, {{1}, {small}}, precision).numbers[0] == (precision == Precision::full ? 1 + small : 1));
  }
}

TEST_CASE("an unknown operator and shapes that differ are refused") {
  Writer unknown, shapes;
  const std::string a = unknown.add("Einsum", {kInput}), b = shapes.add("Add", {kInput, shapes.list({1, 2, 3})});
  CHECK_THROWS_WITH(run(unknown, a, {{1}, {1}}), Catch::Contains("Einsum is not one that neon writes"));
  CHECK_THROWS_WITH(run(shapes, b, {{2}, {1, 2}}), Catch::Contains("sizes 2 and 3 do not go together"));
}
