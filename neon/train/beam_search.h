// The likeliest text among several that are gone on with at once.
#pragma once
#include <cstdint>
#include <vector>

#include "neon/core/tensor.h"

namespace neon {

// Texts that go on token by token: a net, or a table in a test.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // The next token of each of N sequences -> (N,V), the probabilities of the token to come.
  virtual Tensor next(const std::vector<int32_t>& tokens) = 0;
  // Sequence i goes on as sequence from[i] would.
  virtual void reorder(const std::vector<int64_t>& from) = 0;
};

// The `length` tokens that follow, of the greatest sum of log-probabilities that a beam of N sequences finds. `first`
// (N,V), N rows alike, are the probabilities of the first of them. A sequence that reaches the token `end` goes on no
// further; the tokens returned are those before it. -1: no token ends a sequence.
std::vector<int32_t> beam_search(TokenSource& source, const Tensor& first, int64_t length, int32_t end = -1);

}  // namespace neon
