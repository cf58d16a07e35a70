#include "datasets/csv_kinds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "datasets/column_notes.h"
#include "datasets/csv.h"
#include "datasets/csv_meant.h"
#include "datasets/meant_cells.h"
#include "datasets/meant_dates.h"
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

// "No.", "nr", "#", "row", "level_0", "Serial Number", "ID_code"
bool names_rows(std::string_view name) {
  constexpr std::array<std::string_view, 17> kWords = {"no",    "nr",  "num",    "number", "id",  "idx",
                                                       "index", "row", "rows",   "rownum", "obs", "serial",
                                                       "level", "key", "record", "line",   "sno"};
  bool any = false;
  std::string word;
  for (const char c : lower(name) + " ") {
    if (c >= 'a' && c <= 'z') {
      word += c;
      continue;
    }
    any = any || std::ranges::count(kWords, word) > 0;
    word.clear();
  }
  return any || name == "#";
}

const char* example_of(DateForm form) {
  if (form == DateForm::day_first) return " with the day first, such as 31/5/2024";
  return form == DateForm::month_first ? " with the month first, such as 5/31/2024" : ", such as 2024-05-31";
}

class KindFinder {
 public:
  KindFinder(const CsvParams& params, const Table& table, const TableLayout& layout, const DataContext& context)
      : params_(params),
        table_(table),
        layout_(layout),
        context_(context),
        asks_(context.rules >= kRulesOfMeantCells) {}

  std::vector<KnownColumn> run() {
    if (asks_) check_groups(params_, table_, layout_);
    for (size_t i = 0, place = 0; i < table_.columns; ++i)
      if (layout_.feature[i]) add(i, place++);
    if (out_.empty())
      fail(ErrorKind::data, table_.path, ": no columns are left; give them kinds under columns, such as category",
           table_.texts.empty() ? ""
                                : text("; for texts that each have a class: neon new text ", shell_word(table_.path)));
    return std::move(out_);
  }

 private:
  void add(size_t column, size_t place) {
    KnownColumn known;
    known.place = place, known.column = column, known.choice = layout_.kinds[column];
    const std::string& kind = known.choice.kind;
    const auto texts = table_.texts.find(place);
    if (texts == table_.texts.end()) {
      if (is_empty(place)) return leave_out(column, "it has no values");
      if (kind.empty() && counts_rows(column, place)) return;
      if (kind.empty()) note_numbers(column, place);
      known.as_is = !params_.standardize || kind == "as_is";
    } else if (!take_texts(column, kind, texts->second, known)) {
      return;
    }
    out_.push_back(std::move(known));
  }

  void leave_out(size_t column, const char* why) const {
    context_.note(text(table_.path, ": ", table_.column_text(column), " is left out: ", why));
  }

  // Numbers that may be codes or days, or say which row it is.
  void note_numbers(size_t column, size_t place) {
    if (begins_.empty()) begins_ = first_records();
    const std::string what = text(table_.path, ": ", table_.column_text(column));
    if (const std::string code = code_with_zeros(begins_, column); !code.empty())
      context_.note(text(what, ": ", in_quotes(code),
                         " is read as a number; if it is a code, give the column the kind category, under columns"));
    if (!asks_) return;
    const std::string_view name = table_.names.empty() ? "" : std::string_view(table_.names[column]);
    const bool rows = has_row_numbers(table_, place);
    const bool may_identify = names_rows(name) && table_.features.shape()[0] >= int64_t(kLeastIdentifiers);
    if (rows || (may_identify && are_different(column, place)))
      context_.note(text(what, rows ? " has the numbers of the rows" : " has whole numbers that all differ",
                         ", and is read as numbers; if it only says which row it is, leave it out: ignore: [",
                         table_.names.empty() ? text(column) : in_quotes(name), "]"));
    else if (const std::string day = day_without_marks(begins_, column); !day.empty())
      context_.note(text(what, ": ", in_quotes(day), " is read as a number; if it is a day, write it as ",
                         day.substr(0, 4), "-", day.substr(4, 2), "-", day.substr(6)));
  }

  // The cells of the first rows.
  std::vector<std::vector<std::string>> first_records() const {
    constexpr size_t kRecords = 100;
    CsvReader reader(table_.file->head(), table_.delimiter, table_.path, table_.rows_begin);
    std::vector<CsvCell> cells;
    std::vector<std::vector<std::string>> out(1);
    while (out.size() <= kRecords && reader.next(cells)) {
      out.emplace_back();
      for (const CsvCell& cell : cells) out.back().emplace_back(cell.text);
    }
    return out;
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
    if (asks_ && names_rows(name) && has_row_numbers(table_, place))
      return leave_out(column, "it has the numbers of the rows"), true;
    if ((!unnamed && !names_identifiers(name)) || !are_different(column, place)) return false;
    leave_out(column, unnamed ? "it has no name, and its whole numbers all differ" : "its whole numbers all differ");
    return true;
  }

  // Whether the numbers of a column are whole and no two are alike.
  bool are_different(size_t column, size_t place) const {
    constexpr float kAllExact = 16777216;  // 2^24: larger ones may differ and be one number in f32
    const auto features = table_.features.as<float>();
    const auto width = size_t(table_.features.shape()[1]);
    std::vector<float> all;
    for (size_t at = place; at < features.size(); at += width) {
      if (!(features[at] == std::floor(features[at]))) return false;
      all.push_back(features[at]);
    }
    std::ranges::sort(all);
    if (std::ranges::adjacent_find(all) == all.end()) return true;
    return std::max(std::abs(all.front()), std::abs(all.back())) >= kAllExact && are_different_texts(column);
  }

  bool are_different_texts(size_t column) const {
    CsvReader reader(table_.file->text(), table_.delimiter, table_.path);
    std::vector<CsvCell> cells;
    std::unordered_set<std::string> known;
    if (!table_.names.empty()) reader.next(cells);
    while (reader.next(cells))
      if (!known.insert(std::string(cells[column].text)).second) return false;
    return true;
  }

  // False: the column is left out.
  bool take_texts(size_t column, const std::string& kind, const ColumnTexts& texts, KnownColumn& known) {
    known.code.kind = ColumnKind::category;
    for (size_t k = 0; k < texts.texts.size(); ++k)
      if (!is_utf8(texts.texts[k]))
        table_.fail_at(texts.first[k], text(table_.column_text(column), ": ", no_utf8_text(texts.texts[k])));
    if (kind == "category" || kind == "one_hot" || kind == "embed") return note_alike(column, texts), true;
    if (kind == "boolean" || (kind.empty() && are_booleans(texts))) {
      known.code.kind = ColumnKind::boolean;
      check_booleans(column, texts);
      return true;
    }
    if (!kind.empty() || are_mostly_dates(texts)) {
      take_dates(column, kind, texts, known.code);
      return true;
    }
    check_numbers(column, texts);
    check_other_dates(column, texts);
    if (const auto meant = number_with_unit(texts); meant && asks_) refuse(column, texts, meant->text, meant->message);
    note_unclear_dates(column, texts);
    const bool all_differ = texts.texts.size() >= kLeastIdentifiers &&
                            std::ranges::all_of(texts.rows, [](int64_t rows) { return rows == 1; });
    if (all_differ)
      leave_out(column, "its texts all differ, as identifiers do; the kind category, under columns, keeps it");
    else note_alike(column, texts);
    return !all_differ;
  }

  void note_alike(size_t column, const ColumnTexts& texts) const {
    if (const std::string names = alike_names(texts.texts, "categories"); !names.empty())
      context_.note(text(table_.path, ": ", table_.column_text(column), ": ", names));
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

  // The share of the rows with texts whose text is so.
  static double rows_of(const ColumnTexts& texts, auto&& is_so) {
    int64_t so = 0, all = 0;
    for (size_t k = 0; k < texts.texts.size(); ++k) {
      all += texts.rows[k];
      if (is_so(texts.texts[k])) so += texts.rows[k];
    }
    return double(so) / double(std::max<int64_t>(all, 1));
  }

  // Texts that may be versions are dates where one has a day that is no month, as 28.4.13, and none is certainly a
  // version. By former rules all with dots are dates.
  bool are_mostly_dates(const ColumnTexts& texts) const {
    if (rows_of(texts, seems_date) > 0.5) return true;
    if (context_.rules < kRulesOfDeepTexts)
      return rows_of(texts, [](const auto& cell) { return may_be_date(cell) && cell.find('-') == cell.npos; }) > 0.5;
    return may_be_dates(texts) && std::ranges::any_of(texts.texts, begins_with_late_day);
  }

  static bool may_be_dates(const ColumnTexts& texts) {
    return rows_of(texts, may_be_date) > 0.5 && std::ranges::none_of(texts.texts, is_code);
  }

  void note_unclear_dates(size_t column, const ColumnTexts& texts) const {
    if (!may_be_dates(texts)) return;
    const auto first = std::ranges::find_if(texts.texts, may_be_date);
    context_.note(
        text(table_.path, ": ", table_.column_text(column), ": ", in_quotes(*first),
             " may be a date or a code, and is read as no date; if it is one, give the column a kind, such as "
             "day_first, under columns"));
  }

  static bool are_dates(const ColumnTexts& texts, DateForm form) {
    return std::ranges::all_of(texts.texts, [&](const std::string& cell) { return parse_date(cell, form).found; });
  }

  static std::optional<DateForm> form_named(const std::string& kind) {
    if (kind == "year_first") return DateForm::year_first;
    if (kind == "day_first") return DateForm::day_first;
    if (kind == "month_first") return DateForm::month_first;
    return {};
  }

  void take_dates(size_t column, const std::string& kind, const ColumnTexts& texts, ColumnCode& code) const {
    std::vector<DateForm> forms;
    for (const DateForm form : {DateForm::year_first, DateForm::day_first, DateForm::month_first})
      if (are_dates(texts, form)) forms.push_back(form);
    const std::optional<DateForm> given = form_named(kind);
    if (given) code.form = *given;
    else if (!forms.empty()) code.form = forms.front();
    if (kind.empty() && forms.empty()) refuse_other_dates(column, texts);
    if (forms.size() > 1 && !given) {
      std::vector<std::string> parts, keys;
      for (const DateForm form : forms) {
        const std::string name(name_of(form));  // "day first"
        parts.push_back(text("the ", name.substr(0, name.find(' '))));
        keys.push_back(text(name.substr(0, name.find(' ')), "_first"));
      }
      table_.fail_at(texts.first.front(), text(table_.column_text(column), ": in ", in_quotes(texts.texts.front()), ' ',
                                               join(parts, " or "), " may stand first; say which under columns: ",
                                               join(keys, " or "), "; category or ignore if they are no dates"));
    }
    code.short_years = !asks_ || given || std::ranges::any_of(texts.texts, [&](const std::string& cell) {
      return parse_date(cell, code.form).short_year;
    });
    if (const auto other = other_year(texts, code.form); other && asks_ && !given)
      refuse(column, texts, other->text, other->message);
    for (size_t k = 0; k < texts.texts.size(); ++k) {
      const ParsedDate date = parse_date(texts.texts[k], code.form);
      code.timed = code.timed || date.timed;
      if (!date.found)
        table_.fail_at(texts.first[k], text(table_.column_text(column), ": expected a date", example_of(code.form),
                                            ", found ", in_quotes(texts.texts[k])));
    }
    code.kind = ColumnKind::date;
  }

  // Most are dates: a mistake in a cell would make categories of all.
  [[noreturn]] void refuse_other_dates(size_t column, const ColumnTexts& texts) const {
    for (size_t k = 0; k < texts.texts.size(); ++k)
      if (!may_be_date(texts.texts[k]))
        refuse(column, texts, k,
               text("expected a date, as most cells have, found ", in_quotes(texts.texts[k]),
                    "; mend the cell, say under missing that it marks a missing value"));
    std::vector<DateForm> forms = {DateForm::year_first, DateForm::day_first, DateForm::month_first};
    for (size_t k = 0;; ++k) {
      std::erase_if(forms, [&](DateForm form) { return !parse_date(texts.texts[k], form).found; });
      if (forms.empty())
        refuse(column, texts, k,
               text(in_quotes(texts.texts[k]), " is a date of another form than ", in_quotes(texts.texts[0]),
                    "; write all alike, as 2024-05-31"));
    }
  }

  [[noreturn]] void refuse(size_t column, const ColumnTexts& texts, size_t k, const std::string& message) const {
    table_.fail_at(texts.first[k], text(table_.column_text(column), ": ", message,
                                        ", or give the column a kind, category or ignore, under columns"));
  }

  // Most are, or seem to be, numbers: a mistake in a cell would make categories of all.
  void check_numbers(size_t column, const ColumnTexts& texts) const {
    const auto is_number = [&](const std::string& cell) {
      double value = 0;
      return parse_number(cell, value, table_.decimal);
    };
    const auto may_be = [&](const std::string& cell) { return is_number(cell) || seems_number(cell); };
    if (rows_of(texts, may_be) <= 0.5) return;
    const auto seeming = std::ranges::find_if(
        texts.texts, [&](const std::string& cell) { return !is_number(cell) && seems_number(cell); });
    const auto k = size_t(seeming - texts.texts.begin());
    if (seeming != texts.texts.end()) refuse(column, texts, k, advice_for_number(*seeming, table_.decimal));
    const auto other = size_t(std::ranges::find_if_not(texts.texts, is_number) - texts.texts.begin());
    if (other < texts.texts.size())
      table_.fail_at(texts.first[other],
                     text(table_.column_text(column), ": expected a number, found ", in_quotes(texts.texts[other]),
                          "; the kind category, under columns, takes all cells for texts"));
  }

  // Most are, or seem to be, dates: each would be a category.
  void check_other_dates(size_t column, const ColumnTexts& texts) const {
    if (rows_of(texts, [](const std::string& cell) { return seems_date(cell) || seems_other_date(cell); }) <= 0.5)
      return;
    const auto k = size_t(std::ranges::find_if(texts.texts, seems_other_date) - texts.texts.begin());
    refuse(column, texts, k, advice_for_date(texts.texts[k]));
  }

  const CsvParams& params_;
  const Table& table_;
  const TableLayout& layout_;
  const DataContext& context_;
  const bool asks_;                               // whether cells that may be meant otherwise are refused
  std::vector<std::vector<std::string>> begins_;  // cells of the first rows, once they are asked for
  std::vector<KnownColumn> out_;
};

}  // namespace

std::vector<KnownColumn> find_kinds(const CsvParams& params, const Table& table, const TableLayout& layout,
                                    const DataContext& context) {
  return KindFinder(params, table, layout, context).run();
}

}  // namespace neon
