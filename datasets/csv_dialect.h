// The separators that a table is written with, as its first lines show them.
#pragma once
#include <string>
#include <string_view>

namespace neon {

struct CsvDialect {
  char delimiter = ',', decimal = '.';
};

// `delimiter` and `decimal` are as the parameters of CSV have them. Throws a config error where cells may be separated
// in two ways.
CsvDialect find_dialect(std::string_view content, const std::string& name, const std::string& delimiter,
                        const std::string& decimal);

// Whether the cells between such delimiters have decimal commas, and none a decimal point.
bool has_decimal_commas(std::string_view content, char delimiter);
bool has_decimal_points(std::string_view content, char delimiter);

}  // namespace neon
