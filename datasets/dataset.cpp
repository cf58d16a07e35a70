#include "datasets/dataset.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "datasets/file.h"
#include "datasets/folds.h"
#include "datasets/gzip.h"
#include "datasets/meant_cells.h"
#include "datasets/reconstruction.h"
#include "datasets/untrained_classes.h"
#include "neon/core/message.h"
#include "neon/core/nearest_file.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

bool has_label_shape(const Shape& shape) { return shape.rank() == 1 || (shape.rank() == 2 && shape[1] == 1); }

}  // namespace

Tensor class_labels(const Tensor& raw, int64_t classes, const std::string& source) {
  if (!has_label_shape(raw.shape()))
    fail(ErrorKind::data, source, ": labels have shape ", raw.shape(), ", expected one number a sample: (n) or (n, 1)");
  return pixel_labels(raw, classes, source).reshaped({raw.shape()[0]});
}

Tensor pixel_labels(const Tensor& raw, int64_t classes, const std::string& source) {
  Tensor out(DType::i32, raw.shape());
  auto labels = out.as<int32_t>();
  for (int64_t i = 0; i < raw.elements(); ++i) {
    const double value = raw.at(i);
    if (!(value >= 0 && value < double(classes)) || value != std::floor(value))
      fail(ErrorKind::data, source, ": label ", i, " is ", value, ": with ", classes,
           " classes labels are whole numbers from 0 to ", classes - 1);
    labels[size_t(i)] = int32_t(value);
  }
  return out;
}

int64_t count_classes(const Tensor& raw, const std::string& source) {
  constexpr int64_t kMostClasses = 1 << 24;
  double largest = 1;
  for (int64_t i = 0; i < raw.elements(); ++i) largest = std::max(largest, raw.at(i));
  if (largest >= double(kMostClasses))
    fail(ErrorKind::data, source, ": has the label ", largest, ", more than the ", kMostClasses,
         " classes there may be; is it a value to regress to?");
  return int64_t(largest) + 1;
}

Tensor input_array(const Tensor& raw, const std::string& source) {
  if (raw.shape().rank() == 0) fail(ErrorKind::data, source, ": holds a single number, expected a row for each sample");
  if (raw.dtype() == DType::u8) return raw;
  Tensor out = raw.dtype() == DType::f32 ? raw : raw.converted(DType::f32);
  if (!is_floating(raw.dtype())) return out;
  const auto values = out.as<float>();
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) {
      const size_t row = values.size() / size_t(raw.shape()[0]);
      fail(ErrorKind::data, source, ": row ", i / row, ", element ", i % row, " is ", raw.at(int64_t(i)),
           ": expected finite numbers of at most 3.4e38");
    }
  return out;
}

std::string class_list(const std::vector<int64_t>& classes, const std::vector<std::string>& names) {
  constexpr size_t kMost = 10;
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(classes.size(), kMost); ++i) {
    const auto k = size_t(classes[i]);
    out.push_back(k < names.size() ? in_quotes(names[k]) : std::to_string(k));
  }
  return join(out, ", ") + (classes.size() > kMost ? text(" and ", classes.size() - kMost, " more") : "");
}

std::string test_part(const std::string& test, const Dataset::Common& common) {
  return test != "auto" ? test : common.folds > 0 ? "0" : "0.2";
}

Tensor take_rows(const Tensor& from, const std::vector<int64_t>& rows) {
  Tensor out(from.dtype(), from.shape().with(0, int64_t(rows.size())));
  const size_t row = from.shape()[0] ? from.bytes() / size_t(from.shape()[0]) : 0;
  for (size_t i = 0; i < rows.size(); ++i)
    std::memcpy(static_cast<char*>(out.data()) + i * row, static_cast<const char*>(from.data()) + size_t(rows[i]) * row,
                row);
  return out;
}

std::vector<int64_t> order_to_take(const Split& samples, const SampleMeaning& meaning, int64_t taken,
                                   const DataContext& context, std::string_view name) {
  const GroupedSamples drawn = grouped_samples(samples, meaning, context.rules);
  if (context.rules < 2 || !drawn.labelled) return drawn_order(samples.size(), context.seed, name);
  return order_by_class(drawn.labels, drawn.classes, taken, context.seed, name);
}

GroupedSamples grouped_samples(const Split& split, const SampleMeaning& meaning, int rules) {
  GroupedSamples out;
  out.labels.resize(size_t(split.size()));
  out.groups = split.groups;
  const size_t k = first_of_classes(meaning.targets);
  if (meaning.classes > 0 && split.labels_samples()) {
    out.labelled = true;
    out.classes = meaning.classes;
    for (size_t i = 0; i < out.labels.size(); ++i) out.labels[i] = split.label(int64_t(i));
  } else if (rules >= kRulesOfTargetClasses && k < meaning.targets.size() && !split.targets.empty()) {
    out.labelled = true;
    out.classes = meaning.targets[k].width;
    const int64_t columns = columns_of(meaning.targets), first = first_column_of(meaning.targets, k);
    for (size_t i = 0; i < out.labels.size(); ++i)
      out.labels[i] = int32_t(split.targets.at(int64_t(i) * columns + first));
  }
  return out;
}

namespace {

// Some of the samples of another reader.
class ChosenSamples : public SampleReader {
 public:
  ChosenSamples(std::shared_ptr<const SampleReader> from, const std::vector<int64_t>& rows)
      : from_(std::move(from)), rows_(rows) {}
  int64_t size() const override { return int64_t(rows_.size()); }
  Shape sample() const override { return from_->sample(); }
  int32_t label(int64_t index) const override { return from_->label(rows_[size_t(index)]); }
  int32_t read(int64_t index, std::span<uint8_t> pixels, ReadScratch& scratch) const override {
    return from_->read(rows_[size_t(index)], pixels, scratch);
  }
  uint32_t checksum(int64_t index) const override { return from_->checksum(rows_[size_t(index)]); }
  bool knows_checksums() const override { return from_->knows_checksums(); }
  LeftOut* left_out() const override { return from_->left_out() ? &left_out_ : nullptr; }

 private:
  std::shared_ptr<const SampleReader> from_;
  const std::vector<int64_t> rows_;
  mutable LeftOut left_out_;
};

// Some of the rows of another reader.
class ChosenRows : public RowReader {
 public:
  ChosenRows(std::shared_ptr<const RowReader> from, const std::vector<int64_t>& rows)
      : from_(std::move(from)), rows_(rows) {}
  int64_t size() const override { return int64_t(rows_.size()); }
  size_t input_bytes() const override { return from_->input_bytes(); }
  size_t target_bytes() const override { return from_->target_bytes(); }
  DType dtype() const override { return from_->dtype(); }
  DType target_dtype() const override { return from_->target_dtype(); }
  Shape target() const override { return from_->target(); }
  int64_t label_count() const override { return size() * labels_of_one(); }
  int32_t label(int64_t i) const override {
    return from_->label(rows_[size_t(i / labels_of_one())] * labels_of_one() + i % labels_of_one());
  }
  int64_t at_once() const override { return from_->at_once(); }
  void read_row(int64_t index, std::span<std::byte> input, std::span<std::byte> target,
                ReadScratch& scratch) const override {
    from_->read_row(rows_[size_t(index)], input, target, scratch);
  }

 private:
  int64_t labels_of_one() const { return from_->label_count() / from_->size(); }
  const std::shared_ptr<const RowReader> from_;
  const std::vector<int64_t> rows_;
};

}  // namespace

Split rows_of(const Split& from, const std::vector<int64_t>& rows) {
  Split out;
  if (!from.identity.empty()) {
    const std::string_view bytes(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof rows[0]);
    out.identity = text(from.identity, " rows ", crc32_of(bytes));
  }
  out.numbers.reserve(rows.size());
  for (const int64_t row : rows) out.numbers.push_back(from.number(row));
  out.paths = from.paths;
  if (!from.groups.empty())
    for (const int64_t row : rows) out.groups.push_back(from.groups[size_t(row)]);
  if (from.files) out.files = std::make_shared<ChosenSamples>(from.files, rows);
  if (from.reader) {
    out.reader = from.reader == from.files ? out.files : std::make_shared<ChosenSamples>(from.reader, rows);
    return out;
  }
  if (from.rows) {
    out.rows = std::make_shared<ChosenRows>(from.rows, rows);
    return out;
  }
  out.inputs = take_rows(from.inputs, rows);
  if (!from.targets.empty()) out.targets = take_rows(from.targets, rows);
  return out;
}

namespace {

// Different rows of n, as they lie.
std::vector<int64_t> as_they_lie(std::span<const int64_t> rows, int64_t n) {
  std::vector<bool> among(static_cast<size_t>(n));
  for (const int64_t row : rows) among[size_t(row)] = true;
  std::vector<int64_t> out;
  out.reserve(rows.size());
  for (int64_t row = 0; row < n; ++row)
    if (among[size_t(row)]) out.push_back(row);
  return out;
}

}  // namespace

void split_rows(const Split& all, const std::vector<int64_t>& order, int64_t train_count, Split& first, Split& rest) {
  const std::span<const int64_t> rows(order);
  const auto part = [&](std::span<const int64_t> of) {
    return of.empty() ? Split{} : rows_of(all, as_they_lie(of, all.size()));
  };
  Split a = part(rows.first(size_t(train_count))), b = part(rows.subspan(size_t(train_count)));
  first = std::move(a);
  rest = std::move(b);
}

namespace {

// Samples left of n by subset_pct; at least one.
int64_t subset_size(int64_t n, double percent) {
  return percent >= 100 ? n : std::max<int64_t>(1, int64_t(double(n) * percent / 100));
}

[[noreturn]] void no_training_samples(const std::string& source) {
  fail(ErrorKind::data, source, ": there are no training samples");
}

// Samples kept apart of n by the parameter `validation`; `own`: validation samples that the source has.
int64_t validation_size(double validation, int64_t n, int64_t own, const std::string& source) {
  if (validation == 0) return 0;
  if (own > 0)
    fail(ErrorKind::config, "validation: ", validation, " takes samples from the training set, but ", source, " has ",
         own, " validation samples of its own; leave it out");
  if (validation >= 1 && validation != std::floor(validation))
    fail(ErrorKind::config, "validation: ", validation, " is neither a number of samples nor a share below 1");
  if (validation >= double(n))
    fail(ErrorKind::config, "validation: ", validation, " leaves none of the ", n, " training samples to train with");
  const int64_t out = validation < 1 ? std::llround(validation * double(n)) : int64_t(validation);
  if (out == 0 || out == n)
    fail(ErrorKind::config, "validation: ", n, " training samples are too few to keep a share of ", validation,
         " apart");
  return out;
}

void check_rows(const Split& split, const char* which, const std::string& source) {
  if (!split.targets.empty() && split.targets.shape()[0] != split.inputs.shape()[0])
    fail(ErrorKind::data, source, ": ", split.size(), " ", which, " samples, but ", split.targets.shape()[0],
         " targets");
}

// Checkpoints keep names as UTF-8, so that two other names could become one.
void check_names_of_classes(const Data& data, const DataContext& context) {
  if (data.tokens > 0 || context.rules < kRulesOfMeantCells) return;
  const auto check = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (!is_utf8(name))
        fail(ErrorKind::data, data.source, ": the name of class ", in_quotes(printable(name)),
             " is not UTF-8; rename it, or save its file as UTF-8");
  };
  check(data.class_names);
  for (const NamedTarget& target : data.targets) check(target.names);
}

// Samples that go on one from the other are never drawn: the first ones stay, and the last of them are the validation
// samples, unless the reader, which knows where a text ends, has taken these.
void split_streams(Data& data, int64_t kept, double validation) {
  const int64_t n = data.train.size();
  const int64_t apart = data.validation.size() > 0 ? 0 : validation_size(validation, kept, 0, data.source);
  if (kept == n && apart == 0) return;
  std::vector<int64_t> order(static_cast<size_t>(kept));
  std::iota(order.begin(), order.end(), 0);
  Split rest;
  split_rows(data.train, order, kept - apart, data.train, rest);
  if (apart > 0) data.validation = std::move(rest);
}

// Files of the same bytes stay together.
void draw_validation(Data& data, int64_t count, const DataContext& context) {
  constexpr int kRulesOfGroups = 4;
  constexpr const char* kStream = "dataset/validation";
  const int64_t n = data.train.size();
  std::vector<int64_t> order = order_to_take(data.train, data, count, context, kStream);
  if (context.rules >= kRulesOfGroups && !data.train.groups.empty()) {
    GroupedSamples samples = grouped_samples(data.train, data, context.rules);
    samples.order = {order.rbegin(), order.rend()};
    samples.class_rank = drawn_order(samples.classes, context.seed, text(kStream, "/classes"));
    const std::vector<bool> taken = take_groups(samples, count);
    std::ranges::stable_partition(order, [&](int64_t i) { return !taken[size_t(i)]; });
    count = std::ranges::count(taken, true);
  }
  split_rows(data.train, order, n - count, data.train, data.validation);
}

}  // namespace

void Dataset::take_fold(Data& data, const DataContext& context) const {
  if (data.took_fold) return;
  check_folds(common, data.train.size(), data.test.size(), data.source);
  if (common.folds == 0) return;
  if (data.streams || data.took_validation)
    fail(ErrorKind::config, "folds: the samples of ", data.source,
         " follow one another, so that neighbours of tested ones would be trained with; leave folds out");
  split_fold(data, common, context);
}

Data Dataset::finish(Data data, const DataContext& context, bool reconstructs) const {
  data.rules = context.rules;
  data.dtype = data.train.dtype();
  if (data.classes > 0 && !data.train.labels_samples() && data.label_of != LabelOf::sequence &&
      data.label_of != LabelOf::box)
    data.label_of = data.sequence ? LabelOf::step : LabelOf::pixel;
  check_rows(data.train, "training", data.source);
  check_rows(data.test, "test", data.source);
  if (data.train.size() == 0) no_training_samples(data.source);
  if (common.autoencoder && data.tokens > 0)
    fail(ErrorKind::config, "autoencoder: the samples of ", data.source,
         " are tokens, which a net cannot give as numbers; leave it out");
  if (common.autoencoder && common.reconstruct)
    fail(ErrorKind::config, "autoencoder and reconstruct: the first leaves no target but the sample; leave one out");
  if (data.train.size() > int64_t(UINT32_MAX))
    fail(ErrorKind::data, data.source, ": ", data.train.size(), " samples, at most 2^32 - 1 are supported");
  take_fold(data, context);
  const int64_t n = data.train.size();
  const int64_t kept = subset_size(n, common.subset_pct);
  const int64_t apart = data.streams || data.took_validation
                            ? 0
                            : validation_size(common.validation, kept, data.validation.size(), data.source);
  if (data.streams) {
    split_streams(data, kept, common.validation);
  } else if (kept < n) {
    Split unused;
    split_rows(data.train, order_to_take(data.train, data, n - kept, context, "dataset/subset"), kept, data.train,
               unused);
  }
  if (apart > 0) draw_validation(data, apart, context);
  if (!common.autoencoder) {
    check_names_of_classes(data, context);
    warn_of_untrained(data, context);
    note_alike_classes(data, data.source, context);
    if (reconstructs) reconstruct(data);
    return data;
  }
  // Last, so that an autoencoder draws the same samples as a classifier.
  for (Split* split : {&data.train, &data.test, &data.validation}) split->targets = {};
  data.drop_classes();
  return data;
}

void Dataset::reconstruct(Data& data) const {
  if (common.reconstruct && !common.autoencoder) add_samples_to_targets(data);
}

DataCheck Dataset::finish(DataCheck check) const {
  const int64_t counted = check.train_size;
  if (common.autoencoder && check.tokens == 0) check.drop_classes(), check.target = {}, check.class_counts.clear();
  if (check.classes > 0 && check.target.rank() == 2 && check.label_of != LabelOf::box) check.label_of = LabelOf::pixel;
  if (check.classes > 0 && check.label_of == LabelOf::sample) check.target = {1};
  if (common.reconstruct && check.sample.rank() > 0) {
    const std::vector<NamedTarget> targets = targets_with_samples(check.meaning(), check.target, check.source);
    check.drop_classes();
    check.target_standard = {};
    check.targets = targets, check.target = {columns_of(targets)};
  }
  if (check.train_size == 0 && check.found) no_training_samples(check.source);
  if (check.train_size == 0) return check;
  if (!check.took_fold) check_folds(common, check.train_size, check.test_size, check.source);
  if (common.folds > 0 && !check.took_fold) {
    check.test_size = fold_size(common, check.train_size);
    check.train_size -= check.test_size;
  }
  const int64_t kept = subset_size(check.train_size, common.subset_pct);
  const int64_t apart = validation_size(common.validation, kept, check.validation_size, check.source);
  if (apart > 0) check.validation_size = apart;
  check.train_size = kept - apart;
  if (check.train_size != counted) check.class_counts.clear();
  return check;
}

}  // namespace neon
