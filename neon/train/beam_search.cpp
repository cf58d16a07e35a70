#include "neon/train/beam_search.h"

#include <algorithm>
#include <cmath>

namespace neon {

namespace {

struct Candidate {
  double score = 0;  // the sum of log-probabilities
  int64_t from = 0;
  int32_t token = 0;
};

// The best ways to go on, as many as there are sequences; `scores` has those of the sequences that count.
std::vector<Candidate> best_of(const Tensor& probabilities, const std::vector<double>& scores) {
  const int64_t sequences = probabilities.shape()[0], tokens = probabilities.shape()[1];
  std::vector<Candidate> all;
  for (int64_t n = 0; n < int64_t(scores.size()); ++n)
    for (int64_t k = 0; k < tokens; ++k)
      if (const double p = probabilities.at(n * tokens + k); p > 0)
        all.push_back({scores[size_t(n)] + std::log(p), n, int32_t(k)});
  const auto count = std::min<int64_t>(sequences, int64_t(all.size()));
  std::partial_sort(all.begin(), all.begin() + long(count), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : std::pair(a.from, a.token) < std::pair(b.from, b.token);
  });
  all.resize(size_t(count));
  return all;
}

}  // namespace

std::vector<int32_t> beam_search(TokenSource& source, const Tensor& first, int64_t length) {
  const auto sequences = size_t(first.shape()[0]);
  std::vector<std::vector<int32_t>> texts(1);
  std::vector<double> scores = {0};  // the sequences are alike at first, so one of them counts
  Tensor probabilities = first;
  for (int64_t i = 0; i < length; ++i) {
    const std::vector<Candidate> best = best_of(probabilities, scores);
    std::vector<std::vector<int32_t>> longer;
    std::vector<int64_t> from(sequences, 0);
    std::vector<int32_t> tokens(sequences, 0);  // sequences that do not count go on with anything
    scores.clear();
    for (size_t n = 0; n < best.size(); ++n) {
      longer.push_back(texts[size_t(best[n].from)]);
      longer.back().push_back(best[n].token);
      scores.push_back(best[n].score);
      from[n] = best[n].from;
      tokens[n] = best[n].token;
    }
    texts = std::move(longer);
    if (i + 1 == length) break;
    source.reorder(from);
    probabilities = source.next(tokens);
  }
  return texts.front();
}

}  // namespace neon
