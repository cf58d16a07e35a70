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
// tokens come first. A pair whose text is a token already stays apart.
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
  void encode_piece(std::string_view piece, std::vector<int32_t>& out) const;
  std::unordered_map<uint64_t, Merge> merges_;
  int32_t bytes_[256] = {};  // the token of each
};

}  // namespace neon
