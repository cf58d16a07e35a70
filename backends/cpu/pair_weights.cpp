#include "backends/cpu/pair_weights.h"

// GCC 12 takes what its own header leaves undefined on purpose for a mistake.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include <cstring>

#include "backends/cpu/step_weights.h"

namespace neon::cpu {

namespace {

#define NEON_PAIRS [[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")]]

constexpr int kPairRows = 14;
constexpr int64_t kPairSums = 16;  // sums

// A panel's products. Rows of `a` have `pairs` pairs without gaps, rows of `out` lie `out_row` numbers apart.
struct PairProduct {
  int64_t pairs, out_row;
};

// Sums of R rows and W vectors, in registers.
template <int R, int W>
NEON_PAIRS void multiply_pairs(const PairProduct& p, const bf16* a, const bf16* b, float* out) {
  const int64_t pairs = p.pairs;
  __m512 sums[R][W];
#pragma GCC unroll 14
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < W; ++j) sums[i][j] = _mm512_setzero_ps();
  const int32_t* fours[(R + 3) / 4];  // every fourth row of a
#pragma GCC unroll 4
  for (int i = 0; i < (R + 3) / 4; ++i) fours[i] = reinterpret_cast<const int32_t*>(a) + 4 * i * pairs;
  for (int64_t k = 0; k < pairs; ++k, b += W * 2 * kPairSums) {
    __m512bh line[W];
#pragma GCC unroll 2
    for (int j = 0; j < W; ++j) line[j] = __m512bh(_mm512_loadu_si512(b + j * 2 * kPairSums));
#pragma GCC unroll 14
    for (int i = 0; i < R; ++i) {
      int32_t pair;
      std::memcpy(&pair, fours[i / 4] + i % 4 * pairs, sizeof pair);
      const __m512bh factor = __m512bh(_mm512_set1_epi32(pair));
#pragma GCC unroll 2
      for (int j = 0; j < W; ++j) sums[i][j] = _mm512_dpbf16_ps(sums[i][j], factor, line[j]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < (R + 3) / 4; ++i) ++fours[i];
  }
#pragma GCC unroll 14
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < W; ++j) _mm512_storeu_ps(out + i * p.out_row + j * kPairSums, sums[i][j]);
}

template <int R, int W>
void multiply_pairs_of(int64_t rows, const PairProduct& p, const bf16* a, const bf16* b, float* out) {
  if constexpr (R > 1)
    if (rows < R) return multiply_pairs_of<R - 1, W>(rows, p, a, b, out);
  multiply_pairs<R, W>(p, a, b, out);
}

// All rows, in blocks of nearly the same size.
template <int W>
void multiply_pair_rows(int64_t rows, const PairProduct& p, const bf16* a, const bf16* b, float* out) {
  for (int64_t left = rows, blocks = divided_up(rows, kPairRows); left > 0; --blocks) {
    const int64_t some = divided_up(left, blocks);
    multiply_pairs_of<kPairRows, W>(some, p, a, b, out);
    left -= some, a += some * p.pairs * 2, out += some * p.out_row;
  }
}

}  // namespace

PairWeights::PairWeights(const StepSizes& sizes, int64_t samples, int threads)
    : inner_(sizes.inner),
      gates_(sizes.gates),
      units_(sizes.units),
      padded_(sizes.padded()),
      pairs_(divided_up(inner_, 2)),
      transposed_(sizes.transposed),
      round_(elementwise::store_function(DType::f32, DType::bf16)),
      packed_(DType::bf16, {gates_ * padded_ * pairs_ * 2}),
      rounded_(DType::bf16, {threads, samples * pairs_ * 2}) {}

bf16* PairWeights::panel(int64_t gate, int64_t unit) const {
  return static_cast<bf16*>(const_cast<void*>(packed_.data())) + (gate * padded_ + unit) * pairs_ * 2;
}

void PairWeights::pack(const float* w, int64_t gate, int64_t unit) {
  const int64_t width = std::min(kPanel, padded_ - unit), columns = gates_ * units_;
  bf16* to = panel(gate, unit);
  for (int64_t pair = 0; pair < 2 * pairs_; pair += 2)
    for (int64_t j = unit; j < unit + width; ++j)
      for (int64_t k = pair; k < pair + 2; ++k) {
        const int64_t column = gate * units_ + j;
        const bool given = j < units_ && k < inner_;
        *to++ = given ? to_bf16(w[transposed_ ? column * inner_ + k : k * columns + column]) : bf16{};
      }
}

const bf16* PairWeights::rounded(const float* a, const CellShare& share) const {
  bf16* const to = static_cast<bf16*>(rounded_.data()) + share.number * rounded_.shape()[1];
  if (inner_ == 2 * pairs_) {
    round_(a, to, share.samples() * inner_);
    return to;
  }
  for (int64_t n = 0; n < share.samples(); ++n) {
    round_(a + n * inner_, to + n * 2 * pairs_, inner_);
    to[n * 2 * pairs_ + inner_] = bf16{};
  }
  return to;
}

void PairWeights::multiply(const float* a, const CellShare& share, float* out) const {
  const int64_t first = share.first_unit, last = std::min(divided_up(first + share.units, kLane) * kLane, padded_);
  const bf16* const rows = rounded(a, share);
  const PairProduct product{pairs_, gates_ * padded_};
  for (int64_t gate = 0; gate < gates_; ++gate)
    for (int64_t unit = first; unit < last; unit += kPanel) {
      const auto multiply = padded_ - unit < kPanel ? multiply_pair_rows<1> : multiply_pair_rows<2>;
      multiply(share.samples(), product, rows, panel(gate, unit), out + gate * padded_ + unit);
    }
}

}  // namespace neon::cpu

#undef NEON_PAIRS
#pragma GCC diagnostic pop
