// Plain kernels of sequences of labels.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/plain.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

const double kNone = -std::numeric_limits<double>::infinity();

double log_sum(double a, double b) {
  if (a == kNone || b == kNone) return a == kNone ? b : a;
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

// The paths of one sample: states 0, 2, 4 ... are blanks, state 2 i + 1 is label i.
struct Paths {
  Paths(const Tensor& z, const Tensor& labels, const Tensor& lengths, int64_t n, int64_t blank)
      : z(z), n(n), steps(int64_t(lengths.at(n))) {
    const int64_t most = labels.shape()[1];
    classes = {blank};
    for (int64_t i = 0; i < most && labels.at(n * most + i) >= 0; ++i) {
      classes.push_back(int64_t(labels.at(n * most + i)));
      classes.push_back(blank);
    }
  }
  int64_t states() const { return int64_t(classes.size()); }
  double at(int64_t t, int64_t s) const {
    const int64_t k = classes[size_t(s)];
    return k < z.shape()[2] ? z.at((n * z.shape()[1] + t) * z.shape()[2] + k) : kNone;
  }
  // Whether a path goes from state s - 2 to s: between two labels that differ.
  bool skips(int64_t s) const { return s % 2 == 1 && s > 1 && classes[size_t(s)] != classes[size_t(s - 2)]; }
  // Logarithms of the sums over all paths that are at a state at a step, up to that step.
  std::vector<std::vector<double>> forward() const {
    std::vector<std::vector<double>> out(size_t(steps), std::vector<double>(size_t(states()), kNone));
    for (int64_t t = 0; t < steps; ++t)
      for (int64_t s = 0; s < states(); ++s) {
        double sum = t == 0 && s < 2 ? 0 : kNone;
        for (int64_t from = s; t > 0 && from >= std::max<int64_t>(0, s - (skips(s) ? 2 : 1)); --from)
          sum = log_sum(sum, out[size_t(t - 1)][size_t(from)]);
        out[size_t(t)][size_t(s)] = sum + at(t, s);
      }
    return out;
  }
  // The same from the step behind that step on.
  std::vector<std::vector<double>> backward() const {
    std::vector<std::vector<double>> out(size_t(steps), std::vector<double>(size_t(states()), kNone));
    for (int64_t t = steps - 1; t >= 0; --t)
      for (int64_t s = 0; s < states(); ++s) {
        double sum = t == steps - 1 && s >= states() - 2 ? 0 : kNone;
        for (int64_t to = s; t < steps - 1 && to <= std::min(s + 2, states() - 1); ++to)
          if (to < s + 2 || skips(to)) sum = log_sum(sum, out[size_t(t + 1)][size_t(to)] + at(t + 1, to));
        out[size_t(t)][size_t(s)] = sum;
      }
    return out;
  }
  double cost(const std::vector<std::vector<double>>& forward) const {
    if (steps == 0) return states() == 1 ? 0 : -kNone;
    double sum = forward.back().back();
    if (states() > 1) sum = log_sum(sum, forward.back()[size_t(states() - 2)]);
    return -sum;
  }

  const Tensor& z;
  const int64_t n, steps;
  std::vector<int64_t> classes;
};

void plain_ctc(PlainArguments& a) {
  for (int64_t n = 0; n < a.outputs[0].elements(); ++n) {
    const Paths paths(a.inputs[0], a.inputs[1], a.inputs[2], n, a.node.attributes.integer("blank"));
    a.outputs[0].set(n, paths.cost(paths.forward()));
  }
}

void plain_ctc_grad(PlainArguments& a) {
  const Tensor& z = a.inputs[0];
  for (int64_t i = 0; i < z.elements(); ++i) a.outputs[0].set(i, 0);
  for (int64_t n = 0; n < z.shape()[0]; ++n) {
    const Paths paths(z, a.inputs[1], a.inputs[2], n, a.node.attributes.integer("blank"));
    const auto forward = paths.forward(), backward = paths.backward();
    const double cost = paths.cost(forward);
    if (!std::isfinite(cost)) continue;
    std::vector<double> row(size_t(z.shape()[2]));
    for (int64_t t = 0; t < paths.steps; ++t) {
      std::ranges::fill(row, 0);
      for (int64_t s = 0; s < paths.states(); ++s)
        row[size_t(paths.classes[size_t(s)])] -=
            a.inputs[3].at(n) * std::exp(forward[size_t(t)][size_t(s)] + backward[size_t(t)][size_t(s)] + cost);
      for (size_t k = 0; k < row.size(); ++k)
        a.outputs[0].set((n * z.shape()[1] + t) * z.shape()[2] + int64_t(k), row[k]);
    }
  }
}

std::vector<int64_t> labels_that_count(const Tensor& from, int64_t n) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < from.shape()[1]; ++i)
    if (const double label = from.at(n * from.shape()[1] + i); label >= 0) out.push_back(int64_t(label));
  return out;
}

void plain_edit_distance(PlainArguments& a) {
  for (int64_t n = 0; n < a.outputs[0].elements(); ++n) {
    const auto x = labels_that_count(a.inputs[0], n), y = labels_that_count(a.inputs[1], n);
    std::vector<std::vector<int64_t>> d(x.size() + 1, std::vector<int64_t>(y.size() + 1));
    for (size_t i = 0; i <= x.size(); ++i)
      for (size_t j = 0; j <= y.size(); ++j) {
        d[i][j] = int64_t(i + j);
        if (i == 0 || j == 0) continue;
        const int64_t left_out = d[i - 1][j] + 1, put_in = d[i][j - 1] + 1;
        const int64_t kept = d[i - 1][j - 1] + (x[i - 1] != y[j - 1]);
        d[i][j] = std::min({left_out, put_in, kept});
      }
    a.outputs[0].set(n, double(d[x.size()][y.size()]));
  }
}

const PlainRegistration plain_label_functions[] = {
    {ops::ctc, plain_ctc}, {ops::ctc_grad, plain_ctc_grad}, {ops::edit_distance, plain_edit_distance}};

}  // namespace

}  // namespace neon::cpu
