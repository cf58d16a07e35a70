#include "datasets/csv_kinds.h"

#include <algorithm>
#include <cmath>

#include "neon/core/text.h"

namespace neon {

namespace {

constexpr size_t kLeastIdentifiers = 20;  // different texts in fewer rows may be categories

bool is_unnamed(std::string_view name) { return name.empty() || name.starts_with("Unnamed:"); }

// "id", "row_id", "PassengerId", "customerID", "user id"
bool names_identifiers(std::string_view name) {
  const std::string small = lower(name);
  if (small == "id" || small == "uuid" || small == "guid" || small == "rowid" || small == "index") return true;
  if (!small.ends_with("id") || name.size() < 4) return false;
  const char before = name[name.size() - 3], first = name[name.size() - 2];
  return before == '_' || before == ' ' || before == '-' || (first == 'I' && before >= 'a' && before <= 'z');
}

class KindFinder {
 public:
  KindFinder(const CsvParams& params, const Table& table, const TableLayout& layout, const DataContext& context)
      : params_(params), table_(table), layout_(layout), context_(context) {}

  std::vector<KnownColumn> run() {
    for (size_t i = 0, place = 0; i < table_.columns; ++i)
      if (layout_.feature[i]) add(i, place++);
    if (out_.empty())
      fail(ErrorKind::data, table_.path, ": no columns are left; give them kinds under columns, such as category");
    return std::move(out_);
  }

 private:
  void add(size_t column, size_t place) {
    KnownColumn known;
    known.place = place;
    const std::string& kind = layout_.kinds[column];
    const auto texts = table_.texts.find(place);
    if (texts == table_.texts.end()) {
      if (is_empty(place)) return leave_out(column, "it has no values");
      if (kind.empty() && counts_rows(column, place)) return;
      known.as_is = !params_.standardize || kind == "as_is";
    } else if (!take_texts(column, kind, texts->second, known)) {
      return;
    }
    out_.push_back(std::move(known));
  }

  void leave_out(size_t column, const char* why) const {
    context_.note(text(table_.path, ": ", table_.column_text(column), " is left out: ", why));
  }

  bool is_empty(size_t place) const {
    const auto features = table_.features.as<float>();
    const auto width = size_t(table_.features.shape()[1]);
    for (size_t at = place; at < features.size(); at += width)
      if (!std::isnan(features[at])) return false;
    return true;
  }

  bool counts_rows(size_t column, size_t place) const {
    const std::string_view name = table_.names.empty() ? "-" : std::string_view(table_.names[column]);
    const bool unnamed = is_unnamed(name);
    if ((!unnamed && !names_identifiers(name)) || !are_different(place)) return false;
    leave_out(column, unnamed ? "it has no name, and its whole numbers all differ" : "its whole numbers all differ");
    return true;
  }

  // Whether the numbers of a column are whole and no two are alike.
  bool are_different(size_t place) const {
    const auto features = table_.features.as<float>();
    const auto width = size_t(table_.features.shape()[1]);
    std::vector<float> all;
    for (size_t at = place; at < features.size(); at += width) {
      if (!(features[at] == std::floor(features[at]))) return false;
      all.push_back(features[at]);
    }
    std::ranges::sort(all);
    return std::ranges::adjacent_find(all) == all.end();
  }

  // False: the column is left out.
  bool take_texts(size_t column, const std::string& kind, const ColumnTexts& texts, KnownColumn& known) {
    known.code.kind = ColumnKind::category;
    for (size_t k = 0; k < texts.texts.size(); ++k)
      if (!is_utf8(texts.texts[k]))
        table_.fail_at(texts.first[k], text(table_.column_text(column), ": ", in_quotes(texts.texts[k]),
                                            " is not UTF-8; save the file as UTF-8"));
    if (kind == "category") return true;
    if (kind == "boolean" || (kind.empty() && are_booleans(texts))) {
      known.code.kind = ColumnKind::boolean;
      check_booleans(column, texts);
      return true;
    }
    if (!kind.empty() || may_be_dates(texts)) {
      take_dates(column, kind, texts, known.code);
      if (known.code.kind == ColumnKind::date) return true;
    }
    check_numbers(column, texts);
    const bool all_differ = texts.texts.size() >= kLeastIdentifiers &&
                            std::ranges::all_of(texts.rows, [](int64_t rows) { return rows == 1; });
    if (all_differ)
      leave_out(column, "its texts all differ, as identifiers do; the kind category, under columns, keeps it");
    return !all_differ;
  }

  static bool are_booleans(const ColumnTexts& texts) {
    return !texts.texts.empty() &&
           std::ranges::all_of(texts.texts, [](const std::string& cell) { return boolean_of(cell) >= 0; });
  }

  void check_booleans(size_t column, const ColumnTexts& texts) const {
    for (size_t k = 0; k < texts.texts.size(); ++k)
      if (boolean_of(texts.texts[k]) < 0)
        table_.fail_at(texts.first[k],
                       text(table_.column_text(column), ": expected a boolean, such as yes or no, found ",
                            in_quotes(texts.texts[k])));
  }

  static bool may_be_dates(const ColumnTexts& texts) {
    if (texts.texts.empty()) return false;
    for (const DateForm form : {DateForm::year_first, DateForm::day_first, DateForm::month_first})
      if (parse_date(texts.texts.front(), form).found) return true;
    return false;
  }

  static bool are_dates(const ColumnTexts& texts, DateForm form) {
    return std::ranges::all_of(texts.texts, [&](const std::string& cell) { return parse_date(cell, form).found; });
  }

  void take_dates(size_t column, const std::string& kind, const ColumnTexts& texts, ColumnCode& code) const {
    std::vector<DateForm> forms;
    for (const DateForm form : {DateForm::year_first, DateForm::day_first, DateForm::month_first})
      if (are_dates(texts, form)) forms.push_back(form);
    if (kind == "day_first") code.form = DateForm::day_first;
    else if (kind == "month_first") code.form = DateForm::month_first;
    else if (!forms.empty()) code.form = forms.front();
    if (kind.empty() && forms.empty()) return;
    if (forms.size() > 1 && kind != "day_first" && kind != "month_first")
      table_.fail_at(texts.first.front(),
                     text(table_.column_text(column), ": in ", in_quotes(texts.texts.front()),
                          " the day or the month may stand first; say which under columns: day_first or month_first"));
    for (size_t k = 0; k < texts.texts.size(); ++k) {
      const ParsedDate date = parse_date(texts.texts[k], code.form);
      code.timed = code.timed || date.timed;
      if (!date.found)
        table_.fail_at(texts.first[k], text(table_.column_text(column), ": expected a date, such as 2024-05-31, found ",
                                            in_quotes(texts.texts[k])));
    }
    code.kind = ColumnKind::date;
  }

  // Mostly numbers, with texts among them: a mistake in a cell would make categories of all numbers.
  void check_numbers(size_t column, const ColumnTexts& texts) const {
    int64_t numbers = 0, others = 0;
    size_t first = 0;
    double value = 0;
    for (size_t k = 0; k < texts.texts.size(); ++k) {
      const bool is_number = parse_number(texts.texts[k], value, table_.decimal);
      (is_number ? numbers : others) += texts.rows[k];
      if (!is_number && others == texts.rows[k]) first = k;
    }
    if (numbers > others)
      table_.fail_at(texts.first[first],
                     text(table_.column_text(column), ": expected a number, found ", in_quotes(texts.texts[first]),
                          "; the kind category, under columns, takes all cells for texts"));
  }

  const CsvParams& params_;
  const Table& table_;
  const TableLayout& layout_;
  const DataContext& context_;
  std::vector<KnownColumn> out_;
};

}  // namespace

std::vector<KnownColumn> find_kinds(const CsvParams& params, const Table& table, const TableLayout& layout,
                                    const DataContext& context) {
  return KindFinder(params, table, layout, context).run();
}

}  // namespace neon
