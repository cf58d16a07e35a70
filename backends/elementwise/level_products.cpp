// Products of blocks of matrices, whose sums stay in registers: for Winograd's places, attention, recurrent cells, and
// whatever multiplies in f64.
#include "backends/elementwise/level.h"

namespace neon::elementwise::NEON_LEVEL {
namespace {

#define NEON_INLINE [[gnu::always_inline]] inline

#if defined __AVX512F__
constexpr int kBytes = 64, kRows = 14;
#elif defined __AVX2__
constexpr int kBytes = 32, kRows = 6;
#else
constexpr int kBytes = 16, kRows = 6;
#endif
template <typename T>
constexpr int kLanes = kBytes / int(sizeof(T));
static_assert(kProductColumns % kLanes<float> == 0 && kProductColumns % kLanes<double> == 0);

template <typename T>
struct Simd {
  typedef T Vector __attribute__((vector_size(kBytes)));
  typedef T Stored __attribute__((vector_size(kBytes), aligned(sizeof(T)), may_alias));
};
template <typename T>
using Vector = typename Simd<T>::Vector;

template <typename T>
NEON_INLINE Vector<T> load(const T* from) {
  return *reinterpret_cast<const typename Simd<T>::Stored*>(from);
}
template <typename T>
NEON_INLINE void store(Vector<T> v, T* to) {
  *reinterpret_cast<typename Simd<T>::Stored*>(to) = v;
}

// Sums of R rows and W vectors. They stay in registers, as every loop over them is unrolled before GCC decides on that.
template <typename T, int R, int W>
void multiply_block(const BlockProduct& p, const T* a, const T* b, T* c) {
  const int64_t row = p.a_row, a_step = p.a_step, b_step = p.b_step, c_row = p.c_row;
  const bool add = p.add;
  Vector<T> sums[R][W];
  const T* fours[(R + 3) / 4];  // every fourth row of a
#pragma GCC unroll 4
  for (int i = 0; i < (R + 3) / 4; ++i) fours[i] = a + 4 * i * row;
#pragma GCC unroll 14
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < W; ++j) sums[i][j] = add ? load(c + i * c_row + j * kLanes<T>) : Vector<T>{};
  for (int64_t k = p.depth; k > 0; --k, b += b_step) {
    Vector<T> line[W];
#pragma GCC unroll 2
    for (int j = 0; j < W; ++j) line[j] = load(b + j * kLanes<T>);
#pragma GCC unroll 14
    for (int i = 0; i < R; ++i) {
      const Vector<T> factor = fours[i / 4][i % 4 * row] - Vector<T>{};
#pragma GCC unroll 2
      for (int j = 0; j < W; ++j) sums[i][j] += factor * line[j];
    }
#pragma GCC unroll 4
    for (int i = 0; i < (R + 3) / 4; ++i) fours[i] += a_step;
  }
#pragma GCC unroll 14
  for (int i = 0; i < R; ++i, c += c_row)
#pragma GCC unroll 2
    for (int j = 0; j < W; ++j) store<T>(sums[i][j], c + j * kLanes<T>);
}

// A block of `rows` <= R.
template <typename T, int R, int W>
void multiply_block_of(int64_t rows, const BlockProduct& p, const T* a, const T* b, T* c) {
  if constexpr (R > 1)
    if (rows < R) return multiply_block_of<T, R - 1, W>(rows, p, a, b, c);
  multiply_block<T, R, W>(p, a, b, c);
}

// All rows, in blocks of nearly the same size: few sums wait for one another.
template <typename T, int W>
void multiply_rows(const BlockProduct& p, const T* a, const T* b, T* c) {
  for (int64_t left = p.rows, blocks = (p.rows + kRows - 1) / kRows; left > 0; --blocks) {
    const int64_t rows = (left + blocks - 1) / blocks;
    multiply_block_of<T, kRows, W>(rows, p, a, b, c);
    left -= rows, a += rows * p.a_row, c += rows * p.c_row;
  }
}

template <typename T>
void multiply(const BlockProduct& p, const T* a, const T* b, T* c) {
  int64_t column = 0;
  for (; column + 2 * kLanes<T> <= p.columns; column += 2 * kLanes<T>)
    multiply_rows<T, 2>(p, a, b + column, c + column);
  if (column < p.columns) multiply_rows<T, 1>(p, a, b + column, c + column);
}

}  // namespace

constinit const Products products = {multiply<float>, multiply<double>};

}  // namespace neon::elementwise::NEON_LEVEL
