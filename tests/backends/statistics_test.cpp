#include <catch2/catch.hpp>

#include "tests/backends/statistics_case.h"

using namespace neon;

TEST_CASE("batch norm's statistics of numbers far from 0, equal, or far from the first") {
  for (int threads : {1, 2}) CHECK(test::difference_of_statistics({.program = {.threads = threads}}) == "");
}

TEST_CASE("batch norm and its gradients of numbers near 5000 are as exact as near 0") {
  for (int threads : {1, 2}) CHECK(test::difference_of_gradients({.program = {.threads = threads}}) == "");
  CHECK(test::difference_of_gradients({.program = {.threads = 1, .fuse = false}}) == "");
}
