// The columns of a CSV file that parameters name.
#pragma once
#include <string>
#include <vector>

#include "datasets/csv.h"
#include "datasets/csv_table.h"

namespace neon {

char delimiter_of(const std::string& written);

// Whether the parameters name a column by anything but its index, so that the first line must be a header.
bool names_columns(const CsvParams& params);

// Names of a header's cells; no two are equal.
std::vector<std::string> header_names(const std::vector<CsvCell>& cells, const CsvReader& reader);

// The index of the column of that name or index; a config error that begins with the parameter's name if it is not
// there.
size_t column_at(const Table& table, const std::string& written, const char* parameter);

// By names and indices; `table` has path, names and the number of columns.
// The columns of `former`, if given, are the features, in place of those that the parameters leave. `plain`: all of
// them are numbers.
TableLayout layout_of(const CsvParams& params, const Table& table, const TableColumns* former, bool plain);

}  // namespace neon
