// Columns are learned from the training rows of a table; rows become the numbers that a net sees.
#include <algorithm>
#include <cmath>

#include "datasets/column_notes.h"
#include "datasets/csv_kinds.h"
#include "datasets/f32_steps.h"
#include "neon/core/counted.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

// Mean and deviation (of all, not of a sample) of the values that are there.
struct Moments {
  int64_t count = 0, missing = 0;
  double mean = 0, deviation = 1;
  bool constant = true;
  // 1 where all values are alike. The mean of such f64 may be rounded.
  void set_deviation(double squares, bool alike = false) {
    const double found = alike ? 0 : std::sqrt(squares / double(count));
    constant = !(found > 0);
    deviation = constant ? 1 : found;
  }
};

Moments moments_of(int64_t rows, auto&& value) {
  Moments out;
  double sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
  for (int64_t row = 0; row < rows; ++row) {
    const double x = value(row);
    if (std::isnan(x)) ++out.missing;
    else ++out.count, sum += x, least = std::min(least, x), most = std::max(most, x);
  }
  if (out.count == 0) return out;
  out.mean = sum / double(out.count);
  for (int64_t row = 0; row < rows; ++row)
    if (const double x = value(row); !std::isnan(x)) squares += (x - out.mean) * (x - out.mean);
  out.set_deviation(squares, least == most);
  return out;
}

// The same of each column of `cells` (rows, width). A thread walks over the rows with some columns, all of a cache
// line at least, so that each line is read once.
std::vector<Moments> moments_of_columns(std::span<const float> cells, size_t width) {
  constexpr size_t kLeastColumns = 32;
  const size_t rows = cells.size() / std::max<size_t>(width, 1);
  std::vector<Moments> out(width);
  std::vector<double> sums(width), squares(width), missing(width);
  const auto threads = size_t(available_threads());
  const size_t step = std::max(kLeastColumns, (width + threads - 1) / threads);
#pragma omp parallel for num_threads(int(threads))
  for (size_t begin = 0; begin < width; begin += step) {
    const size_t end = std::min(width, begin + step);
    for (size_t row = 0; row < rows; ++row)
      for (size_t k = begin; k < end; ++k) {
        const double x = double(cells[row * width + k]);
        sums[k] += std::isnan(x) ? 0 : x;
        missing[k] += std::isnan(x) ? 1 : 0;
      }
    for (size_t k = begin; k < end; ++k) {
      out[k].missing = int64_t(missing[k]);
      out[k].count = int64_t(rows) - out[k].missing;
      if (out[k].count > 0) out[k].mean = sums[k] / double(out[k].count);
    }
    for (size_t row = 0; row < rows; ++row)
      for (size_t k = begin; k < end; ++k) {
        const double x = double(cells[row * width + k]) - out[k].mean;
        squares[k] += std::isnan(x) ? 0 : x * x;
      }
    for (size_t k = begin; k < end; ++k)
      if (out[k].count > 0) out[k].set_deviation(squares[k]);
  }
  return out;
}

class CodeLearner {
 public:
  CodeLearner(const CsvParams& params, const Table& table, const Tensor& rows, const DataContext& context)
      : params_(params),
        table_(table),
        rows_(rows.as<float>()),
        count_(rows.shape()[0]),
        width_(rows.shape()[1]),
        context_(context),
        numbers_(moments_of_columns(rows_, size_t(width_))) {}

  void learn(KnownColumn& column) const {
    const auto cell = [&](int64_t row) { return double(rows_[size_t(row * width_) + column.place]); };
    const auto found = table_.texts.find(column.place);
    const ColumnTexts* const texts = found == table_.texts.end() ? nullptr : &found->second;
    ColumnCode& code = column.code;
    if (code.kind == ColumnKind::category) return learn_categories(column, *texts, cell);
    std::vector<double> values;  // of the texts
    for (size_t k = 0; texts && k < texts->texts.size(); ++k)
      values.push_back(code.kind == ColumnKind::date ? parse_date(texts->texts[k], code.form).days
                                                     : boolean_of(texts->texts[k]));
    const Moments moments = texts ? moments_of(count_,
                                               [&](int64_t row) {
                                                 const double code = cell(row);
                                                 return std::isnan(code) ? code : values[size_t(code)];
                                               })
                                  : numbers_[column.place];
    if (!texts) warn_of_steps(column, moments);
    code.indicator = moments.missing > 0;
    code.fill = moments.mean;
    if (column.as_is || code.kind == ColumnKind::boolean) return;
    code.mean = moments.mean;
    code.deviation = moments.deviation;
  }

 private:
  using Counted = std::vector<std::pair<int64_t, std::string>>;  // -rows of each text, so that frequent ones come first

  void warn_of_steps(const KnownColumn& column, const Moments& moments) const {
    const std::string found = f32_steps_text(moments.mean, moments.deviation, moments.constant);
    if (!found.empty())
      context_.warn(text(table_.path, ": ", table_.column_text(column.column), ": ", found,
                         "; subtract one of them from all, or leave the column out with ignore"));
  }

  void learn_categories(KnownColumn& column, const ColumnTexts& texts, auto&& cell) const {
    Counted found;
    for (const std::string& name : texts.texts) found.emplace_back(0, name);
    for (int64_t row = 0; row < count_; ++row) {
      const double code = cell(row);
      if (std::isnan(code)) column.code.indicator = true;
      else --found[size_t(code)].first;
    }
    std::ranges::sort(found);
    while (!found.empty() && found.back().first == 0) found.pop_back();
    if (are_mostly_once(found))
      context_.note(text(table_.path, ": ", table_.column_text(column.column), " has ", found.size(),
                         " different texts in ", count_, " training rows, as ", in_quotes(found.front().second),
                         ": a net learns little from a text that it sees once; write numbers as 1234.5, or leave the ",
                         "column out with ignore"));
    const ColumnChoice& choice = column.choice;
    const bool embeds =
        choice.kind != "one_hot" && int64_t(found.size()) > std::max(params_.embed_above, params_.most_categories);
    if (embeds || choice.kind == "embed") embed(column, found);
    else take_most_frequent(column, found);
    for (auto& [rows, name] : found) column.code.categories.push_back(std::move(name));
    std::ranges::sort(column.code.categories);
  }

  void take_most_frequent(const KnownColumn& column, Counted& found) const {
    const auto most = size_t(params_.most_categories);
    if (found.size() > most)
      note_many(column, found,
                text("; the ", most, " most frequent have a number each (most_categories), the others none"));
    found.resize(std::min(found.size(), most));
  }

  // A row of the table would learn the target of one training row by heart: such categories share row 0.
  void embed(KnownColumn& column, Counted& found) const {
    constexpr int64_t kLeastRows = 2;
    const Counted all = found;
    std::erase_if(found, [](const Counted::value_type& one) { return -one.first < kLeastRows; });
    found.resize(std::min(found.size(), size_t(params_.most_embedded)));
    const int64_t chosen = column.choice.width;
    column.code.embedded = chosen > 0 ? chosen : embedding_width(int64_t(found.size()) + 1);
    if (column.choice.kind == "embed") return;
    const size_t rare = all.size() - found.size();
    note_many(column, all,
              text("; it is embedded in ", counted(column.code.embedded, "number"), " (embed_above)",
                   rare > 0 ? text(", where ", counted(int64_t(rare), "rare one"), rare == 1 ? " shares" : " share",
                                   " a row with unknown ones")
                            : ""));
  }

  void note_many(const KnownColumn& column, const Counted& all, const std::string& what) const {
    context_.note(text(table_.path, ": ", table_.column_text(column.column), " has ", all.size(), " categories, from ",
                       in_quotes(all.front().second), " to ", in_quotes(all.back().second), what));
  }

  // Whether there are more texts than half of the rows; `found` has -rows of each.
  static bool are_mostly_once(const Counted& found) {
    constexpr int64_t kLeastRows = 10;
    int64_t rows = 0;
    for (const auto& one : found) rows -= one.first;
    return rows >= kLeastRows && 2 * int64_t(found.size()) > rows;
  }

  const CsvParams& params_;
  const Table& table_;
  const std::span<const float> rows_;
  const int64_t count_, width_;
  const DataContext& context_;
  const std::vector<Moments> numbers_;  // by place, of columns of numbers
};

}  // namespace

void learn_codes(const CsvParams& params, const Table& table, const Tensor& rows, std::vector<KnownColumn>& columns,
                 const DataContext& context) {
  const CodeLearner learner(params, table, rows, context);
  for (KnownColumn& column : columns) learner.learn(column);
}

namespace {

class CodeCheck {
 public:
  CodeCheck(const CsvParams& params, const Table& table, const std::vector<Tensor>& parts, const DataContext& context)
      : params_(params),
        table_(table),
        parts_(parts),
        width_(size_t(parts[0].shape()[1])),
        context_(context),
        missing_(width_) {
    for (const Tensor& part : parts_) {
      const auto rows = part.as<float>();
      for (size_t row = 0; row < rows.size(); row += width_)
        for (size_t k = 0; k < width_; ++k) missing_[k] += std::isnan(rows[row + k]);
    }
  }

  void run(const KnownColumn& column) const {
    const auto found = table_.texts.find(column.place);
    const ColumnTexts* const texts = found == table_.texts.end() ? nullptr : &found->second;
    std::vector<int64_t> with_text(texts ? texts->texts.size() : 0);
    if (texts) count_texts(column.place, with_text);
    const int64_t missing = missing_[column.place];
    if (missing > 0 && !column.code.indicator) note(column, missing_note(column.code, missing));
    if (texts) check_texts(column, *texts, with_text);
  }

 private:
  void count_texts(size_t place, std::vector<int64_t>& with_text) const {
    for (const Tensor& part : parts_) {
      const auto rows = part.as<float>();
      for (size_t at = place; at < rows.size(); at += width_)
        if (!std::isnan(rows[at])) ++with_text[size_t(rows[at])];
    }
  }

  void check_texts(const KnownColumn& column, const ColumnTexts& texts, const std::vector<int64_t>& rows) const {
    const ColumnCode& code = column.code;
    std::vector<float> numbers(size_t(code.width()));
    UnknownCells unknown;
    for (size_t k = 0; k < rows.size(); ++k) {
      if (rows[k] == 0 || code.put_text(texts.texts[k], numbers.data())) continue;
      if (code.kind != ColumnKind::category)
        table_.fail_at(texts.first[k], text(table_.column_text(column.column), ": expected a ", name_of(code.kind),
                                            ", as in training, found ", in_quotes(texts.texts[k])));
      if (!is_utf8(texts.texts[k]))
        table_.fail_at(texts.first[k], text(table_.column_text(column.column), ": ", no_utf8_text(texts.texts[k])));
      if (unknown.rows == 0) unknown.first = texts.texts[k];
      unknown.rows += rows[k], ++unknown.names;
    }
    const bool told = code.embedded == 0 && int64_t(code.categories.size()) >= params_.most_categories;
    if (unknown.rows > 0 && !told) note(column, unknown_note(code, unknown));
  }

  void note(const KnownColumn& column, const std::string& message) const {
    context_.note(text(table_.path, ": ", table_.column_text(column.column), ": ", message));
  }

  const CsvParams& params_;
  const Table& table_;
  const std::vector<Tensor>& parts_;
  const size_t width_;
  const DataContext& context_;
  std::vector<int64_t> missing_;  // by place
};

}  // namespace

void check_codes(const CsvParams& params, const Table& table, const std::vector<Tensor>& parts,
                 const std::vector<KnownColumn>& columns, const DataContext& context) {
  if (parts.empty()) return;
  const CodeCheck check(params, table, parts, context);
  for (const KnownColumn& column : columns) check.run(column);
}

namespace {

// How numbers become the net's, side by side.
struct NumberCodes {
  std::vector<double> means, deviations;
  std::vector<float> fills;
  explicit NumberCodes(const std::vector<KnownColumn>& columns) {
    for (const KnownColumn& column : columns) {
      means.push_back(column.code.mean), deviations.push_back(column.code.deviation);
      std::vector<float> missing(size_t(column.code.width()));
      column.code.put_missing(missing.data());
      fills.push_back(missing.front());
    }
  }
  // The cells of columns [begin, end), which lie side by side on both sides.
  void encode(const float* from, float* to, size_t begin, size_t end) const {
    for (size_t k = begin; k < end; ++k) {
      const float x = from[k - begin];
      const auto coded = float((double(x) - means[k]) / deviations[k]);
      to[k - begin] = std::isnan(x) ? fills[k] : coded;
    }
  }
};

bool is_one_number(const Table& table, const KnownColumn& column) {
  return column.code.kind == ColumnKind::number && !column.code.indicator && !table.texts.count(column.place);
}

// Columns [begin, end) are a run: each is coded as one number, and in the table they lie side by side. Returns `end`,
// which is `begin` where that column is of another kind.
size_t end_of_numbers(const Table& table, const std::vector<KnownColumn>& columns, size_t begin) {
  size_t end = begin;
  while (end < columns.size() && is_one_number(table, columns[end]) &&
         columns[end].place == columns[begin].place + (end - begin))
    ++end;
  return end;
}

// Such rows are coded where they lie: fresh memory costs as much time as the numbers.
void encode_numbers(Tensor rows, const std::vector<KnownColumn>& columns) {
  const size_t width = columns.size();
  const NumberCodes codes(columns);
  const auto values = rows.as<float>();
#pragma omp parallel for num_threads(available_threads())
  for (int64_t row = 0; row < rows.shape()[0]; ++row) {
    float* const x = values.data() + size_t(row) * width;
    codes.encode(x, x, 0, width);
  }
}

}  // namespace

Tensor encoded_rows(const Table& table, const Tensor& rows, const std::vector<KnownColumn>& columns) {
  std::vector<size_t> end_of;  // by column: the end of the run that begins there
  for (size_t k = 0; k < columns.size(); ++k) end_of.push_back(end_of_numbers(table, columns, k));
  if (!columns.empty() && columns[0].place == 0 && end_of[0] == columns.size() &&
      rows.shape()[1] == int64_t(columns.size())) {
    encode_numbers(rows, columns);
    return rows;
  }
  int64_t width = 0;
  std::vector<int64_t> begins;
  std::vector<std::vector<float>> of_texts;  // by column: the numbers of each of its texts
  for (const KnownColumn& column : columns) {
    const int64_t own = column.code.width();
    begins.push_back(width);
    width += own;
    std::vector<float>& numbers = of_texts.emplace_back();
    const auto found = table.texts.find(column.place);
    if (found == table.texts.end()) continue;
    numbers.resize(found->second.texts.size() * size_t(own));
    for (size_t k = 0; k < found->second.texts.size(); ++k)
      column.code.put_text(found->second.texts[k], numbers.data() + k * size_t(own));
  }
  const NumberCodes codes(columns);
  const int64_t count = rows.shape()[0], raw = rows.shape()[1];
  Tensor out(DType::f32, {count, width});
  const auto from = rows.as<float>();
  const auto to = out.as<float>();
#pragma omp parallel for num_threads(available_threads())
  for (int64_t row = 0; row < count; ++row)
    for (size_t k = 0; k < columns.size(); ++k) {
      const ColumnCode& code = columns[k].code;
      const float* const cells = from.data() + size_t(row * raw) + columns[k].place;
      float* const place = to.data() + row * width + begins[k];
      if (end_of[k] > k) {
        codes.encode(cells, place, k, end_of[k]);
        k = end_of[k] - 1;
      } else if (std::isnan(*cells)) {
        code.put_missing(place);
      } else if (of_texts[k].empty()) {
        code.put_number(double(*cells), place);
      } else {
        std::copy_n(of_texts[k].data() + size_t(*cells) * size_t(code.width()), code.width(), place);
      }
    }
  return out;
}

}  // namespace neon
