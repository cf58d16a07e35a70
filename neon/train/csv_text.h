// Records of CSV, as neon writes them (RFC 4180).
#pragma once
#include <string>
#include <vector>

namespace neon {

// A cell: in quotes where it needs them.
std::string csv_cell(const std::string& cell);
// The cells of a record, without a line end.
std::string csv_record(const std::vector<std::string>& cells);

}  // namespace neon
