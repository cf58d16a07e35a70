#include "datasets/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "neon/core/error.h"

namespace neon {

CsvReader::CsvReader(std::string_view text, char delimiter, std::string name)
    : text_(text), delimiter_(delimiter), name_(std::move(name)) {
  if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff"))
    fail(ErrorKind::data, name_, ": is UTF-16 text: save it as UTF-8");
}

void CsvReader::fail_at(const CsvCell& cell, const std::string& message) const {
  fail(ErrorKind::data, name_, ":", cell.line, ":", cell.column, ": ", message);
}

void CsvReader::take_line_end() {
  at_ += text_.substr(at_).starts_with("\r\n") ? 2 : 1;
  line_start_ = at_;
  ++line_;
}

bool CsvReader::next(std::vector<CsvCell>& cells) {
  cells.clear();
  unescaped_.clear();
  // Blank lines: nothing but spaces. A tab may be the delimiter, so it is not one of them.
  for (;;) {
    size_t end = text_.find_first_not_of(' ', at_);
    if (end == text_.npos) return false;
    if (text_[end] != '\n' && text_[end] != '\r') break;
    at_ = end;
    take_line_end();
  }
  for (;;) {
    cells.push_back(cell());
    if (at_ < text_.size() && text_[at_] == delimiter_) {
      ++at_;
      continue;
    }
    if (at_line_end()) take_line_end();
    return true;
  }
}

CsvCell CsvReader::cell() {
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  if (at_ < text_.size() && text_[at_] == '"') return quoted_cell();
  CsvCell out{{}, line_, column(), false};
  const size_t start = at_;
  while (at_ < text_.size() && text_[at_] != delimiter_ && !at_line_end()) {
    if (text_[at_] == '\0') fail_at({{}, line_, column(), false}, "a NUL byte: this is not text");
    ++at_;
  }
  out.text = text_.substr(start, at_ - start);
  while (out.text.ends_with(' ')) out.text.remove_suffix(1);
  return out;
}

CsvCell CsvReader::quoted_cell() {
  CsvCell out{{}, line_, column(), true};
  const size_t start = ++at_;
  bool escaped = false;
  for (;; ++at_) {
    if (at_ >= text_.size()) fail_at(out, "a quoted cell starts here and does not end");
    if (text_[at_] == '\0') fail_at({{}, line_, column(), false}, "a NUL byte: this is not text");
    if (text_[at_] == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    }
    if (text_[at_] != '"') continue;
    if (!text_.substr(at_).starts_with("\"\"")) break;
    escaped = true;
    ++at_;
  }
  out.text = text_.substr(start, at_ - start);
  ++at_;
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  if (at_ < text_.size() && text_[at_] != delimiter_ && !at_line_end())
    fail_at({{}, line_, column(), false}, "text after a quoted cell: a quote inside a cell is written twice");
  if (escaped) {
    std::string& plain = unescaped_.emplace_back();
    for (size_t i = 0; i < out.text.size(); ++i) {
      plain += out.text[i];
      if (out.text[i] == '"') ++i;
    }
    out.text = plain;
  }
  return out;
}

bool parse_number(std::string_view text, double& out) {
  const bool signed_plus = text.starts_with('+');
  if (signed_plus) text.remove_prefix(1);
  if (text.empty() || (signed_plus && text.starts_with('-'))) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  // Which does not say on which side.
  if (error == std::errc::result_out_of_range) out = std::strtod(std::string(text).c_str(), nullptr);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

bool parse_f32(std::string_view text, double& out) { return parse_number(text, out) && std::isfinite(float(out)); }

std::string no_f32_text(std::string_view cell, std::string_view advice) {
  // Ways in which tables say that there is no value.
  constexpr std::string_view kMissing[] = {"", "?", "-", ".", "NA", "N/A", "na", "n/a", "NaN", "nan", "NULL", "null"};
  double value = 0;
  if (parse_number(cell, value) && std::isinf(float(value)))
    return text("expected a number up to f32's largest, 3.4e38, found ", in_quotes(cell));
  const bool is_missing = std::ranges::count(kMissing, cell) > 0;
  return text("expected a number, found ", in_quotes(cell),
              is_missing ? "; fill in or remove rows with missing values" : advice);
}

}  // namespace neon
