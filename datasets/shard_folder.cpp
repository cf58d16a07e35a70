#include "datasets/shard_folder.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "datasets/shard.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

const char* const kShardParts[] = {"train", "test", "validation"};
constexpr const char* kMend = "; neon data pack makes the folder anew from the images";

[[noreturn]] void damaged(const std::string& index, const std::string& how) {
  fail(ErrorKind::data, index, ": no index of shards, or a damaged one: ", how, kMend);
}

// A value of an index, and where it stands there, as in parts.train[0].file.
class IndexValue {
 public:
  IndexValue(const std::string& file, std::string place, const nlohmann::json& value)
      : file_(file), place_(std::move(place)), value_(value) {}

  IndexValue at(const std::string& name) const {
    const std::string place = place_.empty() ? name : text(place_, '.', name);
    const auto found = value_.find(name);
    if (found == value_.end()) damaged(file_, place + " is missing");
    return {file_, place, *found};
  }

  bool has(const char* name) const { return value_.is_object() && value_.contains(name); }

  std::vector<IndexValue> items() const {
    if (!value_.is_array()) damaged(file_, place_ + " is no list");
    std::vector<IndexValue> out;
    for (size_t i = 0; i < value_.size(); ++i) out.push_back({file_, text(place_, '[', i, ']'), value_[i]});
    return out;
  }

  // From 0 to `most`.
  int64_t whole_number(int64_t most = INT64_MAX) const {
    if (!value_.is_number_unsigned() || value_.get<uint64_t>() > uint64_t(most))
      damaged(file_, text(place_, " is no whole number from 0 to ", most));
    return value_.get<int64_t>();
  }

  // `what` says what it should be: "a text".
  template <typename T>
  T as(const char* what) const {
    try {
      return value_.get<T>();
    } catch (const nlohmann::json::exception&) {
      damaged(file_, text(place_, " is not ", what));
    }
  }

 private:
  const std::string& file_;
  const std::string place_;
  const nlohmann::json& value_;
};

constexpr int64_t kLargestSide = 1 << 20;  // of an image

nlohmann::json parse_index(const std::string& path) {
  const std::string content = read_file(path, int64_t(1) << 28);
  try {
    return nlohmann::json::parse(content);
  } catch (const nlohmann::json::parse_error& error) {
    // The byte that does not fit, counted from 1; one behind the last where there are too few.
    const size_t place = std::min(error.byte, content.size() + 1) - std::min<size_t>(error.byte, 1);
    const std::string_view before = std::string_view(content).substr(0, place);
    const auto line = 1 + std::ranges::count(before, '\n');
    const size_t column = place - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    damaged(path, place == content.size() ? text("it ends too early, in line ", line)
                                          : text("line ", line, ", column ", column, " is not JSON"));
  } catch (const nlohmann::json::exception&) {
    damaged(path, "it holds a number beyond all that there are");
  }
}

class ShardSamples : public SampleReader {
 public:
  ShardSamples(const std::string& folder, const ShardIndex& index, int part, const ImageParams& params)
      : pixels_(index.pixels),
        classes_(int64_t(index.classes.size())),
        format_(params.format()),
        skips_(params.on_bad_sample == "skip") {
    sample_ = index.pixels || !params.size.given() ? index.sample
                                                   : Shape{params.channels, params.size.height, params.size.width};
    if (sample_.rank() == 0)
      fail(ErrorKind::config, folder, ": holds images of various sizes; give size: N to bring all to N x N");
    if (index.pixels && params.channels != sample_[0])
      fail(ErrorKind::config, folder, ": holds pixels ", sample_, ", not of ", params.channels,
           " channels; give channels: ", sample_[0], ", or pack the data again");
    if (index.pixels && params.size.given() && params.size != SampleSize(sample_[1], sample_[2]))
      fail(ErrorKind::config, folder, ": holds pixels ", sample_, ", not of size ", params.size.to_string(),
           "; leave size out, or pack the data again");
    if (!index.pixels && !params.size.given()) sample_ = {params.channels, sample_[1], sample_[2]};
    for (const ShardIndex::File& file : index.parts[size_t(part)]) {
      shards_.push_back(std::make_unique<Shard>(std::make_unique<FileSource>(join_path(folder, file.name))));
      if (shards_.back()->size() != file.samples)
        fail(ErrorKind::data, shards_.back()->name(), ": has ", shards_.back()->size(), " samples, index.json says ",
             file.samples);
      size_ += file.samples;
      ends_.push_back(size_);
    }
  }
  int64_t size() const override { return size_; }
  Shape sample() const override { return sample_; }

  int32_t label(int64_t index) const override {
    const auto [shard, at] = find(index);
    return shard.label(at);
  }

  int32_t read(int64_t index, std::span<uint8_t> to, ReadScratch& scratch) const override {
    try {
      return decode(index, to, scratch);
    } catch (const Error& error) {
      if (skips_ || error.kind() != ErrorKind::data) throw;
      fail(error.kind(), error.what(), " (--set dataset.on_bad_sample=skip leaves such samples out)");
    }
  }
  uint32_t checksum(int64_t index) const override {
    const auto [shard, at] = find(index);
    return shard.checksum(at);
  }
  bool knows_checksums() const override { return true; }
  LeftOut* left_out() const override { return skips_ ? &left_out_ : nullptr; }

 private:
  // Pixels go from the file to their place without another copy.
  int32_t decode(int64_t index, std::span<uint8_t> to, ReadScratch& scratch) const {
    const auto [shard, at] = find(index);
    if (shard.label(at) >= classes_)
      fail(ErrorKind::data, shard.where(at), ": its label is ", shard.label(at), ", there are ", classes_, " classes");
    if (pixels_) {
      if (shard.content_bytes(at) != int64_t(to.size()))
        fail(ErrorKind::data, shard.where(at), ": has ", shard.content_bytes(at), " bytes of pixels, expected ",
             to.size());
      shard.read(at, to.data());
      return shard.label(at);
    }
    const ImageSize wanted{sample_[1], sample_[2]};
    const ImageSize size = read_image_to(shard.content(at), format_, shard.where(at), wanted, to, scratch.resizer);
    if (size != wanted)
      fail(ErrorKind::data, shard.where(at), ": ", size.width, " x ", size.height, " pixels, expected ", sample_[2],
           " x ", sample_[1]);
    return shard.label(at);
  }

  struct Place {
    const Shard& shard;
    int64_t sample;
  };
  Place find(int64_t index) const {
    const auto k = size_t(std::ranges::upper_bound(ends_, index) - ends_.begin());
    return {*shards_[k], index - (k ? ends_[k - 1] : 0)};
  }

  const bool pixels_;
  const int64_t classes_;
  const ImageFormat format_;
  const bool skips_;
  mutable LeftOut left_out_;
  Shape sample_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<int64_t> ends_;  // by shard: the number of samples up to its last
  int64_t size_ = 0;
};

void check_shards_are_there(const std::string& folder, const ShardIndex& index) {
  for (const auto& part : index.parts)
    for (const ShardIndex::File& file : part)
      if (const std::string shard = join_path(folder, file.name); !file_exists(shard))
        fail(ErrorKind::data, shard, ": no such file, but index.json names this shard; put it back", kMend);
}

}  // namespace

int64_t ShardIndex::samples(int part) const {
  int64_t out = 0;
  for (const File& file : parts[size_t(part)]) out += file.samples;
  return out;
}

bool is_shard_folder(const std::string& path) {
  if (!file_exists(join_path(path, "index.json"))) return false;
  std::error_code error;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".shard") return true;
  return false;
}

ShardIndex read_shard_index(const std::string& folder) {
  const std::string path = join_path(folder, "index.json");
  if (!file_exists(path))
    fail(ErrorKind::data, folder,
         ": has no index.json, so it is no folder of shards as neon data pack writes; ImageFolder reads folders and "
         "archives of images, ImageList lists of them");
  ShardIndex out;
  const nlohmann::json json = parse_index(path);
  const IndexValue index(path, "", json);
  const auto version = index.at("neon_shards").whole_number();
  if (version != 1) fail(ErrorKind::data, path, ": shards of version ", version, ", this neon reads version 1");
  out.pixels = index.at("pixels").as<bool>("true or false");
  std::vector<int64_t> sizes;
  for (const IndexValue& size : index.at("sample").items()) sizes.push_back(size.whole_number(kLargestSide));
  if (sizes.size() != 0 && sizes.size() != 3) damaged(path, text("sample has ", sizes.size(), " sizes, not 3 or none"));
  out.sample = Shape(sizes);
  out.classes = index.at("classes").as<std::vector<std::string>>("a list of texts");
  out.means = index.at("means").as<std::vector<double>>("a list of numbers");
  out.deviations = index.at("deviations").as<std::vector<double>>("a list of numbers");
  for (size_t part = 0; part < 3; ++part)
    for (const IndexValue& file : index.at("parts").at(kShardParts[part]).items())
      out.parts[part].push_back({file.at("file").as<std::string>("a text"), file.at("sha256").as<std::string>("a text"),
                                 file.at("samples").whole_number(), file.at("bytes").whole_number()});
  for (size_t part = 0; part < 3 && index.has("names"); ++part)
    if (const IndexValue names = index.at("names"); names.has(kShardParts[part])) {
      out.names[part] = names.at(kShardParts[part]).as<std::string>("a text");
      if (out.names[part].empty() || out.names[part].find('/') != std::string::npos)
        fail(ErrorKind::data, path, ": names the file ", in_quotes(out.names[part]), " of names");
    }
  for (const auto& part : out.parts)
    for (const ShardIndex::File& file : part)
      if (file.name.empty() || file.name.find('/') != file.name.npos || file.samples < 0)
        fail(ErrorKind::data, path, ": names the file ", in_quotes(file.name), " with ", file.samples, " samples");
  if (out.pixels && out.sample.rank() == 0) fail(ErrorKind::data, path, ": pixels of samples without a shape");
  if (out.sample.rank() != 0 && (out.sample.rank() != 3 || out.sample.elements() == 0))
    fail(ErrorKind::data, path, ": samples of shape ", out.sample);
  if (out.classes.empty()) fail(ErrorKind::data, path, ": names no classes");
  check_shards_are_there(folder, out);
  return out;
}

std::unique_ptr<SampleReader> open_shards(const std::string& folder, const ShardIndex& index, int part,
                                          const ImageParams& params) {
  return std::make_unique<ShardSamples>(folder, index, part, params);
}

void write_shard_index(const std::string& folder, const ShardIndex& index) {
  nlohmann::ordered_json json;
  json["neon_shards"] = 1;
  json["pixels"] = index.pixels;
  json["sample"] = std::vector<int64_t>(index.sample.begin(), index.sample.end());
  json["classes"] = index.classes;
  json["means"] = index.means;
  json["deviations"] = index.deviations;
  for (size_t part = 0; part < 3; ++part) {
    auto& files = json["parts"][kShardParts[part]] = nlohmann::ordered_json::array();
    for (const ShardIndex::File& file : index.parts[part])
      files.push_back({{"file", file.name}, {"samples", file.samples}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  }
  for (size_t part = 0; part < 3; ++part)
    if (!index.names[part].empty()) json["names"][kShardParts[part]] = index.names[part];
  const std::string path = join_path(folder, "index.json");
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  const std::string content = json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const bool good = file && std::fwrite(content.data(), 1, content.size(), file) == content.size();
  if (!file || (std::fclose(file) != 0) || !good) fail(ErrorKind::failed, path, ": cannot be written");
}

}  // namespace neon
