#include "datasets/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "datasets/byte_search.h"
#include "datasets/short_numbers.h"
#include "neon/core/error.h"

namespace neon {

namespace {

// Length of the line end that starts `rest`: "\n", "\r\n" or "\r"; 0: none.
size_t line_end_length(std::string_view rest) {
  if (rest.starts_with("\r\n")) return 2;
  return rest.starts_with('\n') || rest.starts_with('\r') ? 1 : 0;
}

}  // namespace

CsvReader::CsvReader(std::string_view text, char delimiter, std::string name, size_t begin, size_t end)
    : text_(text), delimiter_(delimiter), name_(std::move(name)), at_(begin), end_(std::min(end, text.size())) {
  constexpr std::string_view kInNumbers = "+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  delimiter_ends_number_ = kInNumbers.find(delimiter) == kInNumbers.npos;
  if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff"))
    fail(ErrorKind::data, name_, ": is UTF-16 text: save it as UTF-8");
  if (at_ == 0 && text_.starts_with("\xef\xbb\xbf")) at_ = 3;
}

int64_t CsvReader::line(size_t at, KnownLine& known) const {
  if (at < known.begin) known = {};
  const char *const begin = text_.data(), *const end = begin + std::min(at, text_.size());
  for (const char* i = begin + known.begin; (i = find_first_of(i, end, '\n', '\r')) < end;) {
    i += line_end_length(text_.substr(size_t(i - begin)));
    if (i > end) break;  // `at` is within a line end
    ++known.line;
    known.begin = size_t(i - begin);
  }
  return known.line;
}

int64_t CsvReader::line(size_t at) const {
  KnownLine first;
  return line(at, first);
}

std::string CsvReader::place(size_t at) const {
  KnownLine first;
  return place(at, first);
}

std::string CsvReader::place(size_t at, KnownLine& known) const {
  size_t start = at;
  while (start > 0 && text_[start - 1] != '\n' && text_[start - 1] != '\r') --start;
  if (start == 0 && text_.starts_with("\xef\xbb\xbf")) start = std::min<size_t>(at, 3);
  return neon::text(name_, ":", line(at, known), ":", at - start + 1);
}

void CsvReader::fail_at(size_t at, const std::string& message) const {
  fail(ErrorKind::data, place(at), ": ", message);
}

void CsvReader::take_line_end() { at_ += line_end_length(text_.substr(at_, end_ - at_)); }

void CsvReader::skip_spaces() {
  while (at_ < end_ && text_[at_] == ' ') ++at_;
}

bool CsvReader::start_record() {
  unescaped_.clear();
  // Blank lines: nothing but spaces. A tab may be the delimiter, so it is not one of them.
  for (;;) {
    const size_t start = at_;
    skip_spaces();
    if (at_ >= end_) return false;
    if (!at_line_end()) {
      at_ = start;
      return true;
    }
    take_line_end();
  }
}

bool CsvReader::another_cell() {
  if (at_ < end_ && text_[at_] == delimiter_) {
    ++at_;
    return true;
  }
  if (at_line_end()) take_line_end();
  return false;
}

bool CsvReader::next(std::vector<CsvCell>& cells) {
  cells.clear();
  if (!start_record()) return false;
  do {
    if (cells.size() == kMostCells) fail_at(at_, neon::text("this row has more than ", kMostCells, " cells"));
    cells.push_back(cell());
  } while (another_cell());
  return true;
}

// Goes to the delimiter or line end behind an unquoted cell.
void CsvReader::find_cell_end() {
  const char* const bytes = text_.data();
  at_ = size_t(find_first_of(bytes + at_, bytes + end_, delimiter_, '\n', '\r', '\0') - bytes);
  if (at_ < end_ && bytes[at_] == '\0' && delimiter_ != '\0') fail_at(at_, "a NUL byte: this is not text");
}

CsvCell CsvReader::cell() {
  skip_spaces();
  if (at_ < end_ && text_[at_] == '"') return quoted_cell();
  CsvCell out{{}, at_, false};
  find_cell_end();
  out.text = text_.substr(out.at, at_ - out.at);
  while (out.text.ends_with(' ')) out.text.remove_suffix(1);
  return out;
}

void CsvReader::skip_cell() {
  skip_spaces();
  if (at_ < end_ && text_[at_] == '"') quoted_cell();
  else find_cell_end();
}

bool CsvReader::take_f32(float& out) {
  if (!delimiter_ends_number_) return false;
  const char *from = text_.data() + at_, *const end = text_.data() + end_;
  while (from < end && *from == ' ') ++from;
  if (from < end && *from == '+' && from + 1 < end && from[1] != '-') ++from;
  double value = 0;
  const bool inside = from - text_.data() >= kBytesBefore && end - from >= kBytesBehind;
  const char* rest = inside ? read_short_number(from, value) : nullptr;
  if (!rest) {
    const auto [after, error] = std::from_chars(from, end, value);
    if (error != std::errc() || !std::isfinite(float(value))) return false;
    rest = after;
  }
  while (rest < end && *rest == ' ' && delimiter_ != ' ') ++rest;
  if (rest < end && *rest != delimiter_ && *rest != '\n' && *rest != '\r') return false;
  out = float(value);
  at_ = size_t(rest - text_.data());
  return true;
}

size_t CsvReader::take_short_f32s(float* to, size_t most) {
  if (!delimiter_ends_number_) return 0;
  const char* from = text_.data() + at_;
  const size_t count = read_short_numbers(from, text_.data(), text_.data() + end_, delimiter_, to, most);
  at_ = size_t(from - text_.data());
  return count;
}

CsvCell CsvReader::quoted_cell() {
  CsvCell out{{}, at_, false};
  const size_t start = ++at_;
  const char* const bytes = text_.data();
  for (;; ++at_) {
    at_ = size_t(find_first_of(bytes + at_, bytes + end_, '"', '\0') - bytes);
    if (at_ >= end_) fail_at(out.at, "a quoted cell starts here and does not end");
    if (bytes[at_] == '\0') fail_at(at_, "a NUL byte: this is not text");
    if (at_ + 1 >= end_ || text_[at_ + 1] != '"') break;
    out.escaped = true;
    ++at_;
  }
  out.text = text_.substr(start, at_ - start);
  ++at_;
  if (delimiter_ != ' ') skip_spaces();
  if (at_ < end_ && text_[at_] != delimiter_ && !at_line_end())
    fail_at(at_, "text after a quoted cell: a quote inside a cell is written twice");
  if (out.escaped) {
    std::string& plain = unescaped_.emplace_back();
    for (size_t i = 0; i < out.text.size(); ++i) {
      plain += out.text[i];
      if (out.text[i] == '"') ++i;
    }
    out.text = plain;
  }
  return out;
}

}  // namespace neon
