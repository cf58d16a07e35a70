// Numbers as tiles of AMX. A number of bf16 is one term. A number of f32 is the sum of three of bf16: each is what the
// terms before it leave, rounded to bf16.
#pragma once
#include "backends/cpu/amx.h"

namespace neon::cpu {

template <typename T>
constexpr int64_t kTerms = sizeof(T) == 2 ? 1 : 3;

// A part of a matrix: rows lie `stride` apart, and behind the rows and columns that exist are zeros.
template <typename T>
struct TilePart {
  const T* from;
  int64_t stride, rows, columns;
};

// Makes a tile of each of `terms`, 1 or 3 of f32, `term` elements apart: of 16 rows and 32 columns one of the left
// factor, or where `turned` one of the right factor, which then multiplies by the columns. False where terms cannot
// tell a number, which is infinite or rounds to that. NaN is NaN in its terms.
bool tile_of_rows(const TilePart<float>& part, bool turned, bf16* to, int64_t term, int64_t terms);
bool tile_of_rows(const TilePart<bf16>& part, bool turned, bf16* to, int64_t term, int64_t terms);
// Likewise, of 32 rows and 16 columns one of the right factor, or where `turned` one of the left.
bool tile_of_columns(const TilePart<float>& part, bool turned, bf16* to, int64_t term, int64_t terms);
bool tile_of_columns(const TilePart<bf16>& part, bool turned, bf16* to, int64_t term, int64_t terms);

// sums (16 m_tiles, 16 k_tiles), in lines `line` apart, += a tile row of the left factor times a tile column of the
// right one, with `terms` 1 or 3. Both factors are (steps, terms, 2 tiles, 512). Three terms make six products: those
// left out, of the last term with the last two, are smaller than half a bit of f32.
struct TermProducts {
  int64_t terms, steps;
  const bf16 *a, *b;
  float* sums;
  int64_t line;
  bool anew;  // the sums begin at 0, whatever is there
};
void accumulate_terms(const TermProducts& products, int64_t m_tiles, int64_t k_tiles);

// Sums (rows, columns), in lines `line` apart and padded to 16, with a bias of the columns, if any, and relu, go to
// rows `step` apart.
struct FinishedSums {
  const float* sums;
  int64_t line, rows, columns;
  const float* bias;
  bool relu;
  int64_t step;
};
void finish_sums(const FinishedSums& sums, float* to);
void finish_sums(const FinishedSums& sums, bf16* to);

}  // namespace neon::cpu
