// BLEU (Papineni et al. 2002) of predicted labels, with one target for each sample. Runs of labels are compared by
// arrays (N,T,T) that are 1 where a run from step i is the run from step j.
#include <cmath>

#include "transforms/metric.h"
#include "transforms/parts.h"

namespace neon {

namespace {

struct BleuParams {
  int64_t most = 4;
  bool brevity_penalty = true;
  static void describe(auto&& p) {
    p("most", &BleuParams::most, "Length of the longest runs of labels that are compared.", closed(1, 16), Alias{"N"});
    p("brevity_penalty", &BleuParams::brevity_penalty,
      "Whether fewer predicted labels than the targets have lower the score, by e^(1 - targets / predicted).");
  }
};

// 0, 1, 2 ... along one of three axes.
Expr numbers_along(Expr like, int axis, int64_t count) {
  return cast(Expr(like.graph(), iota(like.graph(), Shape{1, 1, 1}.with(axis, count), axis)), like.dtype());
}

// Labels (N,T) in that type, without the -1 between them, which stands behind.
Expr compacted(Expr labels, DType dtype) {
  const int64_t samples = labels.shape()[0], steps = labels.shape()[1];
  const Expr x = reshape(cast(labels, dtype), {samples, steps, 1});
  const Expr counts = apply("greater_equal", x, x.constant(0));
  const Expr earlier = apply("less", numbers_along(x, 1, steps), numbers_along(x, 2, steps));  // step j before step i
  const Expr place = reshape(sum(counts * earlier, {1}), {samples, steps, 1});
  const Expr there = apply("equal", place, numbers_along(x, 2, steps));
  return reshape(sum(there * (x + 1.0), {1}), {samples, steps}) - 1.0;
}

// Runs of n labels, from n = 1 on: which of a (N,T) are those of b (N,L), each run beginning at a step.
class Runs {
 public:
  Runs(Expr a, Expr b) {
    const Shape &x = a.shape(), &y = b.shape();
    const Expr rows = reshape(a, {x[0], x[1], 1}), columns = reshape(b, {y[0], 1, y[1]});
    one_ = same_ = apply("equal", rows, columns);
  }
  // (N,T-n+1,L-n+1)
  Expr same() const { return same_; }
  void lengthen() {
    ++n_;
    const int64_t rows = one_.shape()[1] - n_ + 1, columns = one_.shape()[2] - n_ + 1;
    same_ = part(part(same_, 1, 0, rows), 2, 0, columns) * part(part(one_, 1, n_ - 1, rows), 2, n_ - 1, columns);
  }

 private:
  int64_t n_ = 1;
  Expr one_, same_;
};

struct BLEU : Parametrized<Metric, BleuParams> {
  using Parametrized::Parametrized;
  bool of_sequences() const override { return true; }
  std::vector<Result> results() const override { return {{"BLEU", true, Better::higher}}; }

  // The numbers of predicted labels and of those of the targets; for each length of runs those that are found, and all.
  std::vector<Expr> sums_of_sequences(Expr predicted, Expr labels, Expr weight) const override {
    const Expr x = compacted(predicted, weight.dtype()), t = compacted(labels, weight.dtype());
    const auto total = [&](Expr each) {
      const Expr by_sample = reshape(each, {x.shape()[0], each.shape().elements() / x.shape()[0]});
      const Expr counted = sum(by_sample, {1}) * weight;
      return sum(counted, all_axes(counted.shape()));
    };
    const auto are_labels = [](Expr row) { return apply("greater_equal", row, row.constant(0)); };
    std::vector<Expr> out = {total(are_labels(x)), total(are_labels(t))};
    Runs own(x, x), found(x, t);
    Expr runs = are_labels(x);  // (N,T-n+1): a run begins at this step
    const Expr nothing = total(x * 0.0);
    for (int64_t n = 1; n <= params.most; ++n) {
      const int64_t starts = x.shape()[1] - n + 1, others = t.shape()[1] - n + 1;
      if (n > 1 && starts > 0) {
        own.lengthen();
        runs = part(are_labels(x), 1, n - 1, starts);  // with the last label of a run, those before are there
        if (others > 0) found.lengthen();
      }
      out.push_back(starts > 0 && others > 0 ? total(runs * clipped(own, found, starts)) : nothing);
      out.push_back(starts > 0 ? total(runs) : nothing);
    }
    return out;
  }

  std::vector<double> finish(const std::vector<std::vector<double>>& s, double) const override {
    double logs = 0;
    for (size_t n = 1; n <= size_t(params.most); ++n) {
      const double matches = s[2 * n][0], all = s[2 * n + 1][0];
      if (matches == 0) return {0};
      logs += std::log(matches / all) / double(params.most);
    }
    const double predicted = s[0][0], targets = s[1][0];
    return {std::exp(logs + (params.brevity_penalty && predicted < targets ? 1 - targets / predicted : 0))};
  }

 protected:
  std::vector<Expr> partial(Expr, Expr, Expr) const override { return {}; }  // of rows, which it does not compare

 private:
  // 1 for a run that the target has more often than the steps before predict it, (N,starts).
  static Expr clipped(const Runs& own, const Runs& found, int64_t starts) {
    const Expr same = own.same();
    const Expr earlier = apply("greater", numbers_along(same, 1, starts), numbers_along(same, 2, starts));
    const Expr before = sum(same * earlier, {2}), times = sum(found.same(), {2});
    return reshape(apply("less", before, times), {same.shape()[0], starts});
  }
};
NEON_REGISTER(Metric, BLEU,
              "Geometric mean of the shares of predicted runs of 1 to 4 labels that the targets have, too, over all "
              "samples (Papineni et al. 2002). Predictions that are too short lower it. Each target is the only "
              "reference.",
              {"BLEUScore"});

}  // namespace

}  // namespace neon
