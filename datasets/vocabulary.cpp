#include "datasets/vocabulary.h"

#include <algorithm>

#include "neon/core/error.h"
#include "neon/core/text.h"

namespace neon {

namespace {

constexpr std::string_view kSpaces = " \t\r\v\f";

bool is_space(char c) { return kSpaces.find(c) != kSpaces.npos; }

// Only ASCII letters: other alphabets have rules of their own.
std::string lowered(std::string_view text) { return lower(text); }

struct Count {
  std::string text;
  int64_t count = 0;
};

std::vector<Count> counts_of(TextUnit unit, std::string_view text, const std::string& source) {
  std::unordered_map<std::string_view, int64_t> counts;
  TextUnits units(unit, text, source);
  for (std::string_view one; units.next(one);) ++counts[one];
  std::vector<Count> out;
  for (const auto& [name, count] : counts) out.push_back({std::string(name), count});
  return out;
}

}  // namespace

std::string_view name_of(TextUnit unit) {
  switch (unit) {
    case TextUnit::byte: return "bytes";
    case TextUnit::character: return "characters";
    case TextUnit::word: return "words";
    case TextUnit::bpe: return "bpe";
    case TextUnit::none: break;
  }
  return "none";
}

TextUnit text_unit(std::string_view name) {
  for (const TextUnit unit : {TextUnit::byte, TextUnit::character, TextUnit::word, TextUnit::bpe})
    if (name_of(unit) == name) return unit;
  fail(ErrorKind::data, "texts consist of bytes, characters, words or bpe, not of ", in_quotes(name));
}

std::string place_of_no_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text.substr(at));
    if (length == 0)
      return neon::text("byte ", at, " (", int(uint8_t(text[at])), "), in line ",
                        std::ranges::count(text.substr(0, at), '\n') + 1, ",");
    at += length;
  }
  return "";
}

TextUnits::TextUnits(TextUnit unit, std::string_view text, std::string source)
    : unit_(unit), text_(text), source_(std::move(source)), split_(text) {}

bool TextUnits::next(std::string_view& unit) {
  if (unit_ == TextUnit::word) return next_word(unit);
  if (unit_ == TextUnit::bpe) return split_.next(unit);
  if (at_ == text_.size()) return false;
  size_t length = 1;
  if (unit_ == TextUnit::character && (length = utf8_length(text_.substr(at_))) == 0)
    fail(ErrorKind::data, source_, ": ", place_of_no_utf8(text_),
         " begins no UTF-8 character; convert the text to UTF-8, or give unit: bytes");
  unit = text_.substr(at_, length);
  at_ += length;
  return true;
}

bool TextUnits::next_word(std::string_view& unit) {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  if (at_ == text_.size()) return false;
  const size_t begin = at_++;
  if (text_[begin] != '\n')
    while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '\n') ++at_;
  unit = text_.substr(begin, at_ - begin);
  return true;
}

Vocabulary vocabulary_of(TextUnit unit, bool lower_case, std::string_view text, const std::string& source,
                         const VocabularyLimits& limits) {
  Vocabulary out{unit, lower_case, {}};
  if (unit == TextUnit::byte) return out;
  const std::string in_lower_case = lower_case ? lowered(text) : "";
  const std::string_view used = lower_case ? std::string_view(in_lower_case) : text;
  if (unit == TextUnit::bpe) {
    out = train_bpe(used, limits.size, std::max<int64_t>(limits.min_count, 2));
    out.lower_case = lower_case;
    return out;
  }
  std::vector<Count> counts = counts_of(unit, used, source);
  const auto by_count = [](const Count& a, const Count& b) {
    return a.count != b.count ? a.count > b.count : a.text < b.text;
  };
  std::ranges::sort(counts, by_count);
  const size_t all = counts.size();
  std::erase_if(counts, [&](const Count& c) { return c.count < limits.min_count && c.text != kUnknownText; });
  const auto is_unknown = [](const Count& c) { return c.text == kUnknownText; };
  const size_t asked = limits.unknown && std::ranges::none_of(counts, is_unknown) ? 1 : 0;
  if (limits.size > 0 && counts.size() + asked > size_t(limits.size)) counts.resize(size_t(limits.size) - 1);
  const bool cut = asked > 0 || counts.size() < all;
  if (unit == TextUnit::character)  // bytes of UTF-8 are in the order of code points
    std::ranges::sort(counts, [](const Count& a, const Count& b) { return a.text < b.text; });
  const bool has_unknown = std::ranges::any_of(counts, is_unknown);
  if (cut && !has_unknown) out.texts.push_back(kUnknownText);
  for (Count& count : counts) out.texts.push_back(std::move(count.text));
  return out;
}

std::string with_points_apart(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '.' || c == '?') out += ' ';
    out += c;
  }
  return out;
}

Tokenizer::Tokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {
  for (size_t i = 0; i < vocabulary_.texts.size(); ++i) tokens_.emplace(vocabulary_.texts[i], int32_t(i));
  if (const auto found = tokens_.find(kUnknownText); found != tokens_.end()) unknown_ = found->second;
  if (vocabulary_.unit == TextUnit::bpe) bpe_ = std::make_shared<const BpeEncoder>(vocabulary_);
}

int32_t Tokenizer::find(std::string_view unit) const {
  if (vocabulary_.unit == TextUnit::byte) return int32_t(uint8_t(unit[0]));
  const auto found = tokens_.find(std::string(unit));
  return found == tokens_.end() ? unknown_ : found->second;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, const std::string& source) const {
  const bool as_given = !vocabulary_.lower_case && !vocabulary_.points_apart;
  std::string changed;
  if (vocabulary_.lower_case) changed = lowered(text);
  if (vocabulary_.points_apart) changed = with_points_apart(vocabulary_.lower_case ? changed : text);
  const std::string_view used = as_given ? text : std::string_view(changed);
  TextUnits units(vocabulary_.unit, used, source);
  std::vector<int32_t> out;
  if (bpe_) {
    bpe_->encode(used, out);
    return out;
  }
  for (std::string_view unit; units.next(unit);) {
    out.push_back(find(unit));
    if (out.back() < 0)
      fail(ErrorKind::data, source, ": ", in_quotes(unit), ", number ", out.size(), " of its ",
           name_of(vocabulary_.unit), ", is not in the vocabulary of ", vocabulary_.size(), ", which has no ",
           kUnknownText, " for such; remove it from the text");
  }
  return out;
}

std::string Tokenizer::appended(int32_t token, int32_t before) const {
  const std::string out = vocabulary_.text_of(token);
  if (vocabulary_.unit != TextUnit::word || out == "\n" || before < 0 || vocabulary_.text_of(before) == "\n")
    return out;
  return " " + out;
}

}  // namespace neon
