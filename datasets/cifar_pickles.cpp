#include "datasets/cifar_pickles.h"

#include "datasets/file.h"
#include "datasets/pickle.h"
#include "neon/core/paths.h"
#include "neon/core/text.h"

namespace neon {

namespace {

constexpr std::string_view kNames = ".txt", kRecords = ".bin";

std::string without_end(const std::string& name) { return name.substr(0, name.rfind('.')); }

const PickleNode& value_of(const Pickle& pickle, const char* key, const std::string& source) {
  const PickleNode* const found = pickle.find(pickle.root(), key);
  if (!found) fail(ErrorKind::data, source, ": lacks the key '", key, "'");
  return *found;
}

// "coarse_label_names.txt" -> "coarse_label_names"; CIFAR-10 has one list.
std::string class_names(const Pickle& pickle, const CifarKind& kind, const std::string& name,
                        const std::string& source) {
  const std::string key = kind.labels == 1 ? "label_names" : without_end(name);
  std::string out;
  for (const size_t item : value_of(pickle, key.c_str(), source).items)
    out += text(pickle.text_of(pickle.node(item)), '\n');
  return out;
}

// A byte for each label, and the pixels.
std::string records(const Pickle& pickle, const CifarKind& kind, const std::string& source) {
  const std::vector<const char*> keys =
      kind.labels == 1 ? std::vector{"labels"} : std::vector{"coarse_labels", "fine_labels"};
  std::vector<std::vector<int64_t>> labels;
  for (const char* key : keys) labels.push_back(pickle.integers_of(value_of(pickle, key, source), key));
  const std::string_view pixels = pickle.bytes_of(value_of(pickle, "data", source), "data");
  const size_t count = labels[0].size();
  for (const auto& each : labels)
    if (each.size() != count || pixels.size() != count * size_t(kCifarPixels))
      fail(ErrorKind::data, source, ": ", count, " and ", each.size(), " labels, and ", pixels.size(),
           " pixels; expected ", kCifarPixels, " of each image");
  std::string out;
  out.reserve(count * size_t(kind.labels + kCifarPixels));
  for (size_t i = 0; i < count; ++i) {
    for (const auto& each : labels) {
      if (each[i] < 0 || each[i] > 255) fail(ErrorKind::data, source, ": the label ", each[i], " is no class");
      out += char(each[i]);
    }
    out += pixels.substr(i * size_t(kCifarPixels), size_t(kCifarPixels));
  }
  return out;
}

}  // namespace

bool is_pickled_cifar(const CifarKind& kind, const std::string& place) {
  if (folder_exists(place)) return !file_exists(join_path(place, kind.train.front()));
  return place.ends_with(kind.pickled_archive);
}

std::string pickled_cifar_name(const CifarKind& kind, const std::string& name) {
  if (name.ends_with(kNames)) return kind.labels == 1 ? without_end(name) : "meta";
  return without_end(name);
}

std::string unpickled_cifar(const CifarKind& kind, const std::string& name, const std::string& content,
                            const std::string& source) {
  const Pickle pickle(content, source);
  return name.ends_with(kRecords) ? records(pickle, kind, source) : class_names(pickle, kind, name, source);
}

}  // namespace neon
