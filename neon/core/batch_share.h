// The part of a batch that one of several ranks computes. Ranks are processes that train one net together.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace neon {

struct RankOf {
  int rank = 0, ranks = 1;
  int64_t together = 1;  // neighbours of a batch, from its first sample on, that one rank computes
};

struct BatchShare {
  int64_t first = 0, count = 0;   // samples of the batch, from `first` on
  int64_t whole = 0, places = 0;  // samples of the batch, and of a full one where places keep their ranks
  int ranks = 1;
  // False: the batch has no sample for this rank, which computes the last one again, with the weight 0.
  bool counts = true;
  RankOf of = {};
  double weight() const { return counts ? double(count) / double(whole) : 0; }
};

// The share of a batch of `whole` samples. A sample at place p of a batch of `places` belongs to the rank that has p
// among all places: so a stream stays with its rank where the last batch has fewer. With places = whole all shares are
// equal, up to as many samples as stay together.
inline BatchShare share_of(int64_t whole, int64_t places, RankOf of) {
  const auto begin = [&](int64_t rank) {
    const int64_t place = places * rank / of.ranks;
    return std::min(whole, rank == of.ranks ? places : place - place % of.together);
  };
  BatchShare out{begin(of.rank), begin(of.rank + 1) - begin(of.rank), whole, places, of.ranks, true, of};
  if (out.count == 0) out.first = std::max<int64_t>(whole - 1, 0), out.count = 1, out.counts = false;
  return out;
}

// The samples that each rank computes, with those that a rank without any computes again.
inline std::vector<int64_t> counts_of_ranks(const BatchShare& share) {
  std::vector<int64_t> out;
  for (int rank = 0; rank < share.of.ranks; ++rank)
    out.push_back(share_of(share.whole, share.places, {rank, share.of.ranks, share.of.together}).count);
  return out;
}

// The most samples that a rank computes of a batch of up to so many. Pairs make shares uneven, and a shorter batch may
// have the largest share: of 12 samples three ranks have 4 each, of 11 the last one has 5.
inline int64_t most_of_ranks(int64_t batch, RankOf of) {
  if (of.together == 1) return std::max<int64_t>((batch + of.ranks - 1) / of.ranks, 1);
  int64_t out = 1;
  for (int64_t whole = 1; whole <= batch; ++whole)
    out = std::max(out, std::ranges::max(counts_of_ranks(share_of(whole, whole, of))));
  return out;
}

}  // namespace neon
