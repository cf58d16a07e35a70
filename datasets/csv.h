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
  int64_t line = 0, column = 0;  // of its first character, from 1; the column counts bytes
  bool quoted = false;
};

class CsvReader {
 public:
  // `text` is borrowed; `name` starts messages.
  CsvReader(std::string_view text, char delimiter, std::string name);

  // The cells of the next record, good until the next call; false at the end. Throws a data error
  // (name:line:column) on a quote that does not end, text after one, or a NUL byte.
  bool next(std::vector<CsvCell>& cells);

  // Throws a data error: "data.csv:3:14: message".
  [[noreturn]] void fail_at(const CsvCell& cell, const std::string& message) const;

 private:
  CsvCell cell();
  CsvCell quoted_cell();
  bool at_line_end() const { return at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r'); }
  void take_line_end();
  int64_t column() const { return int64_t(at_ - line_start_) + 1; }

  std::string_view text_;
  char delimiter_;
  std::string name_;
  size_t at_ = 0, line_start_ = 0;
  int64_t line_ = 1;
  std::deque<std::string> unescaped_;  // cells of this record that had "" in them
};

// A number as CSV writes it ("1.5", "-2e3", "+4"), infinite or 0 where it is beyond f64; false when the whole cell is
// not one.
bool parse_number(std::string_view text, double& out);

// The same, of one that is finite in f32.
bool parse_f32(std::string_view text, double& out);
// What to say of a cell that is none: "expected a number, found 'red'", with advice for text.
std::string no_f32_text(std::string_view cell, std::string_view advice = "");

}  // namespace neon
