// Macrobatches of neon 0.8 and 0.9: pickles of JPEG files and their labels, read in place.
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

// The number of the first macrobatch to validate with.
int64_t first_to_validate(const std::string& folder) {
  const std::string path = join_path(folder, kCache), content = read_file(path, kMostOfCache);
  const Pickle cache(content, path);
  const PickleNode* const start = cache.find(cache.root(), "val_start");
  if (!start || start->kind != PickleNode::Kind::integer)
    fail(ErrorKind::data, path, ": has no val_start, the number of the first macrobatch to validate with");
  return start->integer;
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

std::unique_ptr<ImageStore> open_macrobatches(const std::string& folder, const std::vector<std::string>& names) {
  const int64_t validation = first_to_validate(folder);
  auto out = std::make_unique<ArchiveStore>(folder);
  std::vector<int64_t> numbers;
  for (const std::string& name : names)
    if (const int64_t number = number_of_batch(name); number >= 0) numbers.push_back(number);
  std::ranges::sort(numbers);
  if (numbers.empty()) fail(ErrorKind::data, folder, ": has ", kCache, ", but no macrobatch ", kBatch, "0");
  for (const int64_t number : numbers)
    add_batch(*out, join_path(folder, text(kBatch, number)), number, number < validation ? "train" : "val");
  out->finish();
  return out;
}

}  // namespace neon
