// Texts as tokens: whole numbers that name bytes, characters or words.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "datasets/bpe.h"
#include "datasets/bpe_split.h"

namespace neon {

// The unit of text that a token stands for.
//  byte       the byte of that value; 256 tokens
//  character  a code point of UTF-8 text
//  word       what stands between white space; the end of a line is the word "\n"
//  bpe        bytes that are often together (bpe.h)
enum class TextUnit : uint8_t { none, byte, character, word, bpe };
std::string_view name_of(TextUnit unit);
// Throws a data error for a name that is no unit's.
TextUnit text_unit(std::string_view name);

// The text that stands for everything that a vocabulary has not.
constexpr const char* kUnknownText = "<unk>";

struct Vocabulary {
  TextUnit unit = TextUnit::none;
  bool lower_case = false;             // texts are in lower case (ASCII letters)
  std::vector<std::string> texts;      // of token 0, 1, ...; empty for bytes
  std::vector<TokenPair> merges = {};  // of bpe, the first of them first
  bool points_apart = false;           // '.' and '?' stand by themselves, not at the ends of words
  bool keeps_end = false;              // of a text that is too long the end stays, otherwise the beginning
  bool ends_documents = false;         // the training text has documents, each with the token kEndOfText behind it
  bool operator==(const Vocabulary&) const = default;

  bool empty() const { return unit == TextUnit::none; }
  int64_t size() const { return unit == TextUnit::byte ? 256 : int64_t(texts.size()); }
  std::string text_of(int64_t token) const {
    return unit == TextUnit::byte ? std::string(1, char(token)) : texts.at(size_t(token));
  }
};

// The bytes, characters or words of a text, one after the other; of bpe the pieces inside which bytes become tokens.
class TextUnits {
 public:
  // A data error of the constructor or of next() names `source`: where `text` is not UTF-8 although its characters are
  // asked for, with the byte's place.
  TextUnits(TextUnit unit, std::string_view text, std::string source);
  // False at the end.
  bool next(std::string_view& unit);

 private:
  bool next_word(std::string_view& unit);
  const TextUnit unit_;
  const std::string_view text_;
  const std::string source_;
  size_t at_ = 0;
  BpeSplit split_;
};

// The place at which a text stops being UTF-8: "byte 8 (255), in line 1,"; "" of UTF-8.
std::string place_of_no_utf8(std::string_view text);

struct VocabularyLimits {
  int64_t size = 0;       // most entries, "<unk>" included; 0: any number
  int64_t min_count = 1;  // units that occur more rarely are unknown
  bool unknown = false;   // "<unk>" is an entry even where no unit is left out
};

// The units of `text`: characters in the order of their code points, words by how often they occur and then by their
// bytes. "<unk>" is entry 0 where the limits leave units out, or ask for it. bpe has at most `size` tokens, of pairs
// that occur at least twice and `min_count` times.
Vocabulary vocabulary_of(TextUnit unit, bool lower_case, std::string_view text, const std::string& source,
                         const VocabularyLimits& limits);

// A text with white space before each '.' and '?'.
std::string with_points_apart(std::string_view text);

// Turns texts into tokens and back.
class Tokenizer {
 public:
  explicit Tokenizer(Vocabulary vocabulary);
  const Vocabulary& vocabulary() const { return vocabulary_; }
  // The token of that text, or of "<unk>"; -1 without either.
  int32_t find(std::string_view unit) const;
  // How many of these tokens stand for what the vocabulary has not.
  int64_t count_unknown(const std::vector<int32_t>& tokens) const {
    return unknown_ < 0 ? 0 : std::ranges::count(tokens, unknown_);
  }
  // Throws a data error that names `source`, and the first unit that the vocabulary has not, where it has no "<unk>".
  std::vector<int32_t> encode(std::string_view text, const std::string& source) const;
  // The text that `token` adds behind one that ends in token `before`, -1 at the start: words are separated by spaces.
  std::string appended(int32_t token, int32_t before) const;

 private:
  Vocabulary vocabulary_;
  std::unordered_map<std::string, int32_t> tokens_;
  std::shared_ptr<const BpeEncoder> bpe_;
  int32_t unknown_ = -1;
};

}  // namespace neon
