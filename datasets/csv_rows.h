// The rows of a CSV file, below its header, read by all threads.
#pragma once
#include <string>
#include <vector>

#include "datasets/csv.h"
#include "datasets/csv_table.h"

namespace neon {

class CsvRows {
 public:
  // `first` has the cells of the file's first line, and `header` the parameter of that name; all are borrowed.
  CsvRows(const std::string& header, const MissingMarks& missing, const TableLayout& layout,
          const std::vector<CsvCell>& first);

  // Reads from byte `begin` of the file's text to its end into features, targets and unescaped; the rest of the table
  // is known.
  void read(size_t begin, Table& table) const;

 private:
  struct Part;
  std::vector<Part> parts_of(size_t begin, const Table& table) const;
  void read_part(Part& part, const Table& table) const;
  void read_row(CsvReader& reader, Part& part, const Table& table) const;
  static std::string_view target(const CsvCell& cell, Part& part);
  float read_number(CsvReader& reader, size_t column, const Table& table) const;

  const std::string& header_;
  const MissingMarks& missing_;
  const TableLayout& layout_;
  const std::vector<CsvCell>& first_;
  std::vector<size_t> features_in_a_row_;  // by column: from this one on, the row's last column aside
};

}  // namespace neon
