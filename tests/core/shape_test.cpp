#include "neon/core/shape.h"

#include <catch2/catch.hpp>

#include "neon/core/error.h"
#include "neon/core/tensor.h"

using namespace neon;

TEST_CASE("shapes broadcast by NumPy's rule") {
  CHECK(broadcast({128, 10}, {10}) == Shape{128, 10});
  CHECK(broadcast({128, 1}, {1, 10}) == Shape{128, 10});
  CHECK(broadcast({}, {3, 4}) == Shape{3, 4});
  CHECK_THROWS_WITH(broadcast({128, 10}, {100}), Catch::Contains("(128, 10)") && Catch::Contains("(100)"));
}

TEST_CASE("impossible shapes are refused") {
  CHECK_THROWS_WITH((Shape{2, -1}), Catch::Contains("axis 1 has size -1"));
  CHECK_THROWS_WITH((Shape{int64_t(1) << 40, int64_t(1) << 40, 3}),
                    "a shape of (1099511627776, 1099511627776, 3) has more than 2^59 elements");
  // The bytes of what there can be are counted: 2^61 of f64 would be 2^64, which is none.
  CHECK_THROWS_WITH((Shape{int64_t(1) << 61}), Catch::Contains("more than 2^59 elements"));
  CHECK_THROWS_AS((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), Error);
}

TEST_CASE("a tensor's rows share its memory") {
  Tensor t(DType::f32, {4, 3});
  for (int i = 0; i < 12; ++i) t.set(i, i);
  Tensor middle = t.rows(1, 2);
  CHECK(middle.shape() == Shape{2, 3});
  CHECK(middle.at(0) == 3);
  middle.set(0, 42);
  CHECK(t.at(3) == 42);
  CHECK(t.converted(DType::u8).at(11) == 11);
  CHECK_THROWS_WITH(t.reshaped({5}), Catch::Contains("12 elements"));
}
