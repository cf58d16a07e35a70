// The rows of f64 as a device compiles them: with products and sums contracted to fma.
#include "backends/elementwise/level.h"
namespace neon::elementwise::simd_contracted {
extern const RowKernels<double> rows_f64[];
}
#include "backends/elementwise/level_rows_f64.cpp"
