// How well a net foretells the tokens of a text.
#include <cmath>

#include "transforms/log_loss.h"
#include "transforms/metric.h"

namespace neon {

namespace {

// A function of the mean of -log of the true class's output.
template <typename Rule>
struct OfLogLoss : Parametrized<Metric, NoParams> {
  using Parametrized::Parametrized;
  std::vector<Metric::Result> results() const override { return {{Rule::name, false, Metric::Better::lower}}; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override {
    const Expr each = log_loss(y, t) * weight;
    return {sum(each, all_axes(each.shape()))};
  }
  std::vector<double> finish(const std::vector<std::vector<double>>& sums, double count) const override {
    return {Rule::of(sums[0][0] / count)};
  }
};

struct PerplexityRule {
  static constexpr const char* name = "Perplexity";
  static double of(double log_loss) { return std::exp(log_loss); }
};
const Registration<Metric, OfLogLoss<PerplexityRule>> perplexity_registration{
    PerplexityRule::name, "e to the mean of -log of the true class's output: 1 where a net foretells every token.", {}};

struct BitsRule {
  static constexpr const char* name = "BitsPerCharacter";
  static double of(double log_loss) { return log_loss / std::log(2.0); }
};
const Registration<Metric, OfLogLoss<BitsRule>> bits_registration{
    BitsRule::name,
    "Mean of -log2 of the true class's output: bits that a character takes where tokens are characters.",
    {}};

}  // namespace

}  // namespace neon
