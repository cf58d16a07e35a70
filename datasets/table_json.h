// The columns of a table, as a checkpoint stores them.
#pragma once
#include <nlohmann/json.hpp>

#include "datasets/sample_meaning.h"

namespace neon {

nlohmann::json table_json(const TableColumns& table);
// Throws a data error, or an error of the library, where the object does not describe columns.
TableColumns read_table_columns(const nlohmann::json& object);

// A number is stored as the shortest text that reads back to the same bits. Throws a data error for any other text.
double read_stored_number(const nlohmann::json& value);

}  // namespace neon
