// Notes on cells that no training row was like.
#pragma once
#include "datasets/column_code.h"

namespace neon {

// Values are missing in so many rows, and training rows lack none.
std::string missing_note(const ColumnCode& code, int64_t rows);

}  // namespace neon
