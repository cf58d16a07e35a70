// Letters with marks as one code point and as two; expected by Unicode's canonical decomposition.
#include "datasets/composed_letters.h"

#include <catch2/catch.hpp>

using namespace neon;

TEST_CASE("letters with marks are taken apart as Unicode does it") {
  CHECK(decomposed("caf\u00e9") == "cafe\u0301");
  CHECK(decomposed("cafe\u0301") == "cafe\u0301");
  CHECK(decomposed("\u1ec7\u0439\u03cd") == "e\u0323\u0302\u0438\u0306\u03c5\u0301");
  CHECK(decomposed("\u4e2d \u00df \u00f8 A") == "\u4e2d \u00df \u00f8 A");
  CHECK(decomposed("L\xf6we") == "L\xf6we");  // no UTF-8
  CHECK(composed('e', 0x301) == 0xe9);
  CHECK(composed(0x438, 0x306) == 0x439);
  CHECK(composed('x', 0x301) == 0);
  CHECK(composed('e', 'e') == 0);
}

TEST_CASE("code points are read from UTF-8") {
  for (const auto& [text, value, bytes] : {std::tuple("a", 0x61u, 1u),
                                           {"\u00e9", 0xe9u, 2u},
                                           {"\u4e2d", 0x4e2du, 3u},
                                           {"\U0001f600", 0x1f600u, 4u},
                                           {"\xf6", 0xfffdu, 1u}}) {
    const CodePoint point = first_code_point(text);
    CHECK(point.value == value);
    CHECK(point.bytes == bytes);
  }
}
