#include "datasets/shard_copies.h"

#include <map>
#include <memory>
#include <vector>

#include "datasets/image_samples.h"
#include "datasets/shard.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

struct Place {
  const Shard* shard;
  int64_t sample;
  std::string name() const { return in_quotes(shard->where(sample)); }
};

// Damaged contents are no copies.
bool have_same_bytes(const Place& one, const Place& other) {
  try {
    return one.shard->content(one.sample) == other.shard->content(other.sample);
  } catch (const Error&) {
    return false;
  }
}

// How many samples are copies of known ones, and a sentence about the first.
struct Copies {
  int64_t count = 0;
  std::string first;
  void add(const Place& copy, const Place& known) {
    if (++count == 1) first = text(copy.name(), " is ", known.name());
  }
};

}  // namespace

void warn_of_copies(const std::string& folder, const ShardIndex& index, const DataContext& context) {
  using Key = std::pair<uint32_t, int64_t>;  // checksum and length
  std::vector<std::unique_ptr<Shard>> shards;
  std::map<Key, Place> trained, known;
  Copies tested, in_classes;
  for (size_t part = 0; part < index.parts.size(); ++part)  // training samples come first
    for (const ShardIndex::File& file : index.parts[part]) {
      shards.push_back(std::make_unique<Shard>(std::make_unique<FileSource>(join_path(folder, file.name))));
      for (int64_t i = 0; i < shards.back()->size(); ++i) {
        const Place place{shards.back().get(), i};
        const Key key{place.shard->checksum(i), place.shard->content_bytes(i)};
        if (part == LabelledImage::train) trained.emplace(key, place);
        else if (const auto copy = trained.find(key); copy != trained.end() && have_same_bytes(place, copy->second))
          tested.add(place, copy->second);
        const Place& other = known.emplace(key, place).first->second;
        if (other.shard->label(other.sample) != place.shard->label(i) && have_same_bytes(place, other))
          in_classes.add(place, other);
      }
    }
  if (tested.count > 0)
    context.warn(text(folder, ": ", tested.count,
                      " test or validation samples have the same bytes as training samples; the first: ", tested.first,
                      "; remove them from one side, and pack the data again"));
  if (in_classes.count > 0)
    context.warn(text(folder, ": ", in_classes.count, in_classes.count == 1 ? " sample has" : " samples have",
                      " the same bytes as a sample of another class; the first: ", in_classes.first,
                      "; leave each in one class, and pack the data again"));
}

}  // namespace neon
