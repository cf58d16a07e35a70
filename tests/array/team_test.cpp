// Arrays with the teams of threads that the runtime gives, which may be smaller than asked for. The suite runs once for
// each of several settings of OpenMP in the environment.
#include <omp.h>

#include <catch2/catch.hpp>

#include "neon/array/array.h"

using namespace neon;

namespace {

constexpr int kAsked = 8;  // threads: more than most machines that run this have processors

// Sums and products of whole numbers, which f32 holds: exact for any order of the additions.
void check_arrays(const BackendOptions& options) {
  constexpr int64_t rows = 600, columns = 500, inner = 70;
  Backend be(options);
  const Array ones = be.ones({rows, columns}), a = be.ones({rows, inner}), b = be.ones({inner, columns});
  // CHECK is not for several threads at once.
  const double all = Array(sum(ones)).item(), product = Array(sum(dot(a, b))).item();
  const Tensor tall = Array(sum(ones, {0})).get(), wide = Array(sum(ones, {1})).get();
  int64_t wrong = 0;
  for (int64_t i = 0; i < columns; ++i) wrong += tall.at(i) != rows;
  for (int64_t i = 0; i < rows; ++i) wrong += wide.at(i) != columns;
#pragma omp critical
  {
    CHECK(all == double(rows * columns));
    CHECK(product == double(rows * columns * inner));
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("arrays have the numbers of one thread, inside a caller's region and outside") {
  const int dynamic = omp_get_dynamic();
  for (int threads : {0, 1, 2, kAsked}) {
    check_arrays({.threads = threads});
    omp_set_dynamic(true);
    check_arrays({.threads = threads});
#pragma omp parallel num_threads(2)
    check_arrays({.threads = threads});
    omp_set_dynamic(dynamic);
  }
}

TEST_CASE("one backend serves inside a region and outside in turn") {
  Backend be({.threads = 2});
  const Array a = be.ones({300, 70}), b = be.ones({70, 200});
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(Array(sum(dot(a, b))).item() == 300.0 * 200 * 70);
    double inside = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    inside = Array(sum(dot(a, b))).item();
    CHECK(inside == 300.0 * 200 * 70);
  }
}
