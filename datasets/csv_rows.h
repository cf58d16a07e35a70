// The rows of a CSV file, below its header, read by all threads.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "datasets/csv.h"
#include "datasets/csv_table.h"

namespace neon {

class CsvRows {
 public:
  // `first` has the cells of the file's first line. All are borrowed.
  CsvRows(const CsvParams& params, const MissingMarks& missing, const TableLayout& layout,
          const std::vector<CsvCell>& first);

  // Reads from byte `begin` of the file's text to its end into features, texts, targets and their memory; the rest of
  // the table is known. A column that may have any cells is read as texts where its first cells are texts. Where a text
  // comes later, all rows are read again. A file that is not held is read in pieces. Its whole text is read where a
  // fault is to be reported, and where a quote within a cell misled the search for the end of a piece. Threads read
  // parts of a file; one thread reads all where a part would begin in a quoted cell.
  void read(size_t begin, Table& table);

 private:
  struct Part;
  void read_all(Table& table);
  void read_table(std::vector<Part>& parts, Table& table);
  void move_up(const std::vector<Part>& parts, Table& table) const;
  std::vector<Part> parts_of(const Table& table, size_t most_parts);
  void place(std::vector<Part>& parts, Table& table);
  void read_parts(std::vector<Part>& parts, Table& table) const;
  void read_part(Part& part, const Table& table) const;
  void read_row(CsvReader& reader, Part& part, const Table& table) const;
  void read_cell(CsvReader& reader, size_t column, Part& part, const Table& table, float& to) const;
  std::string_view target(const CsvCell& cell, Part& part, const Table& table) const;
  [[noreturn]] void fail_at_cell(const CsvReader& reader, const CsvCell& cell, size_t column, const Table& table,
                                 const char* advice) const;
  void expect_texts(const Table& table);
  void check_expected(const Table& table) const;
  [[noreturn]] void refuse_text(size_t at, size_t column, const Table& table) const;
  bool found_texts(const std::vector<Part>& parts, const Table& table);
  static void join_texts(std::vector<Part>& parts, Table& table);

  const CsvParams& params_;
  const MissingMarks& missing_;
  const TableLayout& layout_;
  const std::vector<CsvCell>& first_;
  std::vector<CellUse> use_;              // by column
  std::set<size_t> expected_;             // columns whose first cells are texts
  std::vector<size_t> place_;             // by column: among the features
  std::vector<size_t> target_;            // by column: among the targets
  bool quoted_ = false;                   // a quote stands somewhere
  std::vector<size_t> numbers_in_a_row_;  // by column: columns of numbers from this one on, the row's last aside
};

}  // namespace neon
