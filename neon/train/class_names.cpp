#include "neon/train/class_names.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "datasets/sample_meaning_json.h"
#include "neon/core/counted.h"
#include "neon/train/checkpoint.h"

namespace neon {

namespace {

constexpr size_t kMostShown = 8;

// As a checkpoint holds a name, which is UTF-8 alone.
std::string as_stored(const std::string& name) {
  if (is_utf8(name)) return name;
  return nlohmann::json::parse(nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::map<std::string, int32_t> numbered(const std::vector<std::string>& names) {
  std::map<std::string, int32_t> out;
  for (const std::string& name : names) out.emplace(as_stored(name), int32_t(out.size()));
  return out;
}

// Names that `others` does not have: "airplane, bird and 3 more".
std::string names_without(const std::vector<std::string>& names, const std::map<std::string, int32_t>& others) {
  std::vector<std::string> left;
  for (const std::string& name : names)
    if (!others.contains(as_stored(name))) left.push_back(in_quotes(name));
  const size_t more = left.size() > kMostShown ? left.size() - kMostShown : 0;
  left.resize(left.size() - more);
  return join(left, ", ") + (more ? text(" and ", more, " more") : "");
}

// The same samples with other labels.
class Renumbered : public SampleReader {
 public:
  Renumbered(std::shared_ptr<const SampleReader> from, std::vector<int32_t> numbers)
      : from_(std::move(from)), numbers_(std::move(numbers)) {}
  int64_t size() const override { return from_->size(); }
  Shape sample() const override { return from_->sample(); }
  int32_t label(int64_t index) const override { return numbers_.at(size_t(from_->label(index))); }
  int32_t read(int64_t index, std::span<uint8_t> pixels, ReadScratch& scratch) const override {
    return numbers_.at(size_t(from_->read(index, pixels, scratch)));
  }
  uint32_t checksum(int64_t index) const override { return from_->checksum(index); }
  bool knows_checksums() const override { return from_->knows_checksums(); }
  LeftOut* left_out() const override { return from_->left_out(); }

 private:
  const std::shared_ptr<const SampleReader> from_;
  const std::vector<int32_t> numbers_;
};

// Gives rows (most,6) of boxes other classes, but rows of class -1, which fill up the list.
void renumber_boxes(std::span<float> rows, const std::vector<int32_t>& numbers) {
  for (size_t k = 0; k < rows.size(); k += size_t(kBoxNumbers))
    if (rows[k] >= 0) rows[k] = float(numbers.at(size_t(rows[k])));
}

// The same images with other classes of their boxes.
class RenumberedBoxes : public RowReader {
 public:
  RenumberedBoxes(std::shared_ptr<const RowReader> from, std::vector<int32_t> numbers)
      : from_(std::move(from)), numbers_(std::move(numbers)) {}
  int64_t size() const override { return from_->size(); }
  size_t input_bytes() const override { return from_->input_bytes(); }
  size_t target_bytes() const override { return from_->target_bytes(); }
  DType dtype() const override { return from_->dtype(); }
  DType target_dtype() const override { return from_->target_dtype(); }
  Shape target() const override { return from_->target(); }
  int64_t label_count() const override { return from_->label_count(); }
  int32_t label(int64_t index) const override {
    const int32_t label = from_->label(index);
    return label < 0 ? label : numbers_.at(size_t(label));
  }
  int64_t at_once() const override { return from_->at_once(); }
  void read_row(int64_t index, std::span<std::byte> input, std::span<std::byte> target,
                ReadScratch& scratch) const override {
    from_->read_row(index, input, target, scratch);
    renumber_boxes({reinterpret_cast<float*>(target.data()), target.size() / sizeof(float)}, numbers_);
  }

 private:
  const std::shared_ptr<const RowReader> from_;
  const std::vector<int32_t> numbers_;
};

}  // namespace

std::vector<std::string> class_names_in(const TensorFile& checkpoint) try {
  const auto found = checkpoint.metadata.find("neon.classes");
  if (found == checkpoint.metadata.end()) return {};
  return nlohmann::json::parse(found->second).get<std::vector<std::string>>();
} catch (const nlohmann::json::exception&) {
  return {};
}

std::optional<SampleMeaning> samples_in(const TensorFile& checkpoint) try {
  const auto data = checkpoint.metadata.find("neon.data"), classes = checkpoint.metadata.find("neon.classes");
  if (data == checkpoint.metadata.end()) return {};
  return read_meaning({data->second, classes == checkpoint.metadata.end() ? "" : classes->second});
} catch (const std::exception&) {  // of another program
  return {};
}

bool same_classes(const std::vector<std::string>& names, const std::vector<std::string>& trained) {
  const auto here = numbered(names), there = numbered(trained);
  const bool one_of_each_name = here.size() == names.size() && there.size() == trained.size();
  return one_of_each_name && std::ranges::equal(here, there, {}, &std::pair<const std::string, int32_t>::first,
                                                &std::pair<const std::string, int32_t>::first);
}

namespace {

// The number that the net has for each of the classes `names` of `source`.
std::vector<int32_t> numbers_of(const std::vector<std::string>& names, const std::vector<std::string>& trained,
                                const std::string& source, const std::string& path, bool some) {
  const auto here = numbered(names), there = numbered(trained);
  const std::string unknown = names_without(names, there), missing = some ? "" : names_without(trained, here);
  if (!unknown.empty() || !missing.empty())
    fail(ErrorKind::data, source, ": its classes are not those of ", path,
         unknown.empty() ? "" : text("; unknown to the net: ", unknown),
         missing.empty() ? "" : text("; missing here: ", missing),
         "; rename the folders or labels as the net has them");
  if (!some && names.size() != trained.size())
    fail(ErrorKind::data, source, ": has ", counted(int64_t(names.size()), "class", "classes"), ", the net of ", path,
         " has ", trained.size(), ", and some of one name");
  std::vector<int32_t> out;
  for (const std::string& name : names) out.push_back(there.at(as_stored(name)));
  return out;
}

}  // namespace

void match_target_classes(Data& data, const std::vector<NamedTarget>& trained, const std::string& path, bool some) {
  for (size_t k = 0; k < data.targets.size(); ++k) {
    NamedTarget& target = data.targets[k];
    const auto former = std::ranges::find(trained, target.name, &NamedTarget::name);
    if (former == trained.end() || target.kind != TargetKind::classes || former->kind != target.kind) continue;
    if (target.names.empty() || former->names.empty() || target.names == former->names) continue;
    const std::vector<int32_t> numbers = numbers_of(target.names, former->names, data.source, path, some);
    target.names = former->names;
    target.width = former->width;
    const int64_t columns = columns_of(data.targets), column = first_column_of(data.targets, k);
    for (Split* split : {&data.train, &data.test, &data.validation}) {
      if (split->targets.empty()) continue;
      split->targets = split->targets.clone();
      const auto rows = split->targets.as<float>();
      for (size_t at = size_t(column); at < rows.size(); at += size_t(columns))
        rows[at] = float(numbers.at(size_t(rows[at])));
    }
  }
}

void match_classes(Data& data, const std::vector<std::string>& trained, const std::string& path, bool some) {
  if (trained.empty() || data.class_names.empty()) return;
  const std::vector<int32_t> numbers = numbers_of(data.class_names, trained, data.source, path, some);
  data.class_names = trained;
  data.classes = int64_t(trained.size());
  if (numbers.size() == trained.size() && std::ranges::is_sorted(numbers)) return;
  for (Split* split : {&data.train, &data.test, &data.validation}) {
    if (split->reader) {
      split->reader = std::make_shared<Renumbered>(split->reader, numbers);
    } else if (split->rows) {
      split->rows = std::make_shared<RenumberedBoxes>(split->rows, numbers);
    } else if (!split->targets.empty()) {
      split->targets = split->targets.clone();
      if (split->has_boxes()) renumber_boxes(split->targets.as<float>(), numbers);
      else
        for (int32_t& label : split->targets.as<int32_t>())
          if (label >= 0) label = numbers.at(size_t(label));
    }
  }
}

void match_classes(Data& data, const SampleMeaning& trained, const std::string& path, bool some) {
  match_classes(data, trained.class_names, path, some);
  match_target_classes(data, trained.targets, path, some);
}

namespace {

TensorFile checkpoint_or_nothing(const std::string& path) try {
  std::vector<std::string> ignored;
  return load_checkpoint(path, ignored);
} catch (const Error&) {
  return {};
}

}  // namespace

void match_classes_of_weights(Data& data, const std::string& path) {
  if (data.class_names.empty() && data.targets.empty()) return;
  const TensorFile file = checkpoint_or_nothing(path);
  const std::vector<std::string> names = class_names_in(file);
  if (same_classes(data.class_names, names)) match_classes(data, names, path);
  std::vector<NamedTarget> alike;
  if (const std::optional<SampleMeaning> trained = samples_in(file); trained)
    for (const NamedTarget& target : trained->targets) {
      const auto here = std::ranges::find(data.targets, target.name, &NamedTarget::name);
      if (here != data.targets.end() && same_classes(here->names, target.names)) alike.push_back(target);
    }
  match_target_classes(data, alike, path);
}

}  // namespace neon
