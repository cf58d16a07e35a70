// neon data pack: images of a folder or archive as shards.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "datasets/hash.h"
#include "datasets/shard.h"
#include "datasets/shard_folder.h"
#include "datasets/shard_names.h"
#include "neon/core/paths.h"
#include "neon/core/random.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

const char* const kPartNames[] = {"train", "test", "validation"};
constexpr int64_t kMostShards = 512;  // that are open at the same time

// Sums of the channels of training pixels.
struct Sums {
  std::vector<double> sums, squares;
  double count = 0;
  void add(const Tensor& image) {
    const auto channels = size_t(image.shape()[2]);
    sums.resize(channels), squares.resize(channels);
    const auto pixels = image.as<uint8_t>();
    for (size_t i = 0; i < pixels.size(); ++i) {
      sums[i % channels] += pixels[i];
      squares[i % channels] += double(pixels[i]) * pixels[i];
    }
    count += double(pixels.size() / channels);
  }
};

class Packer {
 public:
  Packer(const ImageSet& set, const std::string& folder, const PackOptions& options)
      : set_(set), store_(*set.store), images_(set.images), folder_(folder), options_(options) {}
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  // A failed run leaves no files in the way of another try.
  ~Packer() {
    for (auto& shards : shards_) shards.clear();
    if (done_) return;
    std::error_code ignored;
    for (const std::string& path : kept_) std::filesystem::remove(path, ignored);
    if (made_folder_) std::filesystem::remove(folder_, ignored);  // only where it is empty
  }

  PackResult run() {
    need_image_library();
    open_folder();
    std::vector<std::string> names;
    for (const LabelledImage& image : images_) names.push_back(image.name);
    store_.want(std::move(names));
    const int threads = available_threads();
    for (auto files = store_.next(); !files.empty(); files = store_.next()) {
      std::vector<Tensor> decoded(files.size());
      std::vector<std::string> troubles(files.size());
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
      for (size_t i = 0; i < files.size(); ++i) decode(files[i], decoded[i], troubles[i]);
      for (size_t i = 0; i < files.size(); ++i) take(files[i], decoded[i], troubles[i]);
    }
    finish();
    if (result_.index.samples(LabelledImage::train) == 0)
      fail(ErrorKind::data, store_.path(), ": no training image can be read; the first: ", result_.first_trouble);
    result_.index.classes = set_.class_names;
    for (int64_t k = 0; set_.class_names.empty() && k < set_.classes; ++k)
      result_.index.classes.push_back(std::to_string(k));
    keep();
    return std::move(result_);
  }

 private:
  void open_folder() {
    made_folder_ = !folder_exists(folder_);
    std::vector<std::string> unfinished;
    if (!made_folder_)
      for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
        if (!entry.path().string().ends_with(text(".shard", ShardWriter::kEnding)))
          fail(ErrorKind::data, folder_, ": is not empty; give a folder of its own");
        unfinished.push_back(entry.path().string());
      }
    for (const std::string& part : unfinished) ShardWriter::remove_unfinished(part);
    make_folders(folder_);
  }

  // Nothing may be thrown out of a parallel loop.
  void decode(ImageStore::File& file, Tensor& image, std::string& trouble) {
    try {
      store_.load(file);
      image = read_image(file.content, options_.images.format(), store_.where(store_.wanted()[file.index]));
    } catch (const std::exception& error) {
      trouble = reason_of(error, store_.where(store_.wanted()[file.index]) + ": cannot be read");
    }
  }

  void take(const ImageStore::File& file, const Tensor& image, const std::string& trouble) {
    if (!trouble.empty()) {
      if (options_.images.on_bad_sample == "error")
        fail(ErrorKind::data, trouble, " (--skip_bad leaves such files out)");
      if (result_.left_out++ == 0) result_.first_trouble = trouble;
      return;
    }
    const Shape sample{image.shape()[2], image.shape()[0], image.shape()[1]};
    if (!sized_) result_.index.sample = sample;
    else if (result_.index.sample != sample) result_.index.sample = {};
    if (sized_ && options_.pixels && result_.index.sample.rank() == 0)
      fail(ErrorKind::data, store_.where(store_.wanted()[file.index]), ": ", sample[2], " x ", sample[1],
           " pixels, others have another size; give --size N to bring all to N x N");
    sized_ = true;
    const LabelledImage& labelled = images_[file.index];
    if (labelled.part == LabelledImage::train) sums_.add(image);
    const std::string_view pixels(static_cast<const char*>(image.data()), image.bytes());
    const size_t shard = shard_of(file.index);
    shards_[labelled.part][shard].add(options_.pixels ? pixels : std::string_view(file.content), labelled.label);
    names_[labelled.part][shard].push_back(labelled.name);
  }

  // Each part has as many shards as its bytes ask for, taken to be those of its first samples each; a sample's is
  // drawn.
  size_t shard_of(size_t index) {
    const LabelledImage::Part part = images_[index].part;
    auto& shards = shards_[part];
    if (shards.empty()) open_shards_of(part);
    Stream stream(options_.seed, "pack", index);
    return stream.below(uint32_t(shards.size()));
  }

  void open_shards_of(LabelledImage::Part part) {
    const auto samples = count_parts(images_)[part];
    const int64_t each = options_.pixels ? result_.index.sample.elements() : kUsualImage;
    const int64_t count = std::clamp<int64_t>(samples * each / options_.shard_bytes + 1, 1, kMostShards / 3);
    for (int64_t k = 0; k < count; ++k) {
      std::string number = std::to_string(k);
      number.insert(0, 4 - std::min<size_t>(4, number.size()), '0');
      shards_[part].emplace_back(join_path(folder_, text(kPartNames[part], "-", number, ".shard")));
    }
    names_[part].resize(size_t(count));
  }

  void finish() {
    for (size_t part = 0; part < 3; ++part)
      for (ShardWriter& shard : shards_[part]) {
        shard.finish();
        result_.index.parts[part].push_back({shard.path().substr(shard.path().rfind('/') + 1),
                                             sha256_of_file(shard.part()), shard.samples(), shard.bytes()});
      }
    result_.index.pixels = options_.pixels;
    for (size_t c = 0; c < sums_.sums.size(); ++c) {
      const double mean = sums_.sums[c] / sums_.count;
      result_.index.means.push_back(mean / 255);
      result_.index.deviations.push_back(std::sqrt(std::max(0.0, sums_.squares[c] / sums_.count - mean * mean)) / 255);
    }
  }

  void keep() {
    for (auto& shards : shards_)
      for (ShardWriter& shard : shards) {
        shard.keep();
        kept_.push_back(shard.path());
      }
    for (size_t part = 0; part < 3; ++part) keep_names(part);
    kept_.push_back(join_path(folder_, "index.json"));
    write_shard_index(folder_, result_.index);
    done_ = true;
  }

  void keep_names(size_t part) {
    std::vector<std::string> all;
    for (const std::vector<std::string>& names : names_[part]) all.insert(all.end(), names.begin(), names.end());
    if (all.empty()) return;
    result_.index.names[part] = names_file(kPartNames[part]);
    kept_.push_back(join_path(folder_, result_.index.names[part]));
    write_shard_names(kept_.back(), all);
  }

  static constexpr int64_t kUsualImage = 110'000;  // bytes, as ImageNet's

  const ImageSet& set_;
  ImageStore& store_;
  const std::vector<LabelledImage>& images_;
  const std::string folder_;
  const PackOptions options_;
  PackResult result_;
  bool sized_ = false, made_folder_ = false, done_ = false;
  std::vector<std::string> kept_;  // files under their names
  Sums sums_;
  std::array<std::vector<ShardWriter>, 3> shards_;
  std::array<std::vector<std::vector<std::string>>, 3> names_;  // of the samples of each shard
};

}  // namespace

PackResult pack_images(const ImageSet& set, const std::string& folder, const PackOptions& options) {
  if (!set.targets.empty())
    fail(ErrorKind::config, set.source, ": shards hold one class for each image, and this set has ", set.targets.size(),
         " targets; train from the list itself, or pack a list of two columns, the file and its class");
  return Packer(set, folder, options).run();
}

}  // namespace neon
