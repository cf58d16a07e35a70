// Byte pair encoding (Sennrich et al. 2016) of bytes, as GPT-2 has it: tokens are bytes, and pairs of tokens that were
// common in the text that the vocabulary was trained on. Every string of bytes has tokens, and they give it back.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace neon {

struct Vocabulary;

// The text that ends a document, as in GPT-2. Where a vocabulary has it, it is one token, and no piece of a document
// reaches over it.
constexpr std::string_view kEndOfText = "<|endoftext|>";
// The token of that text; -1: the vocabulary has none.
int32_t end_of_text(const Vocabulary& vocabulary);

// The documents of a text, the last of which may lack its end.
class Documents {
 public:
  explicit Documents(std::string_view text) : rest_(text) {}
  // False behind the last one. `ends`: whether kEndOfText follows.
  bool next(std::string_view& document, bool& ends);

 private:
  std::string_view rest_;
  bool done_ = false;
};

// Two tokens that become one, whose text is both of theirs.
struct TokenPair {
  int32_t left = 0, right = 0;
  bool operator==(const TokenPair&) const = default;
  uint64_t key() const { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }
};

// The byte of each of the first 256 tokens: printable ones first, as in GPT-2.
std::vector<std::string> bpe_bytes();

// A vocabulary of at most `size` tokens, for texts in which a pair occurs at least `least` times. In each round the
// commonest pair of neighbours inside the pieces of bpe_split.h becomes a token; of equally common ones that whose
// tokens come first. A pair whose text is a token already stays apart. Where the text has kEndOfText, that is the last
// token.
Vocabulary train_bpe(std::string_view text, int64_t size, int64_t least);

class BpeEncoder {
 public:
  // check_bpe() accepts the vocabulary.
  explicit BpeEncoder(const Vocabulary& vocabulary);
  void encode(std::string_view text, std::vector<int32_t>& out) const;

 private:
  struct Merge {
    int32_t rank = 0, token = 0;
  };
  struct Place {
    size_t first = 0, count = 0;  // of tokens, in the output
  };
  using Seen = std::unordered_map<std::string_view, Place>;
  void encode_document(std::string_view text, Seen& seen, std::vector<int32_t>& out) const;
  void encode_piece(std::string_view piece, std::vector<int32_t>& out) const;
  std::unordered_map<uint64_t, Merge> merges_;
  int32_t bytes_[256] = {};  // the token of each
  int32_t end_ = -1;         // of a document; -1: its text is as any other
};

}  // namespace neon
