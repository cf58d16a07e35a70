#include "neon/train/beam_search.h"

#include <algorithm>
#include <cmath>

#include "neon/train/token_draw.h"

namespace neon {

namespace {

struct Candidate {
  double score = 0;  // the sum of log-probabilities
  int64_t from = 0;
  int32_t token = 0;
};

// A sequence, and whether it has reached its end, which is not among its tokens.
struct BeamText {
  std::vector<int32_t> tokens;
  double score = 0;
  bool ended = false;
};

// The best ways to go on, as many as there are sequences. One that ended stays.
std::vector<Candidate> best_of(const Tensor& probabilities, const std::vector<BeamText>& texts, int32_t end) {
  const int64_t sequences = probabilities.shape()[0], tokens = probabilities.shape()[1];
  std::vector<Candidate> all;
  for (int64_t n = 0; n < int64_t(texts.size()); ++n) {
    const BeamText& text = texts[size_t(n)];
    if (text.ended) all.push_back({text.score, n, end});
    for (int64_t k = 0; k < tokens && !text.ended; ++k)
      if (const double p = probabilities.at(n * tokens + k); p > 0)
        all.push_back({text.score + std::log(p), n, int32_t(k)});
  }
  const auto count = std::min<int64_t>(sequences, int64_t(all.size()));
  std::partial_sort(all.begin(), all.begin() + long(count), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : std::pair(a.from, a.token) < std::pair(b.from, b.token);
  });
  all.resize(size_t(count));
  return all;
}

}  // namespace

std::vector<int32_t> beam_search(TokenSource& source, const Tensor& first, int64_t length, int32_t end) {
  const auto sequences = size_t(first.shape()[0]);
  std::vector<BeamText> texts(1);  // the sequences are alike at first, so one of them counts
  Tensor probabilities = first;
  for (int64_t i = 0; i < length; ++i) {
    check_probabilities(probabilities);
    const std::vector<Candidate> best = best_of(probabilities, texts, end);
    std::vector<BeamText> longer;
    std::vector<int64_t> from(sequences, 0);
    std::vector<int32_t> tokens(sequences, 0);  // sequences that do not count go on with anything
    for (size_t n = 0; n < best.size(); ++n) {
      BeamText text = texts[size_t(best[n].from)];
      text.score = best[n].score;
      text.ended = best[n].token == end;
      if (!text.ended) text.tokens.push_back(best[n].token);
      longer.push_back(std::move(text));
      from[n] = best[n].from;
      tokens[n] = best[n].token;
    }
    texts = std::move(longer);
    // Scores only fall, so that a best text that has ended stays the best.
    if (i + 1 == length || texts.front().ended) break;
    source.reorder(from);
    probabilities = source.next(tokens);
  }
  return texts.front().tokens;
}

}  // namespace neon
