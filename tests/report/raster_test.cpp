// Letters of a picture: those beyond ASCII have pixels of their own, or the number of their code point.
#include "neon/report/raster.h"

#include <catch2/catch.hpp>

using namespace neon;

namespace {

std::string drawn(std::string_view text) {
  Raster raster(120, 20, {255, 255, 255});
  raster.write(1, 1, text, {0, 0, 0});
  return raster.png();
}

}  // namespace

TEST_CASE("letters with marks, of Greek and of Cyrillic writing have pixels of their own") {
  const std::string_view letters[] = {"o", "?", "\u00f6", "\u0151", "\u00d6", "\u1ed1", "\u03bb", "\u0436", "\u20ac"};
  for (const std::string_view one : letters)
    for (const std::string_view other : letters) {
      CHECK((drawn(one) == drawn(other)) == (one == other));
      CHECK(Raster::width_of(one) >= 4);
      CHECK(Raster::width_of(one) <= 13);
    }
  CHECK(drawn("o\u0308") == drawn("\u00f6"));
  CHECK(drawn("o\u0302\u0301") == drawn("\u1ed1"));
  CHECK(Raster::width_of("\u00e9") == Raster::width_of("e"));
}

TEST_CASE("the number of its code point stands for any other letter") {
  CHECK(drawn("a\u4e2db") == drawn("a\\u4e2db"));
  CHECK(drawn("\U0001f600") == drawn("\\u1f600"));
  CHECK(drawn("\xf6") == drawn("\\ufffd"));
}
