// Scaled dot-product attention (Vaswani et al. 2017) over the steps of sequences, and rotary positions (Su et al.
// 2021).
#pragma once
#include <string>

#include "backends/graph/expression.h"

namespace neon {

struct AttentionOptions {
  double scale = 1;     // of the products of queries and keys
  bool causal = false;  // query t sees the keys 0 .. t + S - T alone: of as many keys as queries, none that follow it
  // Below 1: each weight stays with this probability and is divided by it, otherwise it is 0. Draws are keyed by seed,
  // stream, step, and the weight's sample, head, query and key.
  double keep = 1;
  uint64_t seed = 0;
  std::string stream = {};
  int64_t first = 0;  // the place of sample 0 among those samples
};

// Queries q (N,T,H,D), keys k and values v (N,S,K,D) -> y (N,T,H,D). K divides H: as many neighbouring heads of queries
// share one of keys and values (Ainslie et al. 2023). lengths (N) i32, or an invalid Value: the keys of sample n from
// lengths[n] on are padding, which no query sees. A query that sees no key gets zeros.
Value attention(Graph& graph, Value q, Value k, Value v, Value lengths, const AttentionOptions& options);

// x (N,T,H,D) with each step t turned by its position: numbers i and i + D/2 of a head are a pair, which turns by the
// angle t / base^(2 i / D). The paper has neighbours, 2 i and 2 i + 1, as pairs: the same up to the order of the
// numbers. first (N) i32, or an invalid Value for zeros: the position of step 0 of each sample.
Value rotary(Graph& graph, Value x, Value first, double base);

}  // namespace neon
