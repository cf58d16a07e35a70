// Notes on cells that no training row was like.
#pragma once
#include "datasets/column_code.h"

namespace neon {

// Values are missing in so many rows, and training rows lack none.
std::string missing_note(const ColumnCode& code, int64_t rows);

// A cell in another encoding would be no category of the net's, whatever it names.
std::string no_utf8_text(std::string_view cell);

// Categories that no training row has, or a rare one of an embedded column.
struct UnknownCells {
  int64_t rows = 0, names = 0;
  std::string first;  // of the names
};
std::string unknown_note(const ColumnCode& code, const UnknownCells& cells);

}  // namespace neon
