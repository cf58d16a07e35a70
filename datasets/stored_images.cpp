#include "datasets/stored_images.h"

#include <algorithm>

namespace neon {

StoredImages::StoredImages(const ImageParams& params, std::shared_ptr<const ImageStore> store,
                           std::vector<LabelledImage> images, const Shape& sample)
    : params_(params), store_(std::move(store)), images_(std::move(images)), sample_(sample) {}

int32_t StoredImages::read(int64_t index, std::span<uint8_t> pixels) const {
  const LabelledImage& image = images_[size_t(index)];
  try {
    decode(image.name, pixels);
  } catch (const Error& error) {
    if (left_out()) throw;
    fail(error.kind(), error.what(), " (on_bad_sample: skip leaves such files out)");
  }
  return image.label;
}

void StoredImages::decode(const std::string& name, std::span<uint8_t> pixels) const {
  const std::string where = store_->where(name);
  const Tensor image = read_image(store_->content(name), params_.format(), where);
  if (image.shape() != Shape{sample_[1], sample_[2], sample_[0]})
    fail(ErrorKind::data, where, ": ", image.shape()[1], " x ", image.shape()[0], " pixels, the first image has ",
         sample_[2], " x ", sample_[1], "; give size: N to bring all to N x N");
  std::ranges::copy(image.as<uint8_t>(), pixels.begin());
}

}  // namespace neon
