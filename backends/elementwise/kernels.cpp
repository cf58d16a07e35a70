#include "backends/elementwise/kernels.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "backends/elementwise/reads.h"
#include "neon/core/error.h"

extern const char elementwise_text[];
extern const unsigned long elementwise_text_size;
extern const char coarse_text[];
extern const unsigned long coarse_text_size;

namespace neon::elementwise {

namespace {

consteval const char* derivative(const char* text) { return reads_of(text) ? text : nullptr; }

constexpr Row kRows[] = {
#define ROW(NAME, ARITY, VALUE, BY_A, BY_B, BY_C)             \
  {#NAME,                                                     \
   ARITY,                                                     \
   #VALUE,                                                    \
   {derivative(#BY_A), derivative(#BY_B), derivative(#BY_C)}, \
   {reads_of(#BY_A), reads_of(#BY_B), reads_of(#BY_C)}},
#include "backends/elementwise/table.inc"
#undef ROW
};

// Objects for one level each, chosen at run time. GCC's target_clones would choose when the program is loaded, where no
// test and no user could ask for a lower level.
#define NEON_LEVEL_ROW(level)                                                                                     \
  {                                                                                                               \
#level, simd_##level::rows_f32, simd_##level::rows_f64, &simd_##level::reduce_f32, &simd_##level::reduce_f64, \
        &simd_##level::convert_f32, &simd_##level::convert_f64, &simd_##level::random, &simd_##level::pool_f32,   \
        &simd_##level::pool_f64, &simd_##level::resizing, &simd_##level::products, &simd_##level::winograd,       \
        &simd_##level::cells, &simd_##level::signs, &simd_##level::columns_f32, &simd_##level::columns_f64        \
  }
constexpr Level kLevels[] = {NEON_LEVEL_ROW(v2), NEON_LEVEL_ROW(v3), NEON_LEVEL_ROW(v4)};

// Clang 14, which builds the fuzz targets, asks for no level by its name, nor for F16C, LZCNT and MOVBE: no processor
// has FMA, AVX2 and BMI2 without them.
#ifdef __clang__
#define NEON_HAS_V2 (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))
#define NEON_HAS_V3 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
#define NEON_HAS_V4                                                                                                 \
  (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") && \
   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
#else
#define NEON_HAS_V2 __builtin_cpu_supports("x86-64-v2")
#define NEON_HAS_V3 __builtin_cpu_supports("x86-64-v3")
#define NEON_HAS_V4 __builtin_cpu_supports("x86-64-v4")
#endif

size_t count_levels() {
  __builtin_cpu_init();
  if (!NEON_HAS_V2) {
    fail(ErrorKind::device,
         "this processor lacks SSE4.2 and popcnt: neon needs an x86-64-v2 processor (2009 or later)");
  }
  if (!NEON_HAS_V3) return 1;
  return NEON_HAS_V4 ? 3 : 2;
}

template <typename R>
const RowKernels<R>& kernels(const Row& row, const Level& level) {
  NEON_ASSERT(&row >= std::begin(kRows) && &row < std::end(kRows));
  const auto index = &row - kRows;
  if constexpr (sizeof(R) == 4) return level.rows_f32[index];
  else return level.rows_f64[index];
}

const Converters& converters(DType compute, const Level& level) {
  NEON_ASSERT(compute == DType::f32 || compute == DType::f64);
  return compute == DType::f32 ? *level.convert_f32 : *level.convert_f64;
}
// The order of the tables in level_convert.cpp.
static_assert(int(DType::f64) == 0 && int(DType::f32) == 1 && int(DType::f16) == 2 && int(DType::bf16) == 3 &&
              int(DType::i64) == 4 && int(DType::i32) == 5 && int(DType::i8) == 6 && int(DType::u8) == 7);

}  // namespace

std::span<const Row> rows() { return kRows; }

const Row* find_row(std::string_view name) {
  for (const Row& row : kRows)
    if (name == row.name) return &row;
  return nullptr;
}

const Row& row(std::string_view name) {
  if (const Row* found = find_row(name)) return *found;
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  fail(ErrorKind::config, "unknown elementwise function '", name, "'", did_you_mean(name, names));
}

std::span<const Level> levels() {
  static const size_t count = count_levels();
  return {kLevels, count};
}

const Level& level_named(std::string_view name, std::span<const Level> among) {
  for (const Level& level : among)
    if (level.name == name) return level;
  for (const Level& level : kLevels)
    if (level.name == name) {
      fail(ErrorKind::device, "NEON_SIMD=", name, ": this processor runs ", among.back().name,
           " at most; unset NEON_SIMD or name a lower level");
    }
  fail(ErrorKind::config, "NEON_SIMD=", name, ": expected an x86-64 level: v2, v3 or v4");
}

const Level& active_level() {
  static const Level& level = []() -> const Level& {
    const char* wish = std::getenv("NEON_SIMD");
    return wish && *wish ? level_named(wish) : levels().back();
  }();
  return level;
}

const Signs& fastest_signs(const Level& level) {
  return level.signs == &simd_v4::signs && __builtin_cpu_supports("avx512vpopcntdq") ? simd_v4::signs_counted
                                                                                     : *level.signs;
}

template <typename R>
BlockFunction<R> block_function(const Row& row, unsigned scalars, const Level& level) {
  NEON_ASSERT(scalars == 0 || scalars < (1u << row.arity) - 1);
  return kernels<R>(row, level).value[scalars];
}

template <typename R>
BlockFunction<R> derivative_function(const Row& row, int operand, unsigned scalars, const Level& level) {
  NEON_ASSERT(operand >= 0 && operand < row.arity && row.derivatives[operand]);
  // From positions among the inputs to operands.
  unsigned mask = 0;
  int position = 0;
  for (unsigned bit = kGradient; bit <= kOutput; bit *= 2) {
    if (!(row.reads[operand] & bit)) continue;
    if (scalars >> position++ & 1) mask |= bit;
  }
  NEON_ASSERT(scalars >> position == 0 && !(mask & (kGradient | kOutput)));
  return kernels<R>(row, level).derivative[operand][mask / kA];
}

template BlockFunction<float> block_function<float>(const Row&, unsigned, const Level&);
template BlockFunction<double> block_function<double>(const Row&, unsigned, const Level&);
template BlockFunction<float> derivative_function<float>(const Row&, int, unsigned, const Level&);
template BlockFunction<double> derivative_function<double>(const Row&, int, unsigned, const Level&);

ConvertFunction load_function(DType stored, DType compute, const Level& level) {
  return converters(compute, level).load[int(stored)];
}
ConvertFunction store_function(DType compute, DType stored, const Level& level) {
  return converters(compute, level).store[int(stored)];
}

std::string_view elementwise_source() { return {elementwise_text, elementwise_text_size}; }
std::string_view coarse_source() { return {coarse_text, coarse_text_size}; }

bool has_coarse(std::string_view expression) {
  constexpr std::string_view kOfNames = "abcdefghijklmnopqrstuvwxyz0123456789_";
  for (size_t at = 0; (at = expression.find('(', at)) != expression.npos; ++at) {
    const size_t before = expression.substr(0, at).find_last_not_of(kOfNames);
    const std::string_view name = expression.substr(before + 1, at - before - 1);
    if (!name.empty() && coarse_source().find(text("float ", name, "(")) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace neon::elementwise
