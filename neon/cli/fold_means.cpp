#include "neon/cli/fold_means.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "neon/core/text.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr size_t kMostLines = 10;

bool is_fold(const std::string& range) { return range == "fold" || range.ends_with(".fold"); }

struct FoldMean {
  std::string others;  // "lr 0.01, "
  double mean = 0, deviation = 0;
  size_t folds = 0;
};

// By number - 1, as of a sample.
FoldMean mean_of(const std::string& others, const std::map<std::string, double>& by_fold) {
  FoldMean out{others, 0, 0, by_fold.size()};
  const auto n = double(by_fold.size());
  for (const auto& [fold, value] : by_fold) out.mean += value / n;
  for (const auto& [fold, value] : by_fold) out.deviation += (value - out.mean) * (value - out.mean) / (n - 1);
  out.deviation = std::sqrt(out.deviation);
  return out;
}

}  // namespace

std::vector<std::string> fold_lines(const std::vector<Trial>& trials, const Objective& objective) {
  std::map<std::string, std::map<std::string, double>> groups;  // by the other values: objectives by fold
  for (const Trial& trial : trials) {
    if (trial.status != Trial::Status::done || !trial.objective) continue;
    std::string others, fold;
    for (const auto& [name, value] : trial.values)
      if (is_fold(name)) fold = value;
      else others += text(name, " ", value, ", ");
    if (!fold.empty()) groups[others].emplace(fold, *trial.objective);
  }
  std::vector<FoldMean> means;
  for (const auto& [others, by_fold] : groups)
    if (by_fold.size() > 1) means.push_back(mean_of(others, by_fold));
  std::ranges::stable_sort(means, {}, [&](const FoldMean& one) { return objective.cost(one.mean); });
  std::vector<std::string> out;
  for (const FoldMean& one : means) {
    if (out.size() == kMostLines) {
      out.push_back(text("and ", means.size() - kMostLines, " more combinations over the folds"));
      break;
    }
    out.push_back(text(one.others, "mean of ", one.folds, " folds: ", objective.name, " ", formatted("%.6g", one.mean),
                       ", deviation ", formatted("%.6g", one.deviation)));
  }
  return out;
}

}  // namespace neon
