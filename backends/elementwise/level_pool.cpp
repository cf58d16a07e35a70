// Pooling windows: neighbouring channels side by side, in vectors as wide as the level has them. Every result is made
// in an order that the window alone decides, so all levels give the same bits.
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

// Numbers in vectors of `bytes`; places of the same width, so that one mask serves both; positions as they are stored.
template <typename R, int bytes>
struct Vectors;
template <int bytes>
struct Vectors<float, bytes> {
  static constexpr int lanes = bytes / 4;
  typedef float Numbers __attribute__((vector_size(bytes), aligned(4), may_alias));
  typedef int32_t Places __attribute__((vector_size(bytes), may_alias));
  template <typename P>
  using Stored [[gnu::vector_size(lanes * sizeof(P)), gnu::aligned(alignof(P)), gnu::may_alias]] = P;
};
template <int bytes>
struct Vectors<double, bytes> {
  static constexpr int lanes = bytes / 8;
  typedef double Numbers __attribute__((vector_size(bytes), aligned(8), may_alias));
  typedef int64_t Places __attribute__((vector_size(bytes), may_alias));
  template <typename P>
  using Stored [[gnu::vector_size(lanes * sizeof(P)), gnu::aligned(alignof(P)), gnu::may_alias]] = P;
};
// The same operations on the channels that fill no vector.
template <typename R>
struct Single {
  static constexpr int lanes = 1;
  typedef R Numbers;
  typedef int64_t Places;
};

template <typename V, typename P>
NEON_INLINE void store_positions(typename V::Places places, P* to) {
  if constexpr (V::lanes == 1) {
    *to = P(places);
  } else {
    *reinterpret_cast<typename V::template Stored<P>*>(to) =
        __builtin_convertvector(places, typename V::template Stored<P>);
  }
}

template <typename V, typename P>
NEON_INLINE typename V::Places load_positions(const P* from) {
  if constexpr (V::lanes == 1) {
    return *from;
  } else {
    // One by one, which GCC widens faster than a converted vector.
    typename V::Places out;
    __typeof__(out[0] + 0) places[V::lanes];
    for (int i = 0; i < V::lanes; ++i) places[i] = from[i];
    __builtin_memcpy(&out, places, sizeof(out));
    return out;
  }
}

template <typename V, typename R>
NEON_INLINE typename V::Numbers& numbers(R* at) {
  return *reinterpret_cast<typename V::Numbers*>(at);
}
template <typename V, typename R>
NEON_INLINE typename V::Numbers numbers(const R* at) {
  return *reinterpret_cast<const typename V::Numbers*>(at);
}

// Channels that fill no widest vector, in narrower ones.
template <typename R, int bytes, typename Body>
NEON_INLINE void halves_of_block(const PoolRun& run, const Body& body, int64_t o, int64_t& c) {
  if constexpr (bytes >= 16) {
    using V = Vectors<R, bytes>;
    if (c + V::lanes <= run.channels) body.template operator()<V>(o, c), c += V::lanes;
    halves_of_block<R, bytes / 2>(run, body, o, c);
  }
}

// Calls body.run<V>(output, channel) for every output and block of channels.
template <typename R, typename Body>
NEON_INLINE void each_block(const PoolRun& run, const Body& body) {
  for (int64_t o = 0; o < run.outputs; ++o) {
    int64_t c = 0;
    for (; c + Vectors<R, kBytes>::lanes <= run.channels; c += Vectors<R, kBytes>::lanes)
      body.template operator()<Vectors<R, kBytes>>(o, c);
    halves_of_block<R, kBytes / 2>(run, body, o, c);
    for (; c < run.channels; ++c) body.template operator()<Single<R>>(o, c);
  }
}

template <typename R, typename P>
void maximum(const PoolRun& run, const R* x, R least, R* y, P* position) {
  each_block<R>(run, [&]<typename V>(int64_t o, int64_t c) {
    using Numbers = typename V::Numbers;
    using Places = typename V::Places;
    const R* from = x + o * run.x_step + c;
    Numbers best = numbers<V>(from + run.offsets[0]);
    Places where = run.places[0] - Places{};
    for (int64_t k = 1; k < run.count; ++k) {
      const Numbers here = numbers<V>(from + run.offsets[k]);
      // NaN is above all numbers, and the first of them stays.
      const auto stays = (here <= best) | (best != best);
      best = stays ? best : here;
      where = stays ? where : run.places[k] - Places{};
    }
    const int64_t to = o * run.y_step + c;
    numbers<V>(y + to) = best <= least ? least - Numbers{} : best;
    store_positions<V>(where, position + to);
  });
}

template <typename R, typename P>
void maximum_gradient(const PoolRun& run, const R* y, const P* position, bool add, R* x) {
  each_block<R>(run, [&]<typename V>(int64_t o, int64_t c) {
    using Numbers = typename V::Numbers;
    const int64_t from = o * run.y_step + c;
    const Numbers g = numbers<V>(y + from);
    const auto where = load_positions<V>(position + from);
    R* to = x + o * run.x_step + c;
    for (int64_t k = 0; k < run.count; ++k) {
      const Numbers mine = where == run.places[k] - typename V::Places{} ? g : Numbers{};
      Numbers& there = numbers<V>(to + run.offsets[k]);
      there = add ? there + mine : mine;
    }
  });
}

// One sum takes so many elements one after the other. Longer sums would drift, so they are joined in pairs.
constexpr int64_t kPlacesInARow = 128;

template <typename V, typename R>
NEON_INLINE typename V::Numbers sum_in_a_row(const R* from, const int64_t* offsets, int64_t count) {
  typename V::Numbers total = numbers<V>(from + offsets[0]);
  for (int64_t k = 1; k < count; ++k) total += numbers<V>(from + offsets[k]);
  return total;
}

// Sums of 1, 2, 4 ... rows of elements wait until another of their size is there.
template <typename V, typename R>
NEON_INLINE typename V::Numbers sum_in_pairs(const R* from, const int64_t* offsets, int64_t count) {
  typename V::Numbers waiting[64], total;
  int depth = 0;
  for (int64_t row = 0; row * kPlacesInARow < count; ++row) {
    const int64_t first = row * kPlacesInARow, left = count - first;
    total = sum_in_a_row<V>(from, offsets + first, left < kPlacesInARow ? left : kPlacesInARow);
    for (int64_t bits = row; bits & 1; bits >>= 1) total = waiting[--depth] + total;
    waiting[depth++] = total;
  }
  while (--depth > 0) waiting[depth - 1] = waiting[depth - 1] + waiting[depth];
  return waiting[0];
}

template <typename R>
void average(const PoolRun& run, const R* x, R divisor, R* y) {
  each_block<R>(run, [&]<typename V>(int64_t o, int64_t c) {
    const R* from = x + o * run.x_step + c;
    const auto total = run.count <= kPlacesInARow ? sum_in_a_row<V>(from, run.offsets, run.count)
                                                  : sum_in_pairs<V>(from, run.offsets, run.count);
    numbers<V>(y + o * run.y_step + c) = total / divisor;
  });
}

template <typename R>
void average_gradient(const PoolRun& run, const R* y, R divisor, bool add, R* x) {
  each_block<R>(run, [&]<typename V>(int64_t o, int64_t c) {
    using Numbers = typename V::Numbers;
    const Numbers mine = numbers<V>(y + o * run.y_step + c) / divisor;
    R* to = x + o * run.x_step + c;
    for (int64_t k = 0; k < run.count; ++k) {
      Numbers& there = numbers<V>(to + run.offsets[k]);
      there = add ? there + mine : mine;
    }
  });
}

template <typename R>
consteval Pooling<R> pooling() {
  return {maximum<R, uint8_t>,          maximum<R, int32_t>, maximum_gradient<R, uint8_t>,
          maximum_gradient<R, int32_t>, average<R>,          average_gradient<R>};
}

}  // namespace

constinit const Pooling<float> pool_f32 = pooling<float>();
constinit const Pooling<double> pool_f64 = pooling<double>();

}  // namespace neon::elementwise::NEON_LEVEL
