#include "datasets/column_code.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "datasets/column_notes.h"
#include "neon/core/counted.h"
#include "neon/core/message.h"

namespace neon {

namespace {

// Sine and cosine of a place from 0 to 1 in a period.
void put_place(double place, float*& to) {
  *to++ = float(std::sin(2 * std::numbers::pi * place));
  *to++ = float(std::cos(2 * std::numbers::pi * place));
}

void put_date(const ColumnCode& code, double days, float* to) {
  *to++ = float((days - code.mean) / code.deviation);
  const DatePlaces places = places_of(days);
  put_place(places.in_year, to);
  put_place(places.in_week, to);
  if (code.timed) put_place(places.in_day, to);
}

std::string four_digits(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.4g", value);
  return out;
}

}  // namespace

int64_t width_of(const std::vector<ColumnCode>& codes) {
  int64_t out = 0;
  for (const ColumnCode& code : codes) out += code.width();
  return out;
}

int64_t seen_width_of(const std::vector<ColumnCode>& codes) {
  int64_t out = 0;
  for (const ColumnCode& code : codes) out += code.seen_width();
  return out;
}

int64_t embedding_width(int64_t rows) {
  return std::min<int64_t>(600, std::llround(1.6 * std::pow(double(rows), 0.56)));
}

void ColumnCode::put_number(double value, float* to) const {
  if (std::isnan(value)) return put_missing(to);
  to[0] = float((value - mean) / deviation);
  if (indicator) to[1] = 0;
}

void ColumnCode::put_missing(float* to) const {
  const int64_t all = width();
  std::fill_n(to, all, 0.0f);
  if (embedded > 0) return;
  if (kind == ColumnKind::number) to[0] = float((fill - mean) / deviation);
  if (kind == ColumnKind::boolean) to[0] = float(fill);
  if (kind == ColumnKind::date) to[0] = float((fill - mean) / deviation);  // no place in year or week
  if (indicator) to[all - 1] = 1;
}

bool ColumnCode::put_text(std::string_view cell, float* to) const {
  std::fill_n(to, width(), 0.0f);
  if (kind == ColumnKind::category) {
    const auto found = std::ranges::lower_bound(categories, cell);
    if (found == categories.end() || *found != cell) return false;
    const auto k = found - categories.begin();
    if (embedded > 0) to[0] = float(k + 1);
    else to[k] = 1;
    return true;
  }
  if (kind == ColumnKind::boolean) {
    const int value = boolean_of(cell);
    to[0] = float(std::max(value, 0));
    return value >= 0;
  }
  const ParsedDate date = parse_date(cell, form);
  const bool taken = date.found && (short_years || !date.short_year || form != DateForm::year_first);
  if (taken) put_date(*this, date.days, to);
  return taken;
}

std::string ColumnCode::description() const {
  const auto moments = [&] {
    return mean == 0 && deviation == 1 ? std::string()
                                       : text(", mean ", four_digits(mean), ", deviation ", four_digits(deviation));
  };
  if (embedded > 0)
    return text("category, ", counted(int64_t(categories.size()), "value"), ", embedded in ",
                counted(embedded, "number"), "; rare, missing and unknown ones share a row of the table");
  std::string out;
  if (kind == ColumnKind::number) out = text("number", mean == 0 && deviation == 1 ? " as it is" : moments());
  if (kind == ColumnKind::boolean) out = "boolean";
  if (kind == ColumnKind::date)
    out = text(timed ? "date and time" : "date", ", around ", date_text(mean), ", deviation ", four_digits(deviation),
               " days");
  if (kind == ColumnKind::category)
    out = text(categories.size(), categories.size() == 1 ? " category (" : " categories (",
               list_text(categories, ", ", 5), ")");
  if (!indicator) return out;
  if (kind == ColumnKind::category) return out + "; one number more for missing values";
  const std::string filled = kind == ColumnKind::date ? date_text(fill) : four_digits(fill);
  return text(out, "; missing values become ", filled, ", with one number more");
}

std::string ColumnCode::unknown_text(int64_t count) const {
  const char* const s = count == 1 ? "s" : "";
  return embedded > 0 ? text("rare or unknown in training, and share", s, " a row of the table with all such values")
                      : text("no category that the net was trained with, and count", s, " as none of them");
}

std::string missing_note(const ColumnCode& code, int64_t rows) {
  return text("no value was missing in training; in ", counted(rows, "row"),
              code.embedded > 0 ? " the table's row of rare and unknown values" : " the mean, or no category,",
              " stands for it");
}

std::string no_utf8_text(std::string_view cell) {
  return text(in_quotes(cell), " is not UTF-8; save the file as UTF-8");
}

std::string unknown_note(const ColumnCode& code, const UnknownCells& cells) {
  const auto& [rows, names, first] = cells;
  return text(in_quotes(first),
              names > 1   ? text(" and others, in ", rows, " rows, are ")
              : rows == 1 ? text(" is ")
                          : text(", in ", rows, " rows, is "),
              code.unknown_text(names));
}

int boolean_of(std::string_view cell) {
  constexpr std::array<std::array<std::string_view, 2>, 6> kPairs = {
      {{"false", "true"}, {"no", "yes"}, {"off", "on"}, {"f", "t"}, {"n", "y"}, {"0", "1"}}};
  if (cell.size() > 5) return -1;
  const std::string small = lower(cell);
  for (const auto& pair : kPairs)
    for (int value = 0; value < 2; ++value)
      if (pair[size_t(value)] == small) return value;
  return -1;
}

}  // namespace neon
