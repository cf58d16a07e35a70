// Macrobatches of neon 0.8 and 0.9: pickles of JPEG files and their labels, read in place.
#include "datasets/macrobatches.h"

#include <algorithm>
#include <charconv>

#include "datasets/archive_store.h"
#include "datasets/pickle.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

constexpr std::string_view kBatch = "data_batch_";
constexpr const char* kCache = "dataset_cache.pkl";
constexpr int64_t kMostOfCache = int64_t(1) << 28;

// The number of data_batch_NUMBER, -1 of another file.
int64_t number_of_batch(std::string_view name) {
  if (!name.starts_with(kBatch)) return -1;
  name.remove_prefix(kBatch.size());
  int64_t out = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), out);
  return error == std::errc() && rest == name.data() + name.size() ? out : -1;
}

// Fills what the spec leaves open from the cache. Counts that neither has stay open.
void fill_from_cache(const std::string& folder, Macrobatches& out) {
  const std::string path = join_path(folder, kCache), content = read_file(path, kMostOfCache);
  const Pickle cache(content, path);
  const auto fill = [&](const char* key, int64_t least, std::optional<int64_t>& member) {
    if (member) return;
    const PickleNode* const node = cache.find(cache.root(), key);
    if (!node || node->kind == PickleNode::Kind::none) return;
    if (node->kind != PickleNode::Kind::integer || node->integer < least)
      fail(ErrorKind::data, path, ": ", key, " is no whole number from ", least);
    member = node->integer;
  };
  if (out.counts_of_cache) {
    fill("ntrain", 1, out.ntrain);
    fill("train_start", 0, out.train_start);
    fill("nval", 0, out.nval);
  }
  fill("val_start", 0, out.val_start);
  if (!out.train_start) out.train_start = 0;
  if (!out.val_start)
    fail(ErrorKind::data, path, ": has no val_start, the number of the first macrobatch to validate with; to give it: ",
         "macrobatches: {val_start: NUMBER}");
}

// A part's macrobatches: from `start` on, `count` of them, or those before `end`.
struct BatchRange {
  const char *first, *size;  // names of the two numbers
  int64_t start;
  std::optional<int64_t> count;
  int64_t end;
};

std::vector<int64_t> numbers_in(const BatchRange& range, const std::vector<int64_t>& numbers,
                                const std::string& folder) {
  std::vector<int64_t> out;
  for (const int64_t number : numbers)
    if (number >= range.start && (range.count ? number - range.start < *range.count : number < range.end))
      out.push_back(number);
  if (!range.count || int64_t(out.size()) == *range.count) return out;
  int64_t missing = range.start;
  while (size_t(missing - range.start) < out.size() && out[size_t(missing - range.start)] == missing) ++missing;
  fail(ErrorKind::data, folder, ": has no ", kBatch, missing, "; ", range.size, " is ", *range.count, " and ",
       range.first, " ", range.start, " by dataset_cache.pkl and the spec; to choose others: macrobatches: {",
       range.first, ": NUMBER, ", range.size, ": NUMBER}");
}

std::string padded(int64_t number, size_t width) {
  const std::string digits = std::to_string(number);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

void add_batch(ArchiveStore& store, const std::string& path, int64_t number, const char* part) {
  constexpr size_t kDigits = 6;
  const std::string content = read_file(path);
  const Pickle batch(content, path);
  const PickleNode *const images = batch.find(batch.root(), "data"), *const labels = batch.find(batch.root(), "labels");
  if (!images || images->kind != PickleNode::Kind::list || !labels || labels->kind != PickleNode::Kind::map ||
      labels->items.empty())
    fail(ErrorKind::data, path, ": has no list `data` and no map `labels`, as a macrobatch of neon 0.9 has them");
  const PickleNode* const classes = batch.find(*labels, "l_id");
  const std::vector<int64_t> label = batch.integers_of(classes ? *classes : batch.node(labels->items[1]), "its labels");
  if (label.size() != images->items.size())
    fail(ErrorKind::data, path, ": has ", images->items.size(), " images and ", label.size(), " labels");
  std::vector<ArchivePart> parts;
  for (size_t i = 0; i < label.size(); ++i) {
    const PickleNode& image = batch.node(images->items[i]);
    if (image.kind != PickleNode::Kind::text || label[i] < 0)
      fail(ErrorKind::data, path, ": image ", i, " is no JPEG file with a class from 0");
    parts.push_back({text(part, '/', padded(label[i], kDigits), '/', padded(number, kDigits), '_',
                          padded(int64_t(i), kDigits), ".jpg"),
                     int64_t(image.place), int64_t(image.bytes)});
  }
  store.add(path, parts);
}

}  // namespace

bool has_macrobatches(const std::string& folder) { return file_exists(join_path(folder, kCache)); }

std::unique_ptr<ImageStore> open_macrobatches(const std::string& folder, const std::vector<std::string>& names,
                                              const Macrobatches& chosen) {
  Macrobatches used = chosen;
  fill_from_cache(folder, used);
  auto out = std::make_unique<ArchiveStore>(folder);
  std::vector<int64_t> numbers;
  for (const std::string& name : names)
    if (const int64_t number = number_of_batch(name); number >= 0) numbers.push_back(number);
  std::ranges::sort(numbers);
  if (numbers.empty()) fail(ErrorKind::data, folder, ": has ", kCache, ", but no macrobatch ", kBatch, "0");
  const BatchRange train{"train_start", "ntrain", *used.train_start, used.ntrain, *used.val_start},
      validation{"val_start", "nval", *used.val_start, used.nval, numbers.back() + 1};
  const std::vector<int64_t> to_train = numbers_in(train, numbers, folder),
                             to_validate = numbers_in(validation, numbers, folder);
  for (const int64_t number : to_validate)
    if (std::ranges::binary_search(to_train, number))
      fail(ErrorKind::data, folder, ": ", kBatch, number, " is to train and to validate with: ntrain ", to_train.size(),
           " from train_start ", *used.train_start, " on reach val_start ", *used.val_start);
  for (const int64_t number : to_train) add_batch(*out, join_path(folder, text(kBatch, number)), number, "train");
  for (const int64_t number : to_validate) add_batch(*out, join_path(folder, text(kBatch, number)), number, "val");
  out->finish();
  return out;
}

}  // namespace neon
