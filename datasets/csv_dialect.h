// The separators that a table is written with, as its first lines show them.
#pragma once
#include <string>
#include <string_view>

namespace neon {

// Helps of the parameters of every table.
inline constexpr const char *kDelimiterHelp =
                                "The character between cells, or tab. auto: the comma, semicolon or tab that splits "
                                "all of the first lines alike.",
                            *kDecimalHelp =
                                "The character before decimals. auto: a comma where the first lines have decimal "
                                "commas throughout, and cells are separated by something else.";

struct CsvDialect {
  char delimiter = ',', decimal = '.';
};

// `delimiter` and `decimal` are as the parameters of CSV have them; a table read before this one had the decimal
// character `earlier`. Throws a config error where cells may be separated in two ways.
CsvDialect find_dialect(std::string_view content, const std::string& name, const std::string& delimiter,
                        const std::string& decimal, char earlier = '\0');

// The decimal character of a table after one that had `earlier`: `decimal` where the spec gives one, else `earlier`.
// It is the other character where numbers have that alone, and some of them clearly. 1.100 may be 1100, so it shows
// neither.
char find_decimal(std::string_view content, char delimiter, const std::string& decimal, char earlier);

// The end of a message about a table that has one column. It names another mark that splits the first lines alike, or a
// first line that does not belong to the table; else "".
std::string other_delimiter_text(std::string_view content, char delimiter);

// Whether a number with one mark may be a whole number in groups, as 1,100.
bool may_be_grouped(std::string_view number, char mark);

// "'1.234' has a point, and ...": the message about a number with a point in a table of decimal commas.
std::string point_among_commas(std::string_view cell);

// "; this table has decimal commas: ..." for a cell that is a number with the other decimal character; else "".
std::string other_decimal_text(std::string_view cell, char decimal);

}  // namespace neon
