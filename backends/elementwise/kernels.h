// The elementwise functions of table.inc: what each is, and its loop over a block for this machine's instruction set.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "backends/elementwise/level.h"
#include "neon/core/dtype.h"

namespace neon::elementwise {

struct Row {
  const char* name;
  int arity;                   // 1 to 3 operands: a, b, c
  const char* expression;      // C text over a, b, c of the real type R, to stand in namespace neon_math
  const char* derivatives[3];  // of the operands, over g, a, b, c, y; null where the operand has no gradient
  unsigned reads[3];           // Operand bits that each derivative reads; 0 where it is null
};

std::span<const Row> rows();
// Null if no row has that name.
const Row* find_row(std::string_view name);
// Throws a config error that gives the nearest names.
const Row& row(std::string_view name);

// The level whose loops are used: the best that this machine runs, or a lower one that the environment variable
// NEON_SIMD names ("v2", "v3", "v4"). Throws a config error when that name is unknown, a device error when it is too
// high for this machine.
const Level& active_level();
// The levels that this machine runs, lowest first.
std::span<const Level> levels();
// By name, among those; throws as active_level does.
const Level& level_named(std::string_view name, std::span<const Level> among = levels());

// The loop of a row, for R = float or double. Bit k of `scalars` says that inputs[k] is one value instead of a block.
// Where all of them are, take the loop for blocks (scalars = 0) and call it with n = 1.
template <typename R>
BlockFunction<R> block_function(const Row& row, unsigned scalars = 0, const Level& level = active_level());
// The loop of the derivative by an operand (0, 1, 2), which must have one. Bit k of `scalars` is of inputs[k] here too;
// a, b and c may be scalars, g and y not.
template <typename R>
BlockFunction<R> derivative_function(const Row& row, int operand, unsigned scalars = 0,
                                     const Level& level = active_level());

// From a stored type to the one computed with, f32 or f64; and back. The blocks must not overlap.
ConvertFunction load_function(DType stored, DType compute, const Level& level = active_level());
ConvertFunction store_function(DType compute, DType stored, const Level& level = active_level());

template <typename R>
const Pooling<R>& pooling_loops() {
  if constexpr (std::is_same_v<R, float>) return *active_level().pool_f32;
  else return *active_level().pool_f64;
}

// The level's products of signs; of v4 those that count bits by an instruction, where this processor has it.
const Signs& fastest_signs(const Level& level = active_level());

// Source for a device: everything that a row's text may call, and each row's value and derivatives as functions
// neon_math::NAME_value and so on; see row_functions.inc. It includes nothing and wants C++17 or later. Contraction to
// fma (--fmad) gives other bits than the CPU's, as exact ones.
std::string_view elementwise_source();
// To follow it: the same functions in neon_math::coarse, for results in 16 bits; see math_coarse.inc. Whether it
// differs for a row's expression.
std::string_view coarse_source();
bool has_coarse(std::string_view expression);

}  // namespace neon::elementwise
