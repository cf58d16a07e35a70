// A folder of shards with an index, index.json: what `neon data pack` writes.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "datasets/image_samples.h"
#include "datasets/sample_reader.h"

namespace neon {

struct ShardIndex {
  struct File {
    std::string name, sha256;
    int64_t samples = 0, bytes = 0;
  };
  bool pixels = false;  // contents are pixels (H,W,C) of `sample`, not images
  Shape sample;         // (C,H,W) of all samples; rank 0: images of various sizes
  std::vector<std::string> classes;
  std::vector<double> means, deviations;   // by channel of the training pixels, from 0 to 1
  std::array<std::vector<File>, 3> parts;  // by LabelledImage::Part
  std::array<std::string, 3> names;        // files with the names of the samples (shard_names.h); "": no file
  int64_t samples(int part) const;
};

// Whether the folder holds shards and an index, sound or damaged.
bool is_shard_folder(const std::string& path);

// Throws a data error that names the file.
ShardIndex read_shard_index(const std::string& folder);

void write_shard_index(const std::string& folder, const ShardIndex& index);

// Samples of a part; images are brought to params.size. A config error where params ask for what pixels do not give.
std::unique_ptr<SampleReader> open_shards(const std::string& folder, const ShardIndex& index, int part,
                                          const ImageParams& params);

struct PackOptions {
  ImageParams images;   // size and channels; without a size images stay as they are
  bool pixels = false;  // store pixels, decoded and resized
  int64_t shard_bytes = int64_t(256) << 20;
  uint64_t seed = 0;  // of the order in which samples are spread over shards
};
struct PackResult {
  ShardIndex index;
  int64_t left_out = 0;  // bad images
  std::string first_trouble;
};
// Writes the images to shards in `folder`, which must not exist or be empty. Every image is decoded once, so that bad
// ones are found now; each part is spread over its shards at random.
PackResult pack_images(const ImageSet& set, const std::string& folder, const PackOptions& options);

}  // namespace neon
