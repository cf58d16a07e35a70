#define NEON_REAL float
#define NEON_TABLE rows_f32
#include "backends/elementwise/level_rows.inc"
