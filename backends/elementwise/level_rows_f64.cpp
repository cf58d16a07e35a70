#define NEON_REAL double
#define NEON_TABLE rows_f64
#include "backends/elementwise/level_rows.inc"
