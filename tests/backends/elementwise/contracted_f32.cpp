// The rows of f32 as a device compiles them: with products and sums contracted to fma.
#include "backends/elementwise/level.h"
namespace neon::elementwise::simd_contracted {
extern const RowKernels<float> rows_f32[];
}
#include "backends/elementwise/level_rows_f32.cpp"
