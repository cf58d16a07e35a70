#include "datasets/test_images.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "datasets/folds.h"
#include "datasets/hash.h"
#include "datasets/stratify.h"
#include "datasets/table_cell.h"
#include "neon/core/random.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

constexpr double kShareByDefault = 0.2;
constexpr const char* kTestStream = "images/test";
constexpr int kRulesOfGroups = 4;

// Images with several targets are drawn by the classes of the first target that has them.
struct DrawnClasses {
  std::vector<int32_t> labels;  // by image
  int64_t classes = 1;
};

DrawnClasses classes_to_draw(const ImageSet& set, const DataContext& context) {
  DrawnClasses out;
  for (const LabelledImage& image : set.images) out.labels.push_back(image.label);
  if (set.targets.empty()) out.classes = set.classes;
  const size_t k = first_of_classes(set.targets);
  if (k == set.targets.size() || context.rules < kRulesOfTargetClasses) return out;
  out.classes = set.targets[k].width;
  const int64_t columns = columns_of(set.targets), first = first_column_of(set.targets, k);
  for (size_t i = 0; i < out.labels.size(); ++i)
    out.labels[i] = int32_t(set.target_rows.at(set.images[i].row * columns + first));
  return out;
}

// The images in an order drawn by the streams (seed, name/...): by class and name, wherever the folder or archive is.
std::vector<int64_t> order_by_name(const ImageSet& set, uint64_t seed, std::string_view name) {
  struct Drawn {
    uint64_t number;
    const std::string* name;
    int64_t index;
  };
  std::vector<Drawn> drawn;
  for (size_t i = 0; i < set.images.size(); ++i) {
    const LabelledImage& image = set.images[i];
    const std::string file = image.name.substr(image.name.rfind('/') + 1);
    Stream stream(seed, text(name, '/', name_at(set.class_names, image.label), '/', file));
    const uint64_t high = stream.bits();
    drawn.push_back({high << 32 | stream.bits(), &image.name, int64_t(i)});
  }
  std::ranges::sort(drawn, [](const Drawn& a, const Drawn& b) {
    return a.number != b.number ? a.number < b.number : *a.name < *b.name;
  });
  std::vector<int64_t> out;
  for (const Drawn& one : drawn) out.push_back(one.index);
  return out;
}

// As versions of rules 1 to 3 drew them.
void draw_by_place(ImageSet& set, int64_t count, const DataContext& context) {
  const auto [labels, classes] = classes_to_draw(set, context);
  const auto n = int64_t(labels.size());
  const auto order = context.rules >= 2 ? order_by_class(labels, classes, count, context.seed, kTestStream)
                                        : drawn_order(n, context.seed, kTestStream);
  for (int64_t i = n - count; i < n; ++i) set.images[size_t(order[size_t(i)])].part = LabelledImage::test;
}

}  // namespace

TestShare read_test_share(const std::string& written) {
  TestShare out;
  if (written == "auto") return {kShareByDefault, true};
  if (written == "none") return out;
  if (!parse_number(written, out.share) || !(out.share >= 0 && out.share < 1))
    fail(ErrorKind::config, "test: ", in_quotes(written), " is neither auto, nor none, nor a share from 0 to below 1");
  return out;
}

namespace {

// The default share of the images, without the last one of any class.
int64_t count_by_default(const ImageSet& set, const DataContext& context) {
  const auto [labels, classes] = classes_to_draw(set, context);
  std::vector<bool> seen(static_cast<size_t>(classes));
  for (const int32_t label : labels) seen[size_t(label)] = true;
  const auto n = int64_t(set.images.size());
  return std::min<int64_t>(std::llround(kShareByDefault * double(n)), n - std::ranges::count(seen, true));
}

GroupedSamples grouped_images(const ImageSet& set, const DataContext& context) {
  GroupedSamples out;
  const auto [labels, classes] = classes_to_draw(set, context);
  out.labels = labels, out.classes = classes;
  out.groups = set.groups;
  return out;
}

// Gives so many images to the test, and returns how many these are, which may be fewer.
int64_t give_to_test(ImageSet& set, int64_t count, uint64_t seed, const DataContext& context) {
  set.groups = same_bytes(set);
  GroupedSamples samples = grouped_images(set, context);
  samples.order = order_by_name(set, seed, kTestStream);
  samples.class_rank = drawn_order(samples.classes, seed, text(kTestStream, "/classes"));
  const std::vector<bool> taken = take_groups(samples, count);
  for (size_t i = 0; i < taken.size(); ++i)
    if (taken[i]) set.images[i].part = LabelledImage::test;
  return std::ranges::count(taken, true);
}

void draw_by_default(ImageSet& set, const DataContext& context) {
  const int64_t count = count_by_default(set, context), taken = count > 0 ? give_to_test(set, count, 0, context) : 0;
  const size_t n = set.images.size();
  context.note(taken == 0 ? text(set.source, ": ", n, " images are too few to keep some for the test")
                          : text(set.source, ": has no test images, so ", taken, " of its ", n,
                                 " are kept for the test, the same in every run; test: none trains with all"));
}

void take_fold_of(ImageSet& set, const Dataset::Common& common, const DataContext& context) {
  set.groups = same_bytes(set);
  GroupedSamples samples = grouped_images(set, context);
  samples.order = order_by_name(set, 0, "images/folds");
  const size_t k = first_of_classes(set.targets);
  warn_of_small_classes(samples, k < set.targets.size() ? set.targets[k].names : set.class_names, common.folds,
                        set.source, context);
  const std::vector<int64_t> folds = fold_of_each(samples, common.folds);
  for (size_t i = 0; i < folds.size(); ++i)
    if (folds[i] == common.fold - 1) set.images[i].part = LabelledImage::test;
  set.took_fold = true;
}

void draw_share(ImageSet& set, const TestShare& test, bool has_test, const DataContext& context) {
  if (test.by_default) {
    if (context.rules >= kRulesOfGroups && !has_test) draw_by_default(set, context);
    return;
  }
  if (has_test)
    fail(ErrorKind::config, "test: ", test.share, " of the training images, but ", set.source,
         " has test images of its own");
  const auto n = int64_t(set.images.size()), count = int64_t(std::llround(test.share * double(n)));
  if (count == 0 || count >= n)
    fail(ErrorKind::data, set.source, ": ", n, " images are too few to test with ", test.share, " of them");
  if (context.rules < kRulesOfGroups) return draw_by_place(set, count, context);
  if (give_to_test(set, count, context.seed, context) == 0)
    fail(ErrorKind::data, set.source, ": too few of its ", n,
         " images differ in their bytes to test with some of them");
}

}  // namespace

void draw_test_images(ImageSet& set, const TestShare& test, const Dataset::Common& common, const DataContext& context) {
  const auto tested = std::ranges::count(set.images, LabelledImage::test, &LabelledImage::part);
  if (common.folds > 0 && test.share > 0 && !test.by_default)
    fail(ErrorKind::config, "folds and test: ", test.share, " are both given; leave one out");
  check_folds(common, int64_t(set.images.size()) - tested, tested, set.source);
  if (common.folds > 0) take_fold_of(set, common, context);
  else if (test.share > 0) draw_share(set, test, tested > 0, context);
  if (common.validation > 0 && set.groups.empty() && context.rules >= kRulesOfGroups) set.groups = same_bytes(set);
}

namespace {

void warn_of_trained_copies(const ImageSet& set, const std::vector<int64_t>& groups, const DataContext& context) {
  std::unordered_map<int64_t, size_t> trained;
  for (size_t i = 0; i < groups.size(); ++i)
    if (set.images[i].part == LabelledImage::train) trained.emplace(groups[i], i);
  int64_t copies = 0;
  std::string first;
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto found = trained.find(groups[i]);
    if (set.images[i].part == LabelledImage::train || found == trained.end()) continue;
    if (++copies == 1) first = text(in_quotes(set.images[i].name), " is ", in_quotes(set.images[found->second].name));
  }
  if (copies > 0)
    context.warn(text(set.source, ": ", copies, " test or validation images have the same bytes as training images; ",
                      "the first: ", first, "; remove them from one side"));
}

void warn_of_copies_in_classes(const ImageSet& set, const std::vector<int64_t>& groups, const DataContext& context) {
  std::unordered_map<int64_t, size_t> known;
  int64_t copies = 0;
  std::string first;
  for (size_t i = 0; i < groups.size(); ++i) {
    const LabelledImage& other = set.images[known.emplace(groups[i], i).first->second];
    if (other.label == set.images[i].label) continue;
    if (++copies == 1) first = text(in_quotes(set.images[i].name), " is ", in_quotes(other.name));
  }
  if (copies > 0)
    context.warn(text(set.source, ": ", copies, copies == 1 ? " image has" : " images have",
                      " the same bytes as an image of another class; the first: ", first, "; leave each in one class"));
}

}  // namespace

void warn_of_copies(const ImageSet& set, const DataContext& context) {
  const std::vector<int64_t> groups = set.groups.empty() ? same_bytes(set) : set.groups;
  warn_of_trained_copies(set, groups, context);
  warn_of_copies_in_classes(set, groups, context);
}

namespace {

// Indices of images that share a key with another one, in order.
template <typename Key>
std::vector<int64_t> of_shared_keys(const std::vector<int64_t>& images, const std::vector<Key>& keys) {
  std::unordered_map<Key, int64_t> counts;
  for (const Key& key : keys) ++counts[key];
  std::vector<int64_t> out;
  for (size_t i = 0; i < images.size(); ++i)
    if (counts[keys[i]] > 1) out.push_back(images[i]);
  return out;
}

// Images whose files may have the same bytes as others: they share the size and, where a file can be read in part, the
// last bytes, in which files of one camera and one size differ.
std::vector<int64_t> possible_copies(const ImageSet& set) {
  constexpr int64_t kEnd = 4096;
  std::vector<int64_t> all(set.images.size()), sizes;
  for (size_t i = 0; i < all.size(); ++i) all[i] = int64_t(i), sizes.push_back(set.store->bytes_of(set.images[i].name));
  const std::vector<int64_t> same_size = of_shared_keys(all, sizes);
  if (!set.store->only_in_order().empty()) return same_size;
  std::vector<std::string> ends(same_size.size());
  const int threads = available_threads();
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
  for (size_t k = 0; k < same_size.size(); ++k) try {
      const auto image = size_t(same_size[k]);
      ends[k] = text(sizes[image], " ", sha256(set.store->end_of(set.images[image].name, kEnd)));
    } catch (const std::exception&) {  // reported when its samples are read
    }
  return of_shared_keys(same_size, ends);
}

}  // namespace

std::vector<int64_t> same_bytes(const ImageSet& set) {
  const std::vector<LabelledImage>& images = set.images;
  std::vector<int64_t> out(images.size());
  for (size_t i = 0; i < images.size(); ++i) out[i] = int64_t(i);
  const std::vector<int64_t> suspects = possible_copies(set);
  std::vector<std::string> names, sums(suspects.size());
  for (const int64_t i : suspects) names.push_back(images[size_t(i)].name);
  set.store->want(std::move(names));
  const int threads = available_threads();
  for (auto files = set.store->next(); !files.empty(); files = set.store->next()) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (size_t k = 0; k < files.size(); ++k) try {
        set.store->load(files[k]);
        sums[files[k].index] = sha256(files[k].content);
        files[k].content = {};
      } catch (const std::exception&) {  // reported when its samples are read
      }
  }
  std::unordered_map<std::string, int64_t> first;
  for (size_t k = 0; k < suspects.size(); ++k)
    if (!sums[k].empty()) out[size_t(suspects[k])] = first.emplace(sums[k], suspects[k]).first->second;
  return out;
}

}  // namespace neon
