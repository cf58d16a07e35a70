// The columns that a net takes, of a CSV file.
#include <algorithm>
#include <numeric>

#include "datasets/csv.h"
#include "neon/cli/samples.h"

namespace neon {

namespace {

bool names_all(const std::vector<std::string>& features, const std::vector<std::string>& cells) {
  return std::ranges::all_of(features, [&](const auto& feature) { return std::ranges::count(cells, feature); });
}

// None where the first line cannot be read so.
std::vector<std::string> first_line(const std::string& content, char delimiter, const std::string& name) try {
  std::vector<CsvCell> cells;
  CsvReader(content, delimiter, name).next(cells);
  std::vector<std::string> out;
  for (const CsvCell& cell : cells) out.emplace_back(cell.text);
  return out;
} catch (const Error&) {
  return {};
}

// A table need not be written as the one that the net was trained with. What its first line shows counts: with the
// right character it has the names of the columns, or falls into cells at all. Where it shows nothing, there is one
// column.
char delimiter_of(const std::string& content, const std::string& name, const TableColumns& trained) {
  const char own = name.ends_with(".tsv") ? '\t' : trained.delimiter;
  for (const bool by_names : {true, false})
    for (const char delimiter : {own, ',', '\t'}) {
      const auto cells = first_line(content, delimiter, name);
      if (by_names ? !trained.features.empty() && names_all(trained.features, cells) : cells.size() > 1)
        return delimiter;
    }
  return own;
}

class SampleTable {
 public:
  SampleTable(const std::string& content, const std::string& name, const StoredData& stored,
              std::vector<std::string>& notes)
      : name_(name),
        stored_(stored),
        trained_(stored.table),
        delimiter_(delimiter_of(content, name, stored.table)),
        reader_(content, delimiter_, name),
        notes_(notes) {}

  Tensor read() {
    std::vector<CsvCell> cells;
    bool header = false;
    for (bool first = true; reader_.next(cells); first = false) {
      if (first) {
        count_ = cells.size();
        header = is_header(cells);
        choose_columns(header && !trained_.features.empty() ? &cells : nullptr);
        if (header) continue;
      }
      add_row(cells, header);
    }
    if (numbers_.empty())
      fail(ErrorKind::data, name_, ": holds no samples",
           header ? "; its first line names the columns, or has no number in its cells" : "");
    Tensor out(DType::f32, {int64_t(numbers_.size() / chosen_.size()), int64_t(chosen_.size())});
    std::ranges::copy(numbers_, out.as<float>().begin());
    return input_array(out, name_);
  }

 private:
  // The names that the net was trained with, or a line without any number.
  bool is_header(const std::vector<CsvCell>& cells) const {
    std::vector<std::string> names;
    for (const CsvCell& cell : cells) names.emplace_back(cell.text);
    if (!trained_.features.empty() && names_all(trained_.features, names)) return true;
    double value = 0;
    return std::ranges::none_of(cells, [&](const CsvCell& cell) { return parse_number(cell.text, value); });
  }

  // By name where there are names on both sides.
  void choose_columns(const std::vector<CsvCell>* names) {
    if (names) return choose_named(*names);
    chosen_.resize(count_);
    std::iota(chosen_.begin(), chosen_.end(), size_t(0));
    if (int64_t(count_) != trained_.count || int64_t(count_) <= stored_.sample.elements()) return;
    fail(ErrorKind::data, name_, ": has ", count_,
         " columns, as the table that the net was trained with; the net takes ", stored_.sample.elements(),
         " of them: leave ",
         trained_.features.empty()
             ? "the target out"
             : join(trained_.others, ", ") + " out, or begin with the line of the columns' names");
  }

  void choose_named(const std::vector<CsvCell>& names) {
    std::vector<std::string> all, missing, unknown;
    for (const CsvCell& cell : names) {
      const std::string name(cell.text);
      if (std::ranges::count(all, name)) reader_.fail_at(cell, text("two columns are named ", in_quotes(name)));
      all.push_back(name);
      if (!std::ranges::count(trained_.features, name) && !std::ranges::count(trained_.others, name))
        unknown.push_back(in_quotes(name));
    }
    for (const std::string& feature : trained_.features) {
      const auto found = std::ranges::find(all, feature);
      if (found == all.end()) missing.push_back(feature);
      else chosen_.push_back(size_t(found - all.begin()));
    }
    if (!missing.empty())
      fail(ErrorKind::data, name_, ": has no column ", in_quotes(missing.front()), did_you_mean(missing.front(), all),
           missing.size() > 1 ? text(", nor ", missing.size() - 1, " more of those that the net takes") : "",
           " (the net takes ", join(trained_.features, ", "), "); read with ", delimiter_text(), " between cells");
    if (!unknown.empty())
      notes_.push_back(text(name_, ": left out, since the net was trained without: ", join(unknown, ", ")));
  }

  std::string delimiter_text() const {
    if (delimiter_ == '\t') return "tabs";
    return delimiter_ == ',' ? "commas" : in_quotes(std::string(1, delimiter_));
  }

  void add_row(const std::vector<CsvCell>& cells, bool header) {
    if (cells.size() != count_)
      reader_.fail_at(cells.front(),
                      text(cells.size(), " cells, the ", header ? "header has " : "lines before have ", count_));
    for (const size_t column : chosen_) {
      double value = 0;
      if (!parse_f32(cells[column].text, value)) reader_.fail_at(cells[column], no_f32_text(cells[column].text));
      numbers_.push_back(float(value));
    }
  }

  const std::string& name_;
  const StoredData& stored_;
  const TableColumns& trained_;
  char delimiter_;
  CsvReader reader_;
  std::vector<std::string>& notes_;
  size_t count_ = 0;
  std::vector<size_t> chosen_;  // columns, in the order that the net takes them
  std::vector<float> numbers_;
};

}  // namespace

Tensor read_sample_table(const std::string& content, const std::string& name, const StoredData& stored,
                         std::vector<std::string>& notes) {
  return SampleTable(content, name, stored, notes).read();
}

}  // namespace neon
