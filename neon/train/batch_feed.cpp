#include "neon/train/batch_feed.h"

#include "datasets/held_rows.h"
#include "neon/train/memory_feed.h"
#include "neon/train/stream_feed.h"

namespace neon {

namespace {

// Reads batches of the split into a ring; null without a ring. A ring that is no smaller than a set in
// memory would only take more.
std::shared_ptr<const RowReader> rows_to_stream(const Split& split, int64_t batch) {
  if (split.reader) return split.reader;
  if (split.rows) return split.rows;
  if (!split.stays_on_host) return nullptr;
  auto rows = std::make_shared<const HeldRows>(split);
  return ring_samples(rows->size(), batch, rows->bytes()) < rows->size() ? rows : nullptr;
}

}  // namespace

SampleLabels labels_to_draw_by(SampleOrder order, const Split& split, const std::vector<NamedTarget>& targets) {
  if (order != SampleOrder::balanced) return nullptr;
  std::vector<int32_t> labels;
  const int64_t columns = columns_of(targets), column = first_column_of(targets, first_of_classes(targets));
  for (int64_t i = 0; i < split.size(); ++i)
    labels.push_back(targets.empty() ? split.label(i) : int32_t(split.targets.at(i * columns + column)));
  return std::make_shared<const std::vector<int32_t>>(std::move(labels));
}

std::unique_ptr<BatchFeed> make_feed(const Split& split, const FeedOptions& given) {
  FeedOptions options = given;
  if (!options.labels) options.labels = labels_to_draw_by(options.order, split);
  if (auto rows = rows_to_stream(split, options.batch)) return std::make_unique<StreamFeed>(std::move(rows), options);
  return std::make_unique<MemoryFeed>(split, options);
}

FeedBytes feed_bytes(const Split& split, const FeedOptions& options) {
  const size_t told = (options.weight ? size_of(*options.weight) : 0) + (options.samples ? sizeof(SampleKey) : 0);
  FeedBytes out;
  if (const auto rows = rows_to_stream(split, options.batch)) {
    out.rows = ring_samples(rows->size(), options.batch, rows->bytes());
    out.shared = size_t(out.rows) * (rows->bytes() + told);
    out.each = size_t(out.rows) * sizeof(int32_t);
  } else {
    const int64_t whole = (split.size() + options.batch - 1) / options.batch * options.batch;
    out.rows = split.size();
    out.shared = split.inputs.bytes() + split.targets.bytes();
    out.each = size_t(options.weight ? whole : split.size()) * (sizeof(int32_t) + told);
  }
  return out;
}

DeviceOptions with_sequences(DeviceOptions options) {
  options.sequences = BatchFeed::sequences();
  return options;
}

std::vector<std::string> left_out_messages(const Data& data) {
  std::vector<std::string> out;
  const std::pair<const Split*, const char*> splits[] = {
      {&data.train, "training"}, {&data.validation, "validation"}, {&data.test, "test"}};
  for (const auto& [split, name] : splits) {
    const LeftOut* const noted = split->reader ? split->reader->left_out() : nullptr;
    if (!noted || noted->count() == 0) continue;
    const bool one = noted->count() == 1;
    const std::string instead = split != &data.train ? ""
                                : one                ? ", and another stood in for it"
                                                     : ", and others stood in for them";
    out.push_back(text("warning: ", printable(data.source), ": ", noted->count(), " of ", split->size(), " ", name,
                       one ? " images was left out" : " images were left out", instead,
                       "; the first: ", printable(noted->first())));
  }
  return out;
}

Tensor target_rows(const Tensor& targets) {
  return !targets.empty() && targets.shape().rank() == 1 ? targets.reshaped({targets.shape()[0], 1}) : targets;
}

}  // namespace neon
