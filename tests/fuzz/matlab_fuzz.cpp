// Whatever bytes stand in a MATLAB file, reading it gives structs that all have the same fields, or a data error.
#include <cstddef>
#include <cstdint>

#include "datasets/matlab.h"
#include "neon/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto structs = neon::read_matlab_structs({reinterpret_cast<const char*>(data), size}, "synsets", "input");
    for (const neon::MatlabStruct& one : structs) {
      NEON_ASSERT(one.size() == structs.front().size() && !one.empty());
      for (const auto& [name, value] : one)
        NEON_ASSERT(structs.front().count(name) && (value.numbers.empty() || value.text.empty()));
    }
  } catch (const neon::Error& error) {
    if (error.kind() != neon::ErrorKind::data) throw;
  }
  return 0;
}
