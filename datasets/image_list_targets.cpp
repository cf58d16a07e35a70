#include "datasets/image_list_targets.h"

#include <algorithm>

#include "datasets/csv_columns.h"
#include "neon/core/counted.h"
#include "neon/core/key_error.h"
#include "neon/core/message.h"
#include "neon/core/text.h"

namespace neon {

namespace {

// The column that a key means; -1: it is no index.
int64_t index_of(const std::string& key) {
  double value = 0;
  return parse_number(key, value) && value >= 0 && value == double(int64_t(value)) ? int64_t(value) : -1;
}

}  // namespace

bool has_names(const ListTargets& targets) {
  return std::ranges::any_of(targets, [](const auto& target) { return index_of(target.first) < 0; });
}

ListCells::ListCells(const ListTargets& targets, const CsvReader& reader, const std::string& path, CsvDialect dialect,
                     const std::vector<CsvCell>& head, bool is_header) {
  table_.path = path;
  table_.delimiter = dialect.delimiter;
  table_.decimal = dialect.decimal;
  table_.columns = head.size();
  if (is_header) table_.names = header_names(head, reader);
  for (const auto& [key, kind] : targets) {
    const auto named = std::ranges::find(table_.names, key);
    int64_t column = named != table_.names.end() ? named - table_.names.begin() : index_of(key);
    if (const int64_t index = index_of(key);
        named != table_.names.end() && index >= 0 && index != column && index < int64_t(head.size()))
      fail(ErrorKind::config, "targets: ", key, " is the name of column ", column, " of ", path, " and the index of ",
           "column ", in_quotes(table_.names[size_t(index)]), "; rename one of them");
    if (column < 0)
      fail(ErrorKind::config, "targets: ", path, " has no column ", in_quotes(key), did_you_mean(key, table_.names));
    if (column == 0) fail(ErrorKind::config, "targets: the first column of ", path, " names the files");
    if (column >= int64_t(head.size()))
      reader.fail_at(head.front().at, text("the table has ", counted(int64_t(head.size()), "column"),
                                           ", and targets names column ", key));
    if (std::ranges::count(table_.target_columns, size_t(column)))
      fail(ErrorKind::config, "targets: column ", in_quotes(key), " of ", path, " is given twice");
    table_.target_columns.push_back(size_t(column));
    is_number_.push_back(kind == name_of(TargetKind::number));
  }
  table_.targets.resize(targets.size());
  seen_.resize(targets.size());
}

void ListCells::add(const CsvReader& reader, const std::vector<CsvCell>& cells) {
  if (cells.size() != table_.columns)
    reader.fail_at(cells.front().at,
                   text("expected ", table_.columns, " cells as in the first line, found ", cells.size()));
  for (size_t k = 0; k < table_.target_columns.size(); ++k) {
    const CsvCell& cell = cells[table_.target_columns[k]];
    const bool has_comma = table_.decimal == ',' && is_number_[k];
    if (is_number_[k]) seen_[k].add(cell.text, cell.at, table_.decimal);
    std::string own = has_comma ? with_point(reader, cell, k) : std::string(cell.text);
    table_.unescaped.push_back({std::make_unique<const std::string>(std::move(own)), cell.at});
    table_.targets[k].push_back(*table_.unescaped.back().text);
  }
}

std::string ListCells::with_point(const CsvReader& reader, const CsvCell& cell, size_t k) {
  std::string out(cell.text);
  double value = 0;
  if (out.find('.') != out.npos && parse_number(out, value))
    reader.fail_at(cell.at, text(table_.target_text(k), ": ", point_among_commas(out)));
  const size_t comma = out.find(',');
  if (comma != out.npos && parse_number(out, value, ',')) out[comma] = '.';
  return out;
}

void ListCells::check_groups(const CsvReader& reader, const DataContext& context) const {
  const char mark = table_.decimal;
  if (mark == '.' && !context.targets.empty()) return;  // a net that was trained before took them as decimals
  for (size_t k = 0; k < seen_.size(); ++k)
    if (seen_[k].are_unclear())
      reader.fail_at(seen_[k].place, text(table_.target_text(k), ": ", seen_[k].question(mark),
                                          ", and decimals in every row, as 366", mark, "0"));
}

std::string ListCells::left_out() const {
  std::vector<std::string> out;
  for (size_t column = 1; column < table_.columns; ++column)
    if (!std::ranges::count(table_.target_columns, column))
      out.push_back(table_.names.empty() ? text(column) : table_.names[column]);
  return join(out, ", ");
}

std::shared_ptr<ListedTargets> listed_targets(const ListTargets& targets, const std::vector<std::string>& missing,
                                              const Table& train, const Table* test, const DataContext& context) {
  CsvParams params;
  params.targets = targets;
  params.missing = missing;
  auto out = std::make_shared<ListedTargets>(ListedTargets{CsvTargets(params, train, context), {}, {}});
  SampleMeaning meaning;
  out->targets.describe(train, meaning);
  out->named = meaning.targets;
  const Tensor own = out->targets.split_of(train).targets;
  out->targets.warn_of_steps(train, own, context);
  const Tensor more = test ? out->targets.split_of(*test).targets : Tensor(DType::f32, {0, own.shape()[1]});
  out->rows = Tensor(DType::f32, {own.shape()[0] + more.shape()[0], own.shape()[1]});
  const auto to = out->rows.as<float>();
  std::ranges::copy(own.as<float>(), to.begin());
  std::ranges::copy(more.as<float>(), to.begin() + own.elements());
  return out;
}

}  // namespace neon
