// The functions of the objects compiled for one x86-64 level. These objects include this and the .inc texts, and no
// header of the standard library. The linker could pick a header's inline function that was compiled for v4, which
// would crash an older machine.
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
  // The largest, the first of equal ones; NaN is above all. A largest that is not above `least` becomes `least`.
  void (*maximum_u8)(const PoolRun& run, const R* x, R least, R* y, uint8_t* position);
  void (*maximum_i32)(const PoolRun& run, const R* x, R least, R* y, int32_t* position);
  // Each y to the place that it came from, 0 to the others of the window; added to what is there, or in its stead.
  void (*maximum_gradient_u8)(const PoolRun& run, const R* y, const uint8_t* position, bool add, R* x);
  void (*maximum_gradient_i32)(const PoolRun& run, const R* y, const int32_t* position, bool add, R* x);
  void (*average)(const PoolRun& run, const R* x, R divisor, R* y);
  void (*average_gradient)(const PoolRun& run, const R* y, R divisor, bool add, R* x);
};

// Images brought to another size (datasets/resize.h): first along lines, then sums of lines. Weights are whole numbers
// of which 2^15 are 1; the lines between have kResizeBits bits behind the point.
constexpr int kResizeBits = 6, kResizeShift = 15 - kResizeBits;
constexpr int kResizeLines = 4;  // that are brought to their width at once
// A part of what sixteen values next to one another on the new line are the sums of: bytes of the old line, for every
// four values from sixteen of its bytes. In two parts four products each; fours lie in the order 0, 2, 1, 3.
struct alignas(32) LineWindow {
  uint8_t places[2][4][16];  // among them, of 16-bit numbers: the byte, and 128, which is a 0
  int16_t weights[2][4][8];  // of those numbers, of which two next to one another go to one value
  int32_t first[4];          // of the sixteen bytes
  bool last;                 // of these sixteen values
};
struct Resizing {
  // kResizeLines of them.
  void (*along)(const LineWindow* windows, int64_t sixteens, const uint8_t* const* lines, int16_t* const* to);
  // to[j] = sum over k < count of weights[k] * lines[k][j], j < n.
  void (*sum_lines)(const int16_t* const* lines, const int16_t* weights, int64_t count, int64_t n, uint8_t* to);
};

// Products of blocks: c[i * c_row + j], i < rows, j < columns, is the sum over k < depth of
// a[i * a_row + k * a_step] * b[k * b_step + j], or goes on from what is there. `columns` is a multiple of
// kProductColumns. Products are added one after the other, so zeros among them change no bit.
constexpr int kProductColumns = 16;
struct BlockProduct {
  int64_t rows, depth, columns, a_row, a_step, b_step, c_row;
  bool add;
};
struct Products {
  void (*multiply_f32)(const BlockProduct& product, const float* a, const float* b, float* c);
  void (*multiply_f64)(const BlockProduct& product, const double* a, const double* b, double* c);
};

// Winograd's convolution by products of 6 x 6 places: y = A' [(G w G') * (B' x B)] A, see level_winograd.cpp. Channels
// are a multiple of kWinogradChannels; place p of channel c is at p * step + c.
constexpr int kWinogradPlaces = 36, kWinogradChannels = kProductColumns;
struct Winograd {
  using Spread = void (*)(const float* const* pixels, int64_t channels, float* places, int64_t step);
  using Results = void (*)(const float* places, int64_t step, int64_t channels, const float* bias, bool relu,
                           float* const* pixels);
  Spread patch;      // 6 x 6 pixels, by B
  Spread values[4];  // 2 x 2 to 5 x 5, by G
  // 2 x 2 to 5 x 5, by A; with a bias, if not null, and then relu. `outputs` sets results to 0 that may be rounding
  // errors, because a plain sum gives 0 there: relu's derivative would be 1.
  Results results[4], outputs[4];
};

// Products of signs as bits, see level_signs.cpp. Row i of a has `words` words of 64 bits from a[i * words] on, word k
// of column j of b is b[k * kSignColumns + j].
constexpr int kSignColumns = 16;
struct SignProduct {
  int64_t rows, words, length, c_row;  // length: numbers of a row, fewer than 2^31
};
struct Signs {
  // Word k to words[k * step]: a bit is set where x < 0, and 0 behind the last number. True if one of them is NaN.
  bool (*pack)(const float* x, int64_t n, uint64_t* words, int64_t step);
  // c[i * c_row + j], i < rows, j < kSignColumns: the sum of the products of the signs.
  void (*multiply)(const SignProduct& product, const uint64_t* a, const uint64_t* b, float* c);
};

// A step of one sample of recurrent cells whose gates are logistic and whose activation is tanh, for n units: all that
// stands beside the products, in one loop (backends/graph/ops_lstm.cpp, ops_gru.cpp). Gate k of an array is `gap`
// behind gate k - 1.
template <typename T>
struct CellRow {
  T* at;
  int64_t gap;
};
using CellInput = CellRow<const float>;
using CellOutput = CellRow<float>;
// T: what arrays with a row for each step are stored as, float or the bits of bf16.
template <typename T>
struct LstmValues {
  int64_t n;
  CellRow<const T> z;
  CellInput sums;
  const float* c_before;
  CellRow<T> gates;
  float *c, *state;  // state: h as the next step reads it
  T* h;
};
template <typename T>
struct LstmGradients {
  int64_t n;
  CellRow<const T> gates;
  const float *c, *c_before;
  const T* g;
  const float* gc;   // may be null
  float *dh, *dc;    // passed by the next step; dh becomes that of the state, dc what this step passes
  CellOutput inner;  // dz before it is stored
  CellRow<T> dz;
};
struct GruValues {
  int64_t n;
  CellInput z, sums;  // sums: of the reset gate and the update gate, or of the candidate
  CellOutput gates;
  float *h, *reset;  // the state before, then the new one; what the reset gate leaves of it
};
struct GruGradients {
  int64_t n;
  CellInput gates;
  const float *h_before, *g, *of_reset;
  float *dh, *dn;  // passed by the next step, then by this one; of the candidate
  CellOutput of_gates;
};
struct Cells {
  void (*lstm)(const LstmValues<float>&);
  void (*lstm_in_bf16)(const LstmValues<uint16_t>&);
  void (*lstm_gradient)(const LstmGradients<float>&);
  void (*lstm_gradient_in_bf16)(const LstmGradients<uint16_t>&);
  void (*gru_gates)(const GruValues&);  // the two gates, and reset
  void (*gru_state)(const GruValues&);  // the candidate, and h
  void (*gru_candidate_gradient)(const GruGradients&);
  void (*gru_gates_gradient)(const GruGradients&);
};

// A part of an array whose columns have numbers of their own, such as batch norm's: one walk in place of a loop for
// each operation. With u = (x - kept[0]) * kept[1] for n numbers one after the other; those of `kept` are `width` and
// repeat. Every operation rounds as its row of table.inc does. y may be x or g.
template <typename R>
struct ColumnWalk {
  int64_t n, width;
  const R *x, *g;
  const R* kept[5];
  R slope, most, factor;  // of relu_clip, and of `gradient`
  R* y;
  R* sums[2];  // `width` each, which the walk adds to
};
template <typename R>
struct Columns {
  using Walk = void (*)(const ColumnWalk<R>&);
  Walk square_sums;   // sums of x - kept[0], and of its square
  Walk product_sums;  // sums of g, and of g u
  Walk scaled[3];     // y = u + kept[2]; of that relu; of that relu_clip
  Walk joined[3];     // the same, but g is added before the rectifier
  Walk gated[2];      // y = g times the derivative of relu, or of relu_clip, at u + kept[2]
  Walk gradient;      // y = kept[4] (g - (kept[2] + u kept[3]) factor)
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
  const Products* products;
  const Winograd* winograd;
  const Cells* cells;
  const Signs* signs;
  const Columns<float>* columns_f32;
  const Columns<double>* columns_f64;
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
    extern const Products products;             \
    extern const Winograd winograd;             \
    extern const Cells cells;                   \
    extern const Signs signs;                   \
    extern const Columns<float> columns_f32;    \
    extern const Columns<double> columns_f64;   \
  }
NEON_DECLARE_LEVEL(v2)
NEON_DECLARE_LEVEL(v3)
NEON_DECLARE_LEVEL(v4)
#undef NEON_DECLARE_LEVEL
namespace simd_v4 {
extern const Signs signs_counted;  // for processors with AVX512_VPOPCNTDQ
}

}  // namespace neon::elementwise
