// What the objects compiled for one x86-64 level offer. They include this and the .inc texts, and no header of the
// standard library: an inline function of it, compiled for v4 and picked by the linker, would crash an older machine.
#pragma once
#include <stdint.h>

namespace neon::elementwise {

// Operands of a derivative, as bits. Its block function takes those it reads as inputs, lowest bit first: g first, y
// last.
enum Operand : unsigned { kGradient = 1, kA = 2, kB = 4, kC = 8, kOutput = 16 };

// y[i] = f(inputs[0][i], ...), i < n; the block of an input that the mask calls scalar is one value. y may be the same
// block as an input, but not overlap one otherwise. Blocks that start at a multiple of 64 bytes are fastest.
template <typename R>
using BlockFunction = void (*)(const R* const* inputs, R* y, int64_t n);

// By mask: bit 0 is set where a is a scalar, bit 1 for b, bit 2 for c. Null where every operand would be one, for
// values, and where the mask names an operand that the function does not read.
template <typename R>
struct RowKernels {
  BlockFunction<R> value[8], derivative[3][8];
};

// Sixteen running results, one per index modulo 16, joined in a fixed tree: the same bits at every level.
template <typename R>
struct Reductions {
  R (*sum)(const R* x, int64_t n);           // 0 for n = 0
  R (*maximum)(const R* x, int64_t n);       // -inf for n = 0; NaN when one is
  R (*minimum)(const R* x, int64_t n);       // inf for n = 0; NaN when one is
  int64_t (*argmax)(const R* x, int64_t n);  // the first of the largest, or the first NaN; 0 < n < 2^31
  int64_t (*argmin)(const R* x, int64_t n);
};

// to[i] = from[i], i < n, with the roundings of load_as and store_as in neon/core/dtype.h.
using ConvertFunction = void (*)(const void* from, void* to, int64_t n);
// By the number of the stored DType.
struct Converters {
  ConvertFunction load[8], store[8];
};

// Element e of a stream is what the e-th call of bits() on neon::Stream(seed, name, step) gives.
struct RandomKey {
  uint64_t seed, id, step;  // id: hash_name(name)
};
struct Random {
  void (*bits)(RandomKey key, uint64_t first, uint32_t* y, int64_t n);
  // uniform_from_bits of them, in [0, 1): 24 bits in either type.
  void (*uniform_f32)(RandomKey key, uint64_t first, float* y, int64_t n);
  void (*uniform_f64)(RandomKey key, uint64_t first, double* y, int64_t n);
};

// Pooling windows side by side: output o and channel c are y[o * y_step + c], and see the elements
// x[o * x_step + offsets[k] + c], k < count, count > 0. places[k] is where in the window element k stands.
struct PoolRun {
  const int64_t* offsets;
  const int32_t* places;
  int64_t count, outputs, channels, x_step, y_step;
};
template <typename R>
struct Pooling {
  // The largest, the first of equal ones; NaN is above all. What is not above `least` becomes it.
  void (*maximum_u8)(const PoolRun& run, const R* x, R least, R* y, uint8_t* position);
  void (*maximum_i32)(const PoolRun& run, const R* x, R least, R* y, int32_t* position);
  // Each y to the place that it came from, 0 to the others of the window; added to what is there, or in its stead.
  void (*maximum_gradient_u8)(const PoolRun& run, const R* y, const uint8_t* position, bool add, R* x);
  void (*maximum_gradient_i32)(const PoolRun& run, const R* y, const int32_t* position, bool add, R* x);
  void (*average)(const PoolRun& run, const R* x, R divisor, R* y);
  void (*average_gradient)(const PoolRun& run, const R* y, R divisor, bool add, R* x);
};

// Images brought to another size (datasets/resize.h): first sums of lines, then of neighbours along one.
struct Resizing {
  // sums[j] = sum over k < count of weights[k] * from[k * stride + j], j < n, in the order of k.
  void (*sum_lines)(const uint8_t* from, int64_t stride, const float* weights, int64_t count, int64_t n, float* sums);
  // Pixel i < places of 1 or 3 channels: the sum over k < count of its k-th weight times pixel first[i] + k of `line`,
  // in the order of k, rounded to the nearest byte, in whose range it lies. For two pixels at a time there is each
  // weight of the first four times, then that of the second; four numbers behind `line` may be read.
  void (*across)(const int64_t* first, int64_t places, int64_t count, const float* weights, const float* line,
                 int64_t channels, uint8_t* to);
};

// All of it. Rows are in the order of table.inc.
struct Level {
  const char* name;  // "v2"
  const RowKernels<float>* rows_f32;
  const RowKernels<double>* rows_f64;
  const Reductions<float>* reduce_f32;
  const Reductions<double>* reduce_f64;
  const Converters* convert_f32;
  const Converters* convert_f64;
  const Random* random;
  const Pooling<float>* pool_f32;
  const Pooling<double>* pool_f64;
  const Resizing* resizing;
};

#define NEON_DECLARE_LEVEL(level)               \
  namespace simd_##level {                      \
    extern const RowKernels<float> rows_f32[];  \
    extern const RowKernels<double> rows_f64[]; \
    extern const Reductions<float> reduce_f32;  \
    extern const Reductions<double> reduce_f64; \
    extern const Converters convert_f32;        \
    extern const Converters convert_f64;        \
    extern const Random random;                 \
    extern const Pooling<float> pool_f32;       \
    extern const Pooling<double> pool_f64;      \
    extern const Resizing resizing;             \
  }
NEON_DECLARE_LEVEL(v2)
NEON_DECLARE_LEVEL(v3)
NEON_DECLARE_LEVEL(v4)
#undef NEON_DECLARE_LEVEL

}  // namespace neon::elementwise
