// Winograd's convolution F(m x m, r x r), m + r = 7, of neighbouring channels side by side: polynomials of a tile's
// lines and columns are multiplied by way of their values in 0, 2/3, -2/3, 3/2, -3/2 and infinity (Lavin and Gray, Fast
// Algorithms for Convolutional Neural Networks, 2016, section 4.1 for the matrices). These points, of which two are
// each other's inverses, are nearly as exact as adding up directly: with 32 channels of normal numbers the root of the
// mean squared error is 1.4 (filters of 5 x 5) and 2.0 times (3 x 3) as large; with 0, 1, -1, 2, -2 it is 3.0 and 4.2
// times.
#include "backends/elementwise/level.h"

namespace neon::elementwise::NEON_LEVEL {
namespace {

#define NEON_INLINE [[gnu::always_inline]] inline

#if defined __AVX512F__
constexpr int kBytes = 64;
#elif defined __AVX2__
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
constexpr int kLanes = kBytes / 4, kSide = 6;
static_assert(kSide * kSide == kWinogradPlaces && kWinogradChannels % kLanes == 0);

typedef float Vector __attribute__((vector_size(kBytes)));
typedef int32_t Bits __attribute__((vector_size(kBytes)));
typedef float Stored __attribute__((vector_size(kBytes), aligned(4), may_alias));

NEON_INLINE Vector load(const float* from) { return *reinterpret_cast<const Stored*>(from); }
NEON_INLINE Vector absolute(Vector v) { return Vector(Bits(v) & 0x7fffffff); }
NEON_INLINE void store(Vector v, float* to) { *reinterpret_cast<Stored*>(to) = v; }

// Points 0, a, -a, b, -b, infinity; a * b is 1.
constexpr double kA = 2.0 / 3, kB = 3.0 / 2, kA2 = kA * kA, kB2 = kB * kB;
constexpr double kOfA = 1 / (2 * kA2 * (kA2 - kB2)), kOfB = 1 / (2 * kB2 * (kB2 - kA2));

// Six numbers of a line, by the transposed matrix B.
NEON_INLINE void patch_line(const Vector* d, Vector* v) {
  constexpr float a = kA, b = kB, a2 = kA2, b2 = kB2, both = kA2 + kB2;
  const Vector even_a = d[4] - b2 * d[2], odd_a = d[3] - b2 * d[1];
  const Vector even_b = d[4] - a2 * d[2], odd_b = d[3] - a2 * d[1];
  v[0] = d[0] + (d[4] - both * d[2]);
  v[1] = even_a + a * odd_a;
  v[2] = even_a - a * odd_a;
  v[3] = even_b + b * odd_b;
  v[4] = even_b - b * odd_b;
  v[5] = d[1] + (d[5] - both * d[3]);
}

// N coefficients, by the matrix G.
template <int N>
NEON_INLINE void value_line(const Vector* g, Vector* v) {
  const auto at = [&](double point, double factor, Vector* two) {
    const double p2 = point * point;
    Vector even = float(factor) * g[0], odd = float(factor * point) * g[1];
    if constexpr (N > 2) even += float(factor * p2) * g[2];
    if constexpr (N > 3) odd += float(factor * point * p2) * g[3];
    if constexpr (N > 4) even += float(factor * p2 * p2) * g[4];
    two[0] = even + odd;
    two[1] = even - odd;
  };
  v[0] = g[0];
  at(kA, kOfA, v + 1);
  at(kB, kOfB, v + 3);
  v[5] = g[N - 1];
}

// Where all pixels under a filter are 0, beside others in the tile, a plain sum is 0, and so is relu's derivative. Here
// a rounding error remains. Among ten million outputs of 3 x 3 filters over 16 to 256 channels, with sizes e^3 apart
// too, it was at most 27 units of 2^-23 of the tile's largest place. For 5 x 5 filters it was 0, because no output
// shares a place with pixels that its window doesn't see.
constexpr float kNoise = 0x1p-18f, kInfinity = __builtin_inff();

// To N results, by the transposed matrix A.
template <int N>
NEON_INLINE void result_line(const Vector* m, Vector* y) {
  const Vector even_a = m[1] + m[2], odd_a = m[1] - m[2], even_b = m[3] + m[4], odd_b = m[3] - m[4];
  y[0] = m[0] + even_a + even_b;
  y[1] = float(kA) * odd_a + float(kB) * odd_b;
  if constexpr (N > 2) y[2] = float(kA2) * even_a + float(kB2) * even_b;
  if constexpr (N > 3) y[3] = float(kA2 * kA) * odd_a + float(kB2 * kB) * odd_b;
  if constexpr (N > 4) y[4] = float(kA2 * kA2) * even_a + float(kB2 * kB2) * even_b;
  y[N - 1] += m[5];
}

// N x N pixels -> 6 x 6 places, line by line and then column by column.
template <int N, auto kLine>
void spread(const float* const* pixels, int64_t channels, float* places, int64_t step) {
  for (int64_t c = 0; c < channels; c += kLanes) {
    Vector lines[kSide][N];
    for (int i = 0; i < N; ++i) {
      Vector line[N], values[kSide];
      for (int j = 0; j < N; ++j) line[j] = load(pixels[i * N + j] + c);
      kLine(line, values);
      for (int j = 0; j < kSide; ++j) lines[j][i] = values[j];
    }
    for (int j = 0; j < kSide; ++j) {
      Vector values[kSide];
      kLine(lines[j], values);
      for (int i = 0; i < kSide; ++i) store(values[i], places + (i * kSide + j) * step + c);
    }
  }
}

// 6 x 6 places -> N x N pixels. `clean`: what is far below the places becomes 0.
template <int N, bool clean = false>
void results(const float* places, int64_t step, int64_t channels, const float* bias, bool relu, float* const* pixels) {
  for (int64_t c = 0; c < channels; c += kLanes) {
    Vector lines[N][kSide], largest{};
    for (int i = 0; i < kSide; ++i) {
      Vector line[kSide], values[N];
      for (int j = 0; j < kSide; ++j) {
        line[j] = load(places + (i * kSide + j) * step + c);
        if constexpr (clean) largest = absolute(line[j]) > largest ? absolute(line[j]) : largest;
      }
      result_line<N>(line, values);
      for (int j = 0; j < N; ++j) lines[j][i] = values[j];
    }
    const Vector added = bias ? load(bias + c) : Vector{}, noise = largest < kInfinity ? kNoise * largest : Vector{};
    for (int j = 0; j < N; ++j) {
      Vector values[N];
      result_line<N>(lines[j], values);
      for (int i = 0; i < N; ++i) {
        if constexpr (clean) values[i] = absolute(values[i]) < noise ? Vector{} : values[i];
        const Vector y = values[i] + added;
        store(relu ? (y <= 0 ? Vector{} : y) : y, pixels[i * N + j] + c);  // NaN stays
      }
    }
  }
}

}  // namespace

constinit const Winograd winograd = {
    spread<6, patch_line>,
    {spread<2, value_line<2>>, spread<3, value_line<3>>, spread<4, value_line<4>>, spread<5, value_line<5>>},
    {results<2>, results<3>, results<4>, results<5>},
    {results<2>, results<3>, results<4, true>, results<5>}};

}  // namespace neon::elementwise::NEON_LEVEL
