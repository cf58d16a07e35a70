// Pairs are counted once; a merge then changes the counts of its neighbours alone. So the time grows with the text and
// not with the text times the merges.
#include <algorithm>
#include <queue>
#include <unordered_set>

#include "datasets/bpe.h"
#include "datasets/bpe_split.h"
#include "datasets/vocabulary.h"

namespace neon {

namespace {

// A place in one of the text's pieces. A place that was merged into the one before it is left out of the chain.
struct Symbol {
  int32_t token = 0;
  int64_t before = -1, after = -1;
  int64_t count = 0;  // of the piece in the text; 0: merged
};

struct PairPlaces {
  int64_t count = 0;
  std::vector<int64_t> places;  // of the left tokens; some may be a pair no more
};

struct Candidate {
  int64_t count = 0;
  TokenPair pair;
  bool operator<(const Candidate& other) const {  // a priority queue's top is the greatest
    return count != other.count ? count < other.count : pair.key() > other.pair.key();
  }
};

class BpeTraining {
 public:
  explicit BpeTraining(std::string_view text) : texts_(bpe_bytes()) {
    int32_t of_byte[256];
    for (size_t i = 0; i < texts_.size(); ++i) of_byte[uint8_t(texts_[i][0])] = int32_t(i);
    known_.insert(texts_.begin(), texts_.end());
    std::unordered_map<std::string_view, int64_t> counts;
    Documents documents(text);
    bool ends = false;
    for (std::string_view document; documents.next(document, ends);) {
      has_ends_ = has_ends_ || ends;
      BpeSplit split(document);
      for (std::string_view piece; split.next(piece);) ++counts[piece];
    }
    for (const auto& [piece, count] : counts) {
      for (size_t i = 0; i < piece.size(); ++i) {
        const auto place = int64_t(symbols_.size());
        symbols_.push_back(
            {of_byte[uint8_t(piece[i])], i > 0 ? place - 1 : -1, i + 1 < piece.size() ? place + 1 : -1, count});
      }
    }
    for (int64_t place = 0; place < int64_t(symbols_.size()); ++place) add_pair(place);
    for (const auto& [key, pair] : pairs_) push(key);
  }

  // Whether a pair that occurs so often was left.
  bool merge_commonest(int64_t least) {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const int64_t count = pairs_.at(best.pair.key()).count;
      if (count < best.count) {
        if (count > 0) push(best.pair.key());
        continue;
      }
      if (count < least) return false;
      const std::string together = texts_[size_t(best.pair.left)] + texts_[size_t(best.pair.right)];
      if (!known_.insert(together).second) continue;
      texts_.push_back(together);
      merges_.push_back(best.pair);
      merge(best.pair);
      return true;
    }
    return false;
  }

  int64_t size() const { return int64_t(texts_.size()) + has_ends_; }
  Vocabulary vocabulary() && {
    if (has_ends_) texts_.emplace_back(kEndOfText);
    return {TextUnit::bpe, false, std::move(texts_), std::move(merges_)};
  }

 private:
  void push(uint64_t key) { queue_.push({pairs_.at(key).count, {int32_t(key >> 32), int32_t(key & 0xffffffff)}}); }
  Symbol& at(int64_t place) { return symbols_[size_t(place)]; }
  // The pair that begins at a place.
  uint64_t key_of(int64_t place) { return TokenPair{at(place).token, at(at(place).after).token}.key(); }

  void add_pair(int64_t place) {
    if (place < 0 || at(place).after < 0) return;
    PairPlaces& pair = pairs_[key_of(place)];
    pair.count += at(place).count;
    pair.places.push_back(place);
  }
  void take_pair(int64_t place) {
    if (place >= 0 && at(place).after >= 0) pairs_.at(key_of(place)).count -= at(place).count;
  }

  void merge(const TokenPair& pair) {
    const std::vector<int64_t> places = std::move(pairs_.at(pair.key()).places);
    const auto token = int32_t(texts_.size() - 1);
    std::unordered_set<uint64_t> fresh;
    for (const int64_t place : places) {
      Symbol& left = at(place);
      if (left.count == 0 || left.after < 0 || key_of(place) != pair.key()) continue;
      const int64_t gone = left.after;
      take_pair(left.before);
      take_pair(place);
      take_pair(gone);
      left.token = token;
      left.after = at(gone).after;
      if (left.after >= 0) at(left.after).before = place;
      at(gone).count = 0;
      for (const int64_t one : {left.before, place}) {
        add_pair(one);
        if (one >= 0 && at(one).after >= 0) fresh.insert(key_of(one));
      }
    }
    for (const uint64_t key : fresh) push(key);
  }

  bool has_ends_ = false;  // whether the text ends documents
  std::vector<std::string> texts_;
  std::unordered_set<std::string> known_;
  std::vector<TokenPair> merges_;
  std::vector<Symbol> symbols_;
  std::unordered_map<uint64_t, PairPlaces> pairs_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

Vocabulary train_bpe(std::string_view text, int64_t size, int64_t least) {
  BpeTraining training(text);
  while (training.size() < size && training.merge_commonest(least)) continue;
  return std::move(training).vocabulary();
}

}  // namespace neon
