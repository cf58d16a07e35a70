#include "datasets/folds.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "neon/core/counted.h"

namespace neon {

namespace {

// Folds in the order in which they get samples: those with the fewest of a class first, of these the smallest.
class Dealer {
 public:
  explicit Dealer(int64_t folds) : of_class_(size_t(folds)), of_all_(size_t(folds)) {}

  void begin_class() {
    std::ranges::fill(of_class_, 0);
    queue_.clear();
    for (size_t fold = 0; fold < of_all_.size(); ++fold) queue_.emplace(0, of_all_[fold], fold);
  }

  int64_t deal(int64_t samples) {
    const size_t fold = std::get<2>(*queue_.begin());
    queue_.erase(queue_.begin());
    of_class_[fold] += samples;
    of_all_[fold] += samples;
    queue_.emplace(of_class_[fold], of_all_[fold], fold);
    return int64_t(fold);
  }

 private:
  std::vector<int64_t> of_class_, of_all_;  // samples by fold
  std::set<std::tuple<int64_t, int64_t, size_t>> queue_;
};

}  // namespace

std::vector<int64_t> fold_of_each(const GroupedSamples& samples, int64_t folds) {
  std::vector<std::vector<int64_t>> groups = members_of(samples);
  const auto class_of = [&](const auto& group) { return samples.labels[size_t(group.front())]; };
  std::ranges::stable_sort(groups, [&](const auto& a, const auto& b) {
    return class_of(a) != class_of(b) ? class_of(a) < class_of(b) : a.size() > b.size();
  });
  std::vector<int64_t> out(samples.labels.size());
  Dealer dealer(folds);
  for (size_t g = 0; g < groups.size(); ++g) {
    if (g == 0 || class_of(groups[g]) != class_of(groups[g - 1])) dealer.begin_class();
    const int64_t fold = dealer.deal(int64_t(groups[g].size()));
    for (const int64_t i : groups[g]) out[size_t(i)] = fold;
  }
  return out;
}

void check_folds(const Dataset::Common& common, int64_t samples, int64_t test_samples, const std::string& source) {
  const int64_t folds = common.folds, fold = common.fold;
  if (folds == 0 && fold > 0) fail(ErrorKind::config, "fold: ", fold, " needs their number, as folds: 5");
  if (folds == 0) return;
  if (folds < 2) fail(ErrorKind::config, "folds: ", folds, " is too few; expected 2 or more, or 0 for none");
  if (fold == 0)
    fail(ErrorKind::config, "folds: ", folds, " needs the fold to test with: give fold: 1, up to fold: ", folds);
  if (fold > folds)
    fail(ErrorKind::config, "fold: ", fold, " does not exist; give one of the ", folds, " folds, 1 to ", folds);
  if (test_samples > 0)
    fail(ErrorKind::config, "folds: ", folds, " folds test with every sample once, but ", source, " has ", test_samples,
         " others to test with; leave folds out, or the key or folder that gives those");
  if (folds > samples)
    fail(ErrorKind::config, "folds: ", source, " has ", counted(samples, "sample"), ", too few for ", folds, " folds");
}

int64_t fold_size(const Dataset::Common& common, int64_t samples) {
  return samples / common.folds + (common.fold <= samples % common.folds);
}

void warn_of_small_classes(const GroupedSamples& samples, const std::vector<std::string>& names, int64_t folds,
                           const std::string& source, const DataContext& context) {
  std::vector<int64_t> small, counts(static_cast<size_t>(samples.classes));
  for (const int32_t label : samples.labels) ++counts[size_t(label)];
  for (size_t k = 0; k < counts.size(); ++k)
    if (counts[k] > 0 && counts[k] < folds) small.push_back(int64_t(k));
  if (!small.empty())
    context.warn(text(source, ": fewer samples than the ", folds, " folds are of class ", class_list(small, names),
                      "; some folds test none of these"));
}

void split_fold(Data& data, const Dataset::Common& common, const DataContext& context) {
  Split all = std::move(data.train);
  GroupedSamples samples = grouped_samples(all, data, context.rules);
  const size_t k = first_of_classes(data.targets);
  warn_of_small_classes(samples, k < data.targets.size() ? data.targets[k].names : data.class_names, common.folds,
                        data.source, context);
  samples.order = drawn_order(all.size(), 0, "dataset/folds");
  const std::vector<int64_t> folds = fold_of_each(samples, common.folds);
  std::vector<int64_t> train, test;
  for (size_t i = 0; i < folds.size(); ++i) (folds[i] == common.fold - 1 ? test : train).push_back(int64_t(i));
  data.train = rows_of(all, train);
  data.test = rows_of(all, test);
}

}  // namespace neon
