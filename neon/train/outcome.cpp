#include "neon/train/outcome.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/several_targets.h"

namespace neon {

namespace {

size_t first_largest(const double* from, int64_t width) { return size_t(std::max_element(from, from + width) - from); }

double share_of(double part, double all) { return all > 0 ? part / all : 0; }

ClassReport::OfClass of_counts(int64_t hits, int64_t predicted, int64_t support) {
  ClassReport::OfClass out;
  out.support = support;
  out.predicted = predicted;
  out.precision = share_of(double(hits), double(predicted));
  out.recall = share_of(double(hits), double(support));
  out.f1 = share_of(2 * out.precision * out.recall, out.precision + out.recall);
  out.iou = share_of(double(hits), double(predicted + support - hits));
  return out;
}

ClassReport::OfClass of_class(const std::vector<std::vector<int64_t>>& confusion, size_t k) {
  int64_t predicted = 0, support = 0;
  for (size_t other = 0; other < confusion.size(); ++other) {
    predicted += confusion[other][k];
    support += confusion[k][other];
  }
  return of_counts(confusion[k][k], predicted, support);
}

// Weighted by `weight` of each class.
ClassReport::OfClass mean_of(const std::vector<ClassReport::OfClass>& classes, auto&& weight) {
  ClassReport::OfClass out;
  double all = 0;
  for (const auto& one : classes) {
    all += weight(one);
    out.precision += weight(one) * one.precision;
    out.recall += weight(one) * one.recall;
    out.f1 += weight(one) * one.f1;
    out.iou += weight(one) * one.iou;
    out.support += one.support;
  }
  for (double* mean : {&out.precision, &out.recall, &out.f1, &out.iou}) *mean = share_of(*mean, all);
  return out;
}

// Whether each row is shares of 1, as a softmax makes them.
bool are_shares(const Outcome& outcome) {
  for (int64_t row = 0; row < outcome.size(); ++row) {
    const double* const y = outcome.y.data() + row * outcome.width;
    const double all = std::accumulate(y, y + outcome.width, 0.0);
    if (!(std::abs(all - 1) < 0.01) || *std::min_element(y, y + outcome.width) < 0) return false;
  }
  return outcome.size() > 0;
}

void calibrate(const Outcome& outcome, ClassReport& report) {
  constexpr size_t kBins = 10;
  std::vector<ClassReport::Bin> bins(kBins);
  for (int64_t row = 0; row < outcome.size(); ++row) {
    const double* const y = outcome.y.data() + row * outcome.width;
    const double* const t = outcome.t.data() + row * outcome.width;
    const size_t predicted = first_largest(y, outcome.width);
    const double output = y[predicted];
    ClassReport::Bin& bin = bins[size_t(std::clamp(std::ceil(output * double(kBins)) - 1, 0.0, double(kBins - 1)))];
    bin.output += output;
    bin.right += predicted == first_largest(t, outcome.width);
    ++bin.samples;
  }
  for (size_t k = 0; k < kBins; ++k) {
    ClassReport::Bin& bin = bins[k];
    if (bin.samples == 0) continue;
    bin.low = double(k) / double(kBins);
    bin.high = double(k + 1) / double(kBins);
    bin.output /= double(bin.samples);
    bin.right /= double(bin.samples);
    report.calibration_error += std::abs(bin.output - bin.right) * double(bin.samples) / double(outcome.size());
    report.bins.push_back(bin);
  }
}

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * double(sorted.size() - 1);
  const auto low = size_t(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - double(low)) * (sorted[high] - sorted[low]);
}

}  // namespace

std::vector<Expr> KeptOutputs::sums_of_all(const std::vector<Expr>& outputs, Expr t, Expr weight) const {
  int64_t width = 0;
  for (const Expr& output : outputs) width += output.shape()[1];
  if (width != t.shape()[1] || outputs[0].shape()[0] != t.shape()[0] || weight.shape()[0] != t.shape()[0]) return {};
  return partial(joined_outputs(outputs), t, weight);
}

Outcome outcome_of(const std::vector<std::vector<double>>& sums) {
  Outcome out;
  if (sums.size() != 3 || sums[2].empty()) return out;
  const size_t rows = sums[2].size();
  out.width = int64_t(sums[0].size() / rows);
  for (size_t row = 0; row < rows; ++row) {
    if (sums[2][row] == 0) continue;  // it only fills up the last batch
    for (int64_t k = 0; k < out.width; ++k) {
      out.y.push_back(sums[0][row * size_t(out.width) + size_t(k)]);
      out.t.push_back(sums[1][row * size_t(out.width) + size_t(k)]);
    }
  }
  return out;
}

ClassReport class_report(std::vector<std::vector<int64_t>> confusion) {
  ClassReport out;
  int64_t right = 0, all = 0;
  for (size_t k = 0; k < confusion.size(); ++k) {
    out.classes.push_back(of_class(confusion, k));
    right += confusion[k][k];
    all += out.classes.back().support;
  }
  out.accuracy = share_of(double(right), double(all));
  out.macro =
      mean_of(out.classes, [](const ClassReport::OfClass& one) { return one.support + one.predicted > 0 ? 1.0 : 0.0; });
  out.weighted = mean_of(out.classes, [](const ClassReport::OfClass& one) { return double(one.support); });
  out.confusion = std::move(confusion);
  return out;
}

ClassReport class_report(const Outcome& outcome) {
  const auto classes = size_t(outcome.width);
  std::vector<std::vector<int64_t>> confusion(classes, std::vector<int64_t>(classes, 0));
  for (int64_t row = 0; row < outcome.size(); ++row) {
    const size_t truth = first_largest(outcome.t.data() + row * outcome.width, outcome.width),
                 predicted = first_largest(outcome.y.data() + row * outcome.width, outcome.width);
    ++confusion[truth][predicted];
  }
  ClassReport out = class_report(std::move(confusion));
  if (are_shares(outcome)) calibrate(outcome, out);
  return out;
}

ClassReport label_report(const Outcome& outcome) {
  ClassReport out;
  const auto labels = size_t(outcome.width);
  std::vector<int64_t> hits(labels), predicted(labels), support(labels);
  int64_t right = 0;
  for (int64_t row = 0; row < outcome.size(); ++row) {
    bool all = true;
    for (size_t k = 0; k < labels; ++k) {
      const bool truth = outcome.t[size_t(row) * labels + k] >= 0.5, found = outcome.y[size_t(row) * labels + k] >= 0.5;
      hits[k] += truth && found, predicted[k] += found, support[k] += truth;
      all = all && truth == found;
    }
    right += all;
  }
  for (size_t k = 0; k < labels; ++k) out.classes.push_back(of_counts(hits[k], predicted[k], support[k]));
  out.accuracy = share_of(double(right), double(outcome.size()));
  out.macro = mean_of(out.classes, [](const ClassReport::OfClass&) { return 1.0; });
  out.weighted = mean_of(out.classes, [](const ClassReport::OfClass& one) { return double(one.support); });
  return out;
}

ValueReport value_report(const Outcome& outcome, int64_t output) {
  ValueReport out;
  const int64_t n = outcome.size();
  if (n == 0) return out;
  std::vector<double> gaps;
  double mean = 0, spread = 0, squares = 0;
  bool alike = true;  // all targets
  for (int64_t row = 0; row < n; ++row) {
    const size_t at = size_t(row * outcome.width + output);
    const double gap = outcome.y[at] - outcome.t[at];
    alike = alike && outcome.t[at] == outcome.t[size_t(output)];
    gaps.push_back(gap);
    mean += outcome.t[at] / double(n);
    out.bias += gap / double(n);
    out.mae += std::abs(gap) / double(n);
    squares += gap * gap;
    if (std::abs(gap) > out.largest) out.largest = std::abs(gap), out.largest_at = row / outcome.rows_of_sample;
  }
  for (int64_t row = 0; row < n; ++row) {
    const double t = outcome.t[size_t(row * outcome.width + output)] - mean, gap = gaps[size_t(row)] - out.bias;
    spread += t * t;
    out.deviation += gap * gap / double(n);
  }
  if (!outcome.numbers.empty()) out.largest_at = outcome.numbers[size_t(out.largest_at)];
  out.deviation = std::sqrt(out.deviation);
  out.rmse = std::sqrt(squares / double(n));
  out.r2 = !alike ? 1 - squares / spread : squares == 0 ? 1 : 0;
  std::ranges::sort(gaps);
  constexpr double kShares[] = {0.05, 0.25, 0.5, 0.75, 0.95};
  for (size_t k = 0; k < out.quantiles.size(); ++k) out.quantiles[k] = quantile(gaps, kShares[k]);
  return out;
}

}  // namespace neon
