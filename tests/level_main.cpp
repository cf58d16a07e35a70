// The main of suites that run once for each instruction set, as NEON_SIMD says: where the processor lacks the one asked
// for, everything is skipped, counted and said.
#include "backends/elementwise/kernels.h"
#include "neon/core/error.h"
#include "tests/run_cases.h"

int main(int argc, char** argv) {
  std::string why_not;
  try {
    neon::elementwise::active_level();
  } catch (const neon::Error& error) {
    if (error.kind() != neon::ErrorKind::device) throw;
    why_not = error.what();
  }
  return run_or_skip_cases(argc, argv, why_not);
}
