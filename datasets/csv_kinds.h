// The kinds of a table's columns, as `columns` names them or their cells show them.
#pragma once
#include <vector>

#include "datasets/csv_table.h"

namespace neon {

// A column that the net sees.
struct KnownColumn {
  size_t place = 0;    // among the features of the table
  ColumnCode code;     // its kind, and the form of its dates; the training rows give the rest
  bool as_is = false;  // numbers that stay as they are
  size_t column = 0;   // of the table
  ColumnChoice choice = {};
};

// Leaves out columns without a name that count the rows, and identifiers; notes say which. Throws a data error for a
// cell that does not fit its column's kind, and a config error where all cells of a column fit two kinds of dates.
std::vector<KnownColumn> find_kinds(const CsvParams& params, const Table& table, const TableLayout& layout,
                                    const DataContext& context);

// Sets the categories, means and deviations of the columns from rows (n, features) of the table.
void learn_codes(const CsvParams& params, const Table& table, const Tensor& rows, std::vector<KnownColumn>& columns,
                 const DataContext& context);

// Looks at rows (n, features) of a table, in parts, from which the columns were not learned. Throws a data error for a
// text that is no boolean or no date. Notes tell missing values and categories that no row had from which they were
// learned; those that most_categories leaves out aside.
void check_codes(const CsvParams& params, const Table& table, const std::vector<Tensor>& parts,
                 const std::vector<KnownColumn>& columns, const DataContext& context);

// Rows (n, features) of a table as the numbers that the net sees, (n, width). They may be the same array, changed.
Tensor encoded_rows(const Table& table, const Tensor& rows, const std::vector<KnownColumn>& columns);

}  // namespace neon
