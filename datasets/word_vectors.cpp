#include "datasets/word_vectors.h"

#include <cmath>
#include <unordered_map>

#include "datasets/table_cell.h"
#include "datasets/text_file.h"
#include "neon/core/error.h"
#include "neon/core/text.h"

namespace neon {

namespace {

constexpr std::string_view kBlanks = " \t\r";

// The last word of a line, which then ends before it; empty at the start.
std::string_view take_last(std::string_view& line) {
  const size_t end = line.find_last_not_of(kBlanks);
  if (end == line.npos) return line = {};
  line = line.substr(0, end + 1);
  const size_t before = line.find_last_of(kBlanks);
  const std::string_view word = before == line.npos ? line : line.substr(before + 1);
  line = before == line.npos ? std::string_view() : line.substr(0, before);
  return word;
}

bool is_whole(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

class VectorLines {
 public:
  VectorLines(const std::string& path, std::string_view text, int64_t numbers)
      : path_(path), text_(text), values_(size_t(numbers)) {}

  // The next line that is not empty; false at the end.
  bool next() {
    while (!text_.empty()) {
      const size_t end = text_.find('\n');
      std::string_view line = text_.substr(0, end);
      text_.remove_prefix(end == text_.npos ? text_.size() : end + 1);
      ++number_;
      if (line.find_first_not_of(kBlanks) == line.npos || is_head(line)) continue;
      read(line);
      return true;
    }
    return false;
  }
  std::string_view word() const { return word_; }
  const std::vector<double>& values() const { return values_; }

 private:
  // The first line of word2vec's files: how many words there are, and how many numbers each has.
  bool is_head(std::string_view line) const {
    if (number_ != 1) return false;
    const std::string_view numbers = take_last(line), words = take_last(line);
    if (!is_whole(numbers) || !is_whole(words) || !take_last(line).empty()) return false;
    if (numbers != std::to_string(values_.size()))
      fail(ErrorKind::data, path_, ": its vectors have ", numbers, numbers == "1" ? " number" : " numbers",
           ", embedding_dim is ", values_.size(), "; give the layer embedding_dim: ", numbers);
    return true;
  }

  // A word may have spaces in it, so numbers are counted from the end.
  void read(std::string_view line) {
    const std::string_view whole = line;
    for (size_t i = values_.size(); i-- > 0;) {
      const std::string_view text = take_last(line);
      double value = 0;
      if (parse_number(text, value) && std::isinf(float(value)))
        fail(ErrorKind::data, path_, ":", number_, ": ", no_f32_text(text, MissingMarks()));
      if (!parse_f32(text, value))
        fail(ErrorKind::data, path_, ":", number_, ": ", in_quotes(text), " is no number; a line has a word and ",
             values_.size(), " numbers, as embedding_dim says");
      values_[i] = value;
    }
    const size_t first = line.find_first_not_of(kBlanks), last = line.find_last_not_of(kBlanks);
    if (first == line.npos)
      fail(ErrorKind::data, path_, ":", number_, ": ", in_quotes(whole.substr(0, 20)), "... has no word before its ",
           values_.size(), " numbers; embedding_dim must be how many a line has");
    word_ = line.substr(first, last + 1 - first);
  }

  const std::string& path_;
  std::string_view text_, word_;
  std::vector<double> values_;
  int64_t number_ = 0;
};

}  // namespace

int64_t take_word_vectors(const std::string& path, const Vocabulary& vocabulary, Tensor& table) {
  if (vocabulary.texts.empty())
    fail(ErrorKind::config, "vectors: ", path, " is matched by words, but the tokens of the data set have no texts; ",
         "leave vectors out, or give the data set unit: words");
  std::unordered_map<std::string_view, int64_t> rows;
  for (size_t k = 0; k < vocabulary.texts.size(); ++k) rows.emplace(vocabulary.texts[k], int64_t(k));
  const size_t words = rows.size();
  const int64_t numbers = table.shape()[1];
  const TextFile file(path);
  size_t cells = 0;  // of the first line's word: more where its vector has more numbers than asked for
  VectorLines lines(path, utf8_text(file.text(), path), numbers);
  while (lines.next()) {
    for (std::string_view word = cells ? "" : lines.word(); !word.empty(); ++cells) take_last(word);
    const auto found = rows.find(lines.word());
    if (found == rows.end()) continue;
    for (int64_t i = 0; i < numbers; ++i) table.set(found->second * numbers + i, lines.values()[size_t(i)]);
    rows.erase(found);
  }
  if (rows.size() == words && cells > 1)
    fail(ErrorKind::data, path, ": its vectors have ", numbers + int64_t(cells) - 1, " numbers, embedding_dim is ",
         numbers, "; give the layer embedding_dim: ", numbers + int64_t(cells) - 1);
  if (rows.size() == words)
    fail(ErrorKind::data, path, ": has a vector for none of the data set's ", words, " ",
         vocabulary.unit == TextUnit::word ? "words; write these as the file does, or let lower_case write them small"
                                           : "tokens, which are no words; give the data set unit: words");
  return int64_t(words - rows.size());
}

}  // namespace neon
