// How a batch is cut for a library: all images once, in order, and each piece within its bounds. Needs no GPU.
#include "backends/cuda/batch_pieces.h"

#include <catch2/catch.hpp>

#include "neon/core/text.h"

using namespace neon;

namespace {

constexpr int64_t kMost31 = (int64_t(1) << 31) - 1;
constexpr size_t kNoBound = size_t(-1), kGiB = size_t(1) << 30;

// The number of pieces, which cover the batch and begin at multiples of 16 bytes.
size_t count_of(const TensorType& x, const TensorType& y, size_t most_bytes) {
  INFO(text(x, " and ", y, ", ", most_bytes, " bytes"));
  const int64_t batch = x.shape[0], x_elements = x.shape.elements() / batch, y_elements = y.shape.elements() / batch;
  const auto x_bytes = size_t(x_elements) * size_of(x.dtype), y_bytes = size_t(y_elements) * size_of(y.dtype);
  const auto pieces = cuda::batch_pieces(x, y, most_bytes);
  int64_t next = 0;
  for (const auto& [first, images] : pieces) {
    CHECK(first == next);
    CHECK((images > 0 && images <= pieces[0].images));
    CHECK(size_t(first) * x_bytes % 16 == 0);
    CHECK(size_t(first) * y_bytes % 16 == 0);
    CHECK(images * x_elements <= kMost31);
    CHECK(images * y_elements <= kMost31);
    CHECK(size_t(images) * (x_bytes + y_bytes) <= most_bytes);
    if (first + images < batch) CHECK(images == pieces[0].images);
    next = first + images;
  }
  CHECK(next == batch);
  return pieces.size();
}

}  // namespace

TEST_CASE("batches in pieces: none where all is within the bounds, to the last image") {
  const auto f16 = [](int64_t images, int64_t channels) { return TensorType{DType::f16, {images, 1, 1, channels}}; };
  CHECK(count_of(f16(128, 1000), f16(128, 10), kNoBound) == 1);
  CHECK(count_of(f16(kMost31, 1), f16(kMost31, 1), kNoBound) == 1);
  CHECK(count_of(f16(kMost31 + 1, 1), f16(kMost31 + 1, 1), kNoBound) == 2);
  CHECK(count_of(f16(1, 1), f16(1, kMost31), kNoBound) == 1);
  CHECK(count_of(f16(100, 5), f16(100, 5), 2000) == 1);
  CHECK(count_of(f16(101, 5), f16(101, 5), 2000) == 2);
}

TEST_CASE("batches in pieces: about as few as the bounds allow, of one size but the last") {
  // GoogLeNet's second convolution: 3211264 bytes an image, 1337 images in 4 GiB.
  const auto x = [](int64_t n) { return TensorType{DType::f32, {n, 56, 56, 64}}; };
  const auto y = [](int64_t n) { return TensorType{DType::f32, {n, 56, 56, 192}}; };
  CHECK(count_of(x(1337), y(1337), 4 * kGiB) == 1);
  CHECK(count_of(x(1338), y(1338), 4 * kGiB) == 2);
  CHECK(count_of(x(7701), y(7701), 4 * kGiB) == 6);
  CHECK(cuda::batch_pieces(x(7701), y(7701), 4 * kGiB)[0].images == 1284);
  // Odd sizes: only every eighth image of f16 is at a multiple of 16 bytes, and every fourth of f32.
  for (int64_t batch : {9, 1000, 1001, 1007}) {
    const auto pieces_of = [&](int64_t images) { return size_t((batch + images - 1) / images); };
    CHECK(count_of({DType::f16, {batch, 5, 5, 3}}, {DType::f16, {batch, 3, 3, 7}}, 8 * 2 * (75 + 63)) == pieces_of(8));
    CHECK(count_of({DType::bf16, {batch, 6}}, {DType::f32, {batch, 5}}, 7 * (12 + 20)) == pieces_of(4));
    CHECK(count_of({DType::f32, {batch, 5}}, {DType::f32, {batch, 3}}, 4 * (20 + 12)) == pieces_of(4));
  }
  // Equal ones where that takes less than twice as many: four of 512 instead of 683, 683 and 682.
  const auto of_512 = cuda::batch_pieces(x(2048), y(2048), kGiB * 2);
  REQUIRE(of_512.size() == 4);
  CHECK((of_512[0].images == 512 && of_512[3].images == 512));
}

TEST_CASE("batches in pieces: an image above the bound is a piece, or as many as begin at 16 bytes") {
  const auto wide = cuda::batch_pieces({DType::f16, {3, 16}}, {DType::f16, {3, 8}}, 40);
  REQUIRE(wide.size() == 3);
  CHECK((wide[2].first == 2 && wide[2].images == 1));
  const auto odd = cuda::batch_pieces({DType::f16, {19, 1}}, {DType::f16, {19, 3}}, 1);
  REQUIRE(odd.size() == 3);
  CHECK((odd[0].images == 8 && odd[1].first == 8 && odd[2].first == 16 && odd[2].images == 3));
}
