#include "datasets/bpe.h"

#include <algorithm>
#include <queue>

#include "datasets/bpe_split.h"
#include "datasets/vocabulary.h"

namespace neon {

namespace {

// Pieces longer than that are rarely seen again.
constexpr size_t kMostKept = 64;

}  // namespace

std::vector<std::string> bpe_bytes() {
  const auto is_printable = [](int byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  };
  std::vector<std::string> out;
  for (const bool printable : {true, false})
    for (int byte = 0; byte < 256; ++byte)
      if (is_printable(byte) == printable) out.emplace_back(1, char(byte));
  return out;
}

int32_t end_of_text(const Vocabulary& vocabulary) {
  const auto found = std::ranges::find(vocabulary.texts, kEndOfText);
  const bool is_there = vocabulary.unit == TextUnit::bpe && found != vocabulary.texts.end();
  return is_there ? int32_t(found - vocabulary.texts.begin()) : -1;
}

bool Documents::next(std::string_view& document, bool& ends) {
  if (done_) return false;
  const size_t end = rest_.find(kEndOfText);
  ends = end != rest_.npos;
  document = rest_.substr(0, end);
  done_ = !ends;
  if (ends) rest_.remove_prefix(end + kEndOfText.size());
  return true;
}

BpeEncoder::BpeEncoder(const Vocabulary& vocabulary) : end_(end_of_text(vocabulary)) {
  std::unordered_map<std::string_view, int32_t> tokens;
  for (size_t i = 0; i < vocabulary.texts.size(); ++i) {
    const std::string& text = vocabulary.texts[i];
    tokens.emplace(text, int32_t(i));
    if (text.size() == 1) bytes_[uint8_t(text[0])] = int32_t(i);
  }
  for (size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    const TokenPair& pair = vocabulary.merges[rank];
    const std::string together = vocabulary.text_of(pair.left) + vocabulary.text_of(pair.right);
    merges_.emplace(pair.key(), Merge{int32_t(rank), tokens.at(together)});
  }
}

void BpeEncoder::encode(std::string_view text, std::vector<int32_t>& out) const {
  Seen seen;
  if (end_ < 0) return encode_document(text, seen, out);
  Documents documents(text);
  bool ends = false;
  for (std::string_view document; documents.next(document, ends);) {
    encode_document(document, seen, out);
    if (ends) out.push_back(end_);
  }
}

void BpeEncoder::encode_document(std::string_view text, Seen& seen, std::vector<int32_t>& out) const {
  BpeSplit split(text);
  for (std::string_view piece; split.next(piece);) {
    const auto found = seen.find(piece);
    if (found == seen.end()) {
      const size_t first = out.size();
      encode_piece(piece, out);
      if (piece.size() <= kMostKept) seen.emplace(piece, Place{first, out.size() - first});
      continue;
    }
    for (size_t i = 0; i < found->second.count; ++i) out.push_back(out[found->second.first + i]);
  }
}

// The pair of the lowest rank is merged first, from left to right. A queue finds it, so that a piece of a million bytes
// takes no longer than as many in short ones.
void BpeEncoder::encode_piece(std::string_view piece, std::vector<int32_t>& out) const {
  struct Symbol {
    int32_t token;
    size_t before, after;
  };
  struct Step {
    int32_t rank;
    size_t place;
    TokenPair pair;
    bool operator<(const Step& other) const { return rank != other.rank ? rank > other.rank : place > other.place; }
  };
  const size_t none = piece.size();
  std::vector<Symbol> symbols;
  for (size_t i = 0; i < piece.size(); ++i) symbols.push_back({bytes_[uint8_t(piece[i])], i > 0 ? i - 1 : none, i + 1});
  std::priority_queue<Step> steps;
  const auto look_at = [&](size_t place) {
    if (place == none || symbols[place].after == none) return;
    const TokenPair pair{symbols[place].token, symbols[symbols[place].after].token};
    if (const auto found = merges_.find(pair.key()); found != merges_.end())
      steps.push({found->second.rank, place, pair});
  };
  for (size_t i = 0; i < piece.size(); ++i) look_at(i);
  while (!steps.empty()) {
    const Step step = steps.top();
    steps.pop();
    Symbol& left = symbols[step.place];
    if (left.token != step.pair.left || left.after == none || symbols[left.after].token != step.pair.right) continue;
    symbols[left.after].token = -1;
    left.token = merges_.at(step.pair.key()).token;
    left.after = symbols[left.after].after;
    if (left.after != none) symbols[left.after].before = step.place;
    look_at(left.before);
    look_at(step.place);
  }
  for (const Symbol& symbol : symbols)
    if (symbol.token >= 0) out.push_back(symbol.token);
}

}  // namespace neon
