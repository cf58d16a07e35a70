#include <algorithm>
#include <filesystem>
#include <set>

#include "datasets/csv.h"
#include "datasets/file.h"
#include "datasets/labelled_texts.h"
#include "datasets/text_file.h"
#include "neon/core/message.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

namespace fs = std::filesystem;

// Entries of a folder by name, without hidden ones.
std::vector<std::string> names_in(const std::string& folder, bool folders) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with('.') && (folders ? at->is_directory() : at->is_regular_file())) out.push_back(name);
  }
  if (error) fail(ErrorKind::data, folder, ": ", error.message());
  std::ranges::sort(out);
  return out;
}

// The texts of folder/CLASS/FILE.
std::vector<LabelledText> texts_by_class(const std::string& folder, const DataContext& context) {
  std::vector<LabelledText> out;
  for (const std::string& label : names_in(folder, true)) {
    const std::string place = join_path(folder, label);
    for (const std::string& name : names_in(place, false)) {
      const std::string file = join_path(place, name);
      context.check_may_read(file, folder);
      out.push_back({std::string(TextFile(file).text()), label, file});
    }
  }
  return out;
}

std::set<std::string> labels_of(const std::vector<LabelledText>& texts) {
  std::set<std::string> out;
  for (const LabelledText& one : texts) out.insert(one.label);
  return out;
}

// The index of a column: by its name in `header`, which may be empty, or by its number.
size_t column_of(const std::string& column, const char* parameter, const std::vector<std::string>& header, size_t count,
                 const std::string& path) {
  if (const auto found = std::ranges::find(header, column); found != header.end())
    return size_t(found - header.begin());
  double number = -1;
  if (parse_number(column, number) && number >= 0 && number < double(count) && number == double(size_t(number)))
    return size_t(number);
  fail(ErrorKind::config, parameter, ": ", in_quotes(column), " is no column of ", path, ", which has ",
       header.empty() ? text(count, " columns without names, 0 to ", count - 1) : list_text(header),
       did_you_mean(column, header));
}

}  // namespace

LabelledTexts texts_of_folder(const std::string& folder, const DataContext& context) {
  LabelledTexts out;
  out.source = folder;
  const std::string train = join_path(folder, "train"), test = join_path(folder, "test");
  out.train = texts_by_class(folder_exists(train) ? train : folder, context);
  if (folder_exists(train) && folder_exists(test)) out.test = texts_by_class(test, context);
  if (out.train.empty())
    fail(ErrorKind::data, folder, ": no texts; expected CLASS/FILE, or train/CLASS/FILE and test/CLASS/FILE");
  if (out.test.empty()) return out;
  const std::set<std::string> tested = labels_of(out.test);
  for (const std::string& label : labels_of(out.train)) {
    if (tested.contains(label)) continue;
    const size_t left_out = std::erase_if(out.train, [&](const LabelledText& one) { return one.label == label; });
    context.warn(text(folder, ": no test text is of class ", in_quotes(label), ", so its ", left_out,
                      " training texts are left out"));
  }
  return out;
}

std::vector<LabelledText> texts_of_table(const std::string& path, const LabelledTextParams& params) {
  const TextFile file(path);
  CsvReader reader(file.text(), lower(path).find(".tsv") == path.npos ? ',' : '\t', path);
  std::vector<CsvCell> cells;
  std::vector<std::string> header;
  std::vector<LabelledText> out;
  size_t columns = 0, text_column = 0, label_column = 0;
  while (reader.next(cells)) {
    if (columns == 0) {
      columns = cells.size();
      for (const CsvCell& cell : cells) header.emplace_back(cell.text);
      const bool named = std::ranges::count(header, params.text) || std::ranges::count(header, params.label);
      const bool is_header = params.header == "true" || (params.header == "auto" && named);
      if (!is_header) header.clear();
      text_column = column_of(params.text, "text", header, columns, path);
      label_column = column_of(params.label, "label", header, columns, path);
      if (is_header) continue;
    }
    if (cells.size() != columns)
      reader.fail_at(cells[0].at, text("this line has ", cells.size(), " cells, the first has ", columns));
    if (cells[label_column].text.empty()) reader.fail_at(cells[label_column].at, "the class is missing");
    out.push_back({std::string(cells[text_column].text), std::string(cells[label_column].text),
                   reader.place(cells[text_column].at)});
  }
  if (out.empty()) fail(ErrorKind::data, path, ": has no texts");
  return out;
}

}  // namespace neon
