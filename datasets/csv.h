// Delimited text, record by record (RFC 4180: quoted cells, "" in them, line breaks in them; LF, CRLF or CR;
// a UTF-8 byte order mark). Blank lines are skipped; spaces around an unquoted cell are not part of it.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace neon {

struct CsvCell {
  std::string_view text;
  size_t at = 0;         // byte of its first character, in the text that the reader was given
  bool escaped = false;  // the cell had "" in it: `text` is a copy that the reader owns until its next record
};

class CsvReader {
 public:
  // Reads the bytes [begin, end) of `text`, which is borrowed; a record begins at `begin`. `name` starts messages.
  CsvReader(std::string_view text, char delimiter, std::string name, size_t begin = 0,
            size_t end = std::string_view::npos);

  // The cells of the next record, good until the next call; false at the end. Throws a data error
  // (name:line:column) on a quote that does not end, text after a quoted cell, a NUL byte, or more than kMostCells.
  bool next(std::vector<CsvCell>& cells);
  static constexpr size_t kMostCells = size_t(1) << 22;

  // The same cell by cell. After start_record(), cell(), skip_cell() or take_f32() reads each cell. Then another_cell()
  // says whether the record has one more. start_record() returns false at the end.
  bool start_record();
  CsvCell cell();
  void skip_cell();
  // Reads the next cell where it is an unquoted number that is finite in f32; otherwise leaves it, and returns false.
  bool take_f32(float& out);
  // Reads up to `most` cells that are short numbers and have another cell behind them, and goes to that cell. Returns
  // how many; the first of any other kind is left.
  size_t take_short_f32s(float* to, size_t most);
  bool another_cell();

  // Where the next cell, or the rest of its spaces, begins; a place to go back to.
  size_t at() const { return at_; }
  void go_to(size_t at) { at_ = at; }

  // "data.csv:3:14", of a byte of the text: lines and columns count from 1, columns in bytes.
  std::string place(size_t at) const;
  int64_t line(size_t at) const;
  // The same for one place after the other, without counting again from the start of the text: `known` is of the place
  // before, and becomes that of this one.
  struct KnownLine {
    size_t begin = 0;
    int64_t line = 1;
  };
  std::string place(size_t at, KnownLine& known) const;
  int64_t line(size_t at, KnownLine& known) const;
  // Throws a data error: "data.csv:3:14: message".
  [[noreturn]] void fail_at(size_t at, const std::string& message) const;

 private:
  CsvCell quoted_cell();
  bool at_line_end() const { return at_ < end_ && (text_[at_] == '\n' || text_[at_] == '\r'); }
  void take_line_end();
  void skip_spaces();
  void find_cell_end();

  std::string_view text_;
  char delimiter_;
  std::string name_;
  size_t at_ = 0, end_ = 0;
  bool delimiter_ends_number_;         // false: a digit, a letter, a sign or a point separates cells
  std::deque<std::string> unescaped_;  // cells of this record that had "" in them
};

}  // namespace neon
