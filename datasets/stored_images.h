// Images of a store as samples, each read and decoded when it is asked for.
#pragma once
#include "datasets/image_samples.h"

namespace neon {

class StoredImages : public SampleReader {
 public:
  // The store gives its files in any order. `sample` is (C,H,W).
  StoredImages(const ImageParams& params, std::shared_ptr<const ImageStore> store, std::vector<LabelledImage> images,
               const Shape& sample);
  int64_t size() const override { return int64_t(images_.size()); }
  Shape sample() const override { return sample_; }
  int32_t label(int64_t index) const override { return images_[size_t(index)].label; }
  int32_t read(int64_t index, std::span<uint8_t> pixels, ReadScratch& scratch) const override;
  uint32_t checksum(int64_t index) const override;
  LeftOut* left_out() const override { return params_.on_bad_sample == "skip" ? &left_out_ : nullptr; }

 private:
  void read_again(const std::string& name, std::span<uint8_t> pixels, ReadScratch& scratch) const;
  // `where`: for messages.
  void decode(const std::string& name, const std::string& where, std::span<uint8_t> pixels, ReadScratch& scratch) const;
  const ImageParams params_;
  const std::shared_ptr<const ImageStore> store_;
  const std::vector<LabelledImage> images_;
  const Shape sample_;
  mutable LeftOut left_out_;
};

}  // namespace neon
