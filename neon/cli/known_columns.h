// The columns of a table that a net was trained with.
#pragma once
#include "neon/cli/session.h"

namespace neon {

// Throws where --set gives a parameter of the data set that says what becomes of columns another value than the run's
// spec (`before`) has: the checkpoint has the columns, and the parameter would change nothing.
void check_columns_stay(const OpenedRun& opened, const Setting& before);

}  // namespace neon
