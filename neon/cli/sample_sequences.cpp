#include "neon/cli/sample_sequences.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "datasets/hdf5_file.h"
#include "datasets/npy.h"
#include "datasets/series_array.h"
#include "datasets/series_table.h"
#include "neon/cli/session.h"
#include "neon/core/counted.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

class NamedSamples : public SampleSource {
 public:
  NamedSamples(Tensor all, std::vector<std::string> names, std::string place)
      : all_(std::move(all)), names_(std::move(names)), place_(std::move(place)) {}
  std::string place() const override { return place_; }

  Tensor next(int64_t most, std::vector<std::string>& names) override {
    const int64_t first = at_, count = std::min(most, int64_t(names_.size()) - first);
    at_ += count;
    names.assign(names_.begin() + first, names_.begin() + at_);
    return count ? all_.rows(first, count) : Tensor();
  }

 private:
  const Tensor all_;
  const std::vector<std::string> names_;
  const std::string place_;
  int64_t at_ = 0;
};

// The steps to hold sequences with, of which the longest has so many: those of the samples to train with, unless the
// spec takes other sequences as a whole, or other steps by --set.
int64_t steps_for(int64_t longest, const StoredData& stored) {
  const int64_t usual = stored.sample[0], most = stored.most_steps.value_or(usual);
  return most == 0 ? std::max(usual, longest) : most == usual ? usual : std::min(longest, most);
}

std::vector<std::string_view> lines_of(std::string_view content) {
  std::vector<std::string_view> out;
  while (!content.empty()) {
    const size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.push_back(line);
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  return out;
}

struct GivenText {
  std::string name;   // as it is printed
  std::string place;  // for messages
  std::string_view text;
};

// Words may be no UTF-8; tokenizers of characters refuse these.
void warn_of_no_utf8(const std::vector<GivenText>& texts, const StoredData& stored) {
  int64_t count = 0;
  std::string first;
  for (const GivenText& one : texts) {
    const std::string place = stored.vocabulary.unit == TextUnit::word ? place_of_no_utf8(one.text) : "";
    if (!place.empty() && count++ == 0) first = text(one.place, ": ", place);
  }
  if (count > 0) print_warnings({warning_of_no_utf8(first, count)});
}

// Texts of `source` as samples.
std::unique_ptr<SampleSource> samples_of_texts(const std::vector<GivenText>& texts, const std::string& source,
                                               const StoredData& stored) {
  const Tokenizer tokenizer(stored.vocabulary);
  warn_of_no_utf8(texts, stored);
  std::vector<std::vector<int32_t>> encoded;
  int64_t longest = 0;
  for (const GivenText& one : texts) {
    encoded.push_back(tokenizer.encode(one.text, one.place));
    if (encoded.back().empty()) fail(ErrorKind::data, one.place, ": the text is empty; leave it out");
    longest = std::max(longest, int64_t(encoded.back().size()));
  }
  const int64_t steps = steps_for(longest, stored), least = 2 * int64_t(stored.texts.text.columns.size()) - 1;
  if (stored.texts.text.are_several() && steps < least)
    fail(ErrorKind::config, "dataset.steps: ", steps, " steps cannot hold ", stored.texts.text.columns.size(),
         " texts and the lines' ends between them; expected at least ", least);
  Tensor all(DType::i32, {int64_t(texts.size()), steps});
  std::ranges::fill(all.as<int32_t>(), -1);
  std::vector<std::string> names;
  const bool keeps_end = stored.vocabulary.keeps_end;
  int64_t cut = 0, unknown = 0, all_tokens = 0;
  for (std::vector<int32_t>& tokens : encoded) {
    unknown += tokenizer.count_unknown(tokens), all_tokens += int64_t(tokens.size());
    if (int64_t(tokens.size()) > steps) {
      ++cut;
      if (keeps_end) tokens.erase(tokens.begin(), tokens.end() - steps);
      else tokens = first_tokens(tokenizer, std::move(tokens), steps, stored.texts.text.are_several());
    }
    std::ranges::copy(tokens, all.as<int32_t>().begin() + int64_t(names.size()) * steps);
    names.push_back(texts[names.size()].name);
  }
  const std::string_view units = name_of(stored.vocabulary.unit);
  if (cut > 0)
    print_warnings({source + ": " + warning_of_cut(cut, int64_t(texts.size()), "texts", steps, units, keeps_end)});
  if (unknown > 0)
    print_warnings(
        {text(source, ": ", unknown, " of ", all_tokens, " ", units,
              unknown == 1 ? " is not in the vocabulary; it counts as " : " are not in the vocabulary; they count as ",
              kUnknownText)});
  return std::make_unique<NamedSamples>(std::move(all), std::move(names), source);
}

// A text without a byte order mark, unless bytes are meant.
std::string_view own_text(std::string_view content, const std::string& name, const StoredData& stored) {
  return stored.vocabulary.unit == TextUnit::byte ? content : utf8_text(content, name);
}

// Lines and files have one text each.
void check_takes_one(const std::string& name, const StoredData& stored) {
  if (stored.texts.text.are_several())
    fail(ErrorKind::config, name, ": the net takes ", stored.texts.text.columns.size(), " texts a sample, ",
         list_text(stored.texts.text.columns), "; give a table with these columns, a .csv or .tsv file");
}

std::unique_ptr<SampleSource> texts_in(const std::string& content, const std::string& name, const std::string& prefix,
                                       const StoredData& stored) {
  check_takes_one(name, stored);
  const std::vector<std::string_view> lines = lines_of(own_text(content, name, stored));
  if (lines.empty()) fail(ErrorKind::data, name, ": holds no texts; expected one a line");
  if (stored.texts_are_files && lines.size() > 1)
    print_warnings({text(name, ": its ", lines.size(), " lines are a text each; the net was trained with a text in ",
                         "each file, and neon predict takes a folder of such files")});
  std::vector<GivenText> texts;
  for (size_t i = 0; i < lines.size(); ++i)
    texts.push_back({prefix + std::to_string(i), text(name, ":", i + 1), lines[i]});
  return samples_of_texts(texts, name, stored);
}

// Lines of letters for a net whose tokens have no texts, but are letters among its classes. Null where the first line
// begins with none of them.
std::unique_ptr<SampleSource> letters_in(const std::string& content, const std::string& name, const std::string& prefix,
                                         const StoredData& stored) {
  const auto tokens = size_t(stored.tokens);
  if (tokens == 0 || stored.end_class != stored.tokens || stored.class_names.size() != tokens + 1) return nullptr;
  StoredData with = stored;
  with.vocabulary.unit = TextUnit::character;
  with.vocabulary.texts.assign(stored.class_names.begin(), stored.class_names.begin() + long(tokens));
  const auto is_letter = [](const std::string& one) { return one.size() == 1; };
  if (!std::ranges::all_of(with.vocabulary.texts, is_letter)) return nullptr;
  if (std::ranges::count(with.vocabulary.texts, content.substr(0, 1)) == 0) return nullptr;
  const std::vector<std::string_view> lines = lines_of(content);
  for (size_t i = 0; i < lines.size() && !stored.ragged; ++i)
    if (int64_t(lines[i].size()) != stored.sample[0])
      fail(ErrorKind::data, name, ":", i + 1, ": has ", counted(int64_t(lines[i].size()), "letter"), ", the net takes ",
           stored.sample[0]);
  return texts_in(content, name, prefix, with);
}

// Rows (L,F) as windows (n,T,F).
std::unique_ptr<SampleSource> windows_of(const Tensor& rows, const std::string& name, const std::string& prefix,
                                         const StoredData& stored) {
  const int64_t steps = stored.sample[0], features = stored.sample[1], n = rows.shape()[0] - steps + 1;
  if (rows.shape()[1] != features)
    fail(ErrorKind::data, name, ": rows of ", rows.shape()[1], " numbers, the net takes ", features);
  if (n < 1)
    fail(ErrorKind::data, name, ": has ", counted(rows.shape()[0], "row"), ", the net takes ", steps,
         " that follow one another");
  Tensor all(DType::f32, {n, steps, features});
  std::vector<std::string> names;
  for (int64_t i = 0; i < n; ++i) {
    std::copy_n(rows.as<float>().begin() + i * features, steps * features,
                all.as<float>().begin() + i * steps * features);
    names.push_back(prefix + std::to_string(i + steps - 1 + stored.rows_ahead));
  }
  return std::make_unique<NamedSamples>(without_mean(all, stored), std::move(names), name);
}

// The rows of each id (n,T,F), NaN behind them.
std::unique_ptr<SampleSource> sequences_of_ids(const SeriesTable& table, const std::string& prefix,
                                               const StoredData& stored) {
  const int64_t features = stored.sample[1];
  std::vector<std::string> names;
  std::unordered_map<std::string_view, size_t> places;
  std::unordered_map<std::string_view, int64_t> rows;
  int64_t longest = 0;
  for (const std::string& id : table.cells[0]) {
    if (places.emplace(id, names.size()).second) names.push_back(prefix + id);
    longest = std::max(longest, ++rows[id]);
  }
  const int64_t steps = steps_for(longest, stored);
  Tensor all(DType::f32, {int64_t(names.size()), steps, features});
  std::ranges::fill(all.as<float>(), std::numeric_limits<float>::quiet_NaN());
  std::vector<int64_t> counts(names.size(), 0);
  for (int64_t row = 0; row < table.rows(); ++row) {
    const size_t i = places.at(table.cells[0][size_t(row)]);
    if (counts[i]++ >= steps) continue;
    std::copy_n(table.numbers.as<float>().begin() + row * features, features,
                all.as<float>().begin() + (int64_t(i) * steps + counts[i] - 1) * features);
  }
  const int64_t cut = std::ranges::count_if(counts, [&](int64_t count) { return count > steps; });
  if (cut > 0)
    print_warnings({text(table.path, ": ", counted(cut, "sequence"), cut == 1 ? " is" : " are", " longer than ",
                         counted(steps, "row"), cut == 1 ? ", and its end is" : ", and their ends are", " left out")});
  return std::make_unique<NamedSamples>(without_mean(all, stored), std::move(names), table.path);
}

// The columns that the net was trained with, by name or else by place.
SeriesColumns columns_of(const StoredData& stored) {
  const TableColumns& table = stored.table;
  SeriesColumns out;
  out.trained = table.features;
  if (table.features.empty())
    for (const int64_t position : table.positions) out.columns.push_back(std::to_string(position));
  if (!table.id.empty()) out.texts = {table.id};
  out.header = table.features.empty() ? "false" : "true";
  out.delimiter = std::string_view(",;\t").find(table.delimiter) != std::string_view::npos
                      ? "auto"
                      : std::string(1, table.delimiter);
  out.decimal = stored.decimal;
  out.earlier_decimal = table.decimal;
  out.missing = table.missing;
  return out;
}

}  // namespace

void check_has_classes(const std::string& name, const StoredData& stored) {
  if (stored.label_of == LabelOf::step)
    fail(ErrorKind::config, name, ": the net goes on with texts, and has no class for them; neon sample ",
         shell_word(stored.checkpoint), " --prompt 'WORDS' prints how");
}

std::unique_ptr<SampleSource> texts_of_files(const std::string& folder, const StoredData& stored) {
  check_has_classes(folder, stored);
  check_takes_one(folder, stored);
  const std::vector<std::string> files = files_below(folder);
  if (files.empty()) fail(ErrorKind::data, folder, ": holds no files; expected a text in each");
  std::vector<std::string> contents;
  for (const std::string& file : files) contents.emplace_back(own_text(TextFile(file).text(), file, stored));
  std::vector<GivenText> texts;
  for (size_t i = 0; i < files.size(); ++i) texts.push_back({files[i], files[i], contents[i]});
  return samples_of_texts(texts, folder, stored);
}

std::unique_ptr<SampleSource> texts_of_archive(std::vector<NamedText> files, const std::string& name,
                                               const std::string& prefix, const StoredData& stored) {
  check_has_classes(name, stored);
  check_takes_one(name, stored);
  std::vector<GivenText> texts;
  for (const NamedText& file : files) {
    const std::string place = text(name, ": ", file.name);
    texts.push_back({prefix + file.name, place, own_text(file.text, place, stored)});
  }
  return samples_of_texts(texts, name, stored);
}

std::unique_ptr<SampleSource> texts_of_table(const std::string& content, const std::string& name,
                                             const std::string& prefix, const StoredData& stored) {
  check_has_classes(name, stored);
  std::vector<std::string> notes;
  const std::vector<LabelledText> rows = texts_without_classes(utf8_text(content, name), name, stored.texts, notes);
  for (const std::string& note : notes) print_message(note);
  std::vector<GivenText> texts;
  for (const LabelledText& row : rows) texts.push_back({prefix + std::to_string(texts.size()), row.place, row.text});
  return samples_of_texts(texts, name, stored);
}

std::unique_ptr<SampleSource> windows_in(const Tensor& raw, const std::string& name, const std::string& prefix,
                                         const StoredData& stored) {
  if (!stored.sequence || stored.tokens > 0 || stored.sample.rank() != 2) return nullptr;
  if (!stored.table.id.empty() && stored.table.features.empty() && raw.shape().rank() == 2)
    return sequences_of_ids(read_series_text(table_of_array({raw, name}), name, columns_of(stored)), prefix, stored);
  if (stored.ragged) return nullptr;
  const Shape& shape = raw.shape();
  const bool is_column = shape.rank() == 1 && stored.sample[1] == 1;
  if (!is_column && (shape.rank() != 2 || shape[1] == stored.sample.elements())) return nullptr;
  const Tensor rows = is_column ? raw.reshaped({shape[0], 1}) : raw;
  return windows_of(input_array(rows, name).converted(DType::f32), name, prefix, stored);
}

std::unique_ptr<SampleSource> windows_in_hdf5(const std::string& path, const std::string& prefix,
                                              const StoredData& stored) {
  const auto file = open_hdf5(path);
  const char* const array = stored.series_array.c_str();
  if (!file->has(array) || file->shape(array).rank() > 2) return nullptr;
  return windows_in(file->read(array, false), text(path, ": ", array), prefix, stored);
}

std::unique_ptr<SampleSource> sequences_in(const std::string& content, const std::string& name,
                                           const std::string& prefix, const StoredData& stored) {
  const bool is_array = content.starts_with("\x93NUMPY"), is_text = content.find('\0') == content.npos;
  if (!stored.sequence || (!is_array && !is_text)) return nullptr;
  if (!stored.vocabulary.empty() && !is_array) {
    check_has_classes(name, stored);
    if (stored.texts_are_rows && names_texts(content, name, stored.texts)) {
      print_message(text("note: ", name, ": its first line names the column of texts, so it is read as a table"));
      return texts_of_table(content, name, prefix, stored);
    }
    if (stored.texts_are_rows && stored.texts.text.are_several() && are_indices(stored.texts.text))
      return texts_of_table(content, name, prefix, stored);
    return texts_in(content, name, prefix, stored);
  }
  if (!is_array)
    if (auto found = letters_in(content, name, prefix, stored)) return found;
  if (stored.tokens > 0 || stored.sample.rank() != 2) return nullptr;
  if (is_array) return windows_in(read_npy(MemorySource(content, name)), name, prefix, stored);
  if (stored.table.count > 0) {
    const SeriesTable table = read_series_text(content, name, columns_of(stored));
    return stored.table.id.empty() ? windows_of(table.numbers, name, prefix, stored)
                                   : sequences_of_ids(table, prefix, stored);
  }
  if (stored.ragged) return nullptr;
  std::vector<std::string> notes;
  const Tensor rows = read_sample_table(content, name, stored, notes);
  if (rows.shape()[1] == stored.sample.elements()) return nullptr;
  print_warnings(notes);
  return windows_of(rows, name, prefix, stored);
}

namespace {

// The means and deviations of all outputs of a net for several targets; numbers that stay have mean 0 and deviation 1.
Standard standard_of_all(const std::vector<NamedTarget>& outputs) {
  Standard out;
  for (const NamedTarget& target : outputs)
    for (int64_t i = 0; i < target.width; ++i) {
      out.means.push_back(target.standard.empty() ? 0 : target.standard.means[size_t(i)]);
      out.deviations.push_back(target.standard.empty() ? 1 : target.standard.deviations[size_t(i)]);
    }
  return out;
}

}  // namespace

Tensor in_own_units(const Tensor& y, const StoredData& stored) {
  const Standard standard = stored.outputs.empty() ? stored.target_standard : standard_of_all(stored.outputs);
  if (standard.empty()) return y;
  Tensor out(y.dtype(), y.shape());
  for (int64_t i = 0; i < y.elements(); ++i) {
    const size_t k = size_t(i) % standard.means.size();
    out.set(i, y.at(i) * standard.deviations[k] + standard.means[k]);
  }
  return out;
}

}  // namespace neon
