// Tokens drawn from the probabilities that a net gives.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "neon/core/tensor.h"

namespace neon {

struct DrawOptions {
  double temperature = 1;  // probabilities are raised to 1 / temperature; 0: the most likely token
  int64_t top_k = 0;       // only so many of the most likely tokens; 0: all
  double top_p = 1;        // only the most likely tokens that together have this probability (Holtzman et al. 2020)
};

// Throws a config error where a row of y (N,tokens), a net's outputs for the token to come, is no distribution.
void check_probabilities(const Tensor& y);

// Probabilities after temperature, top_k and top_p, in this order; they add up to 1. Among equally likely tokens the
// lower ones stay.
std::vector<double> narrowed(std::span<const double> probabilities, const DrawOptions& options);

// The token in whose share of [0, 1) `uniform` falls.
int32_t draw_token(std::span<const double> probabilities, double uniform);

}  // namespace neon
