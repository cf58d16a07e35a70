#include "neon/train/token_draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "neon/core/error.h"

namespace neon {

void check_probabilities(const Tensor& y) {
  const int64_t tokens = y.shape()[1];
  for (int64_t n = 0; n < y.shape()[0]; ++n) {
    double sum = 0;
    bool negative = false;
    for (int64_t k = 0; k < tokens; ++k) {
      const double p = y.at(n * tokens + k);
      sum += p;
      negative = negative || p < 0;
    }
    if (negative || !(std::abs(sum - 1) < 0.01))
      fail(ErrorKind::config, "the net's outputs for the token to come ",
           negative ? text("are below 0") : text("add up to ", float(sum)),
           ", so they are no probabilities; end the net with Softmax");
  }
}

namespace {

void normalize(std::vector<double>& p) {
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& one : p) one /= sum;
}

// p^(1/temperature), by its logarithm relative to the largest, so that no number is too small.
void sharpen(std::vector<double>& p, double temperature) {
  const double largest = *std::ranges::max_element(p);
  for (double& one : p) one = one > 0 ? std::exp(std::log(one / largest) / temperature) : 0;
}

std::vector<size_t> most_likely_first(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return p[a] > p[b]; });
  return order;
}

}  // namespace

std::vector<double> narrowed(std::span<const double> probabilities, const DrawOptions& options) {
  std::vector<double> p(probabilities.begin(), probabilities.end());
  if (options.temperature > 0) sharpen(p, options.temperature);
  normalize(p);
  const std::vector<size_t> order = most_likely_first(p);
  size_t kept = order.size();
  if (options.temperature == 0) kept = 1;
  else if (options.top_k > 0) kept = std::min(kept, size_t(options.top_k));
  for (size_t i = kept; i < order.size(); ++i) p[order[i]] = 0;
  normalize(p);
  double sum = 0;
  for (size_t i = 0; i < kept; ++i) {
    if (sum >= options.top_p) p[order[i]] = 0;
    else sum += p[order[i]];
  }
  normalize(p);
  return p;
}

int32_t draw_token(std::span<const double> probabilities, double uniform) {
  double sum = 0;
  int32_t last = 0;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] == 0) continue;
    sum += probabilities[i];
    last = int32_t(i);
    if (uniform < sum) break;
  }
  return last;
}

}  // namespace neon
