// Tables whose rows follow one another in time, with the columns that parameters choose.
#pragma once
#include <string>
#include <vector>

#include "datasets/csv_table.h"

namespace neon {

// Columns by their use.
struct SeriesColumns {
  std::vector<std::string> columns;  // numbers, by name or index; empty: all that are not `ignore`, `texts` or target
  std::vector<std::string> ignore;
  std::vector<std::string> targets;  // more numbers, which may be among `columns`
  std::vector<std::string> texts;    // columns that stay texts
  std::string header = "auto", delimiter = "auto", decimal = "auto";
  std::vector<std::string> missing = default_missing_marks();
  // The numbers that a net was trained with: names that stand for `columns` in a table with a header, in their order.
  std::vector<std::string> trained = {};
  char earlier_decimal = '\0';        // that the table to train with had
  bool asks_about_groups = false;     // refuses a column such as 3.518 and 366, whose numbers may be thousands
  const char* text_parameter = "id";  // that names `texts`, in messages
};

struct SeriesTable {
  std::string path;
  std::vector<std::string> names;  // of all columns; empty without a header
  size_t columns = 0;
  char delimiter = ',', decimal = '.';
  std::vector<size_t> features, targets, texts;  // places of columns; features in their order, or as trained
  Tensor numbers;                                // (rows, features + targets) f32
  std::vector<std::vector<std::string>> cells;   // of each of `texts`, by row
  std::vector<size_t> begins;                    // of rows, in the text of the file
  std::shared_ptr<const TextFile> file;          // of the text, unless the caller has it
  std::shared_ptr<const std::string> made;       // of the text that stands for an array
  std::string_view content;
  int64_t rows() const { return numbers.empty() ? 0 : numbers.shape()[0]; }
  // "a.csv:3:1", of a row.
  std::string place(int64_t row) const;
  // "'price'", or "2" without a header.
  std::string name_of(size_t column) const;
  // So that predict finds the columns in another table.
  TableColumns described() const;
};

// Throws a data error with file:line:column for a cell that is no number, a config error for a column that is not there
// and for a first line that may be a header or a sample.
SeriesTable read_series(const std::string& path, const SeriesColumns& columns);
// The same of text in memory; `name` stands for its path.
SeriesTable read_series_text(std::string_view content, const std::string& name, const SeriesColumns& columns);

// The mean and deviation of each of `columns` of rows (n, all) f32. A column whose numbers are alike has deviation 1.
Standard standard_of(const Tensor& rows, int64_t first, int64_t count, const std::vector<int64_t>& columns);
// Whether a column of rows (n, all) f32 has only zeros and ones. A target of these stays as it is: costs and metrics of
// yes and no compare with them.
bool has_zeros_and_ones(const Tensor& rows, int64_t column);
// Brings rows of so many numbers as `standard` has to its mean and deviation, in place.
void bring_to(const Standard& standard, std::span<float> rows);
// Whether the net that goes on has numbers of its own for so many columns. A config error where they are of others;
// `source` is the table's.
bool has_standard(const std::optional<Standard>& former, int64_t columns, const std::string& source);

}  // namespace neon
