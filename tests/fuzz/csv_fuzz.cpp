// Whatever bytes stand in a CSV file, reading it gives cells whose places are right, or a data error.
#include <cstddef>
#include <cstdint>

#include "datasets/csv.h"
#include "datasets/table_cell.h"
#include "neon/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The first byte chooses the delimiter.
  const char delimiters[] = {',', ';', '\t', ' '};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    neon::CsvReader reader(text, delimiters[data[0] % 4], "input");
    std::vector<neon::CsvCell> cells;
    size_t before = 0, total = 0;
    while (reader.next(cells)) {
      NEON_ASSERT(!cells.empty());
      for (const neon::CsvCell& cell : cells) {
        NEON_ASSERT(cell.at >= before && cell.at <= text.size());
        before = cell.at;
        total += cell.text.size();
        double value = 0;
        neon::parse_number(cell.text, value);
      }
    }
    NEON_ASSERT(total <= text.size());
  } catch (const neon::Error& error) {
    if (error.kind() != neon::ErrorKind::data) throw;
  }
  return 0;
}
