#include "datasets/stored_images.h"

#include "datasets/gzip.h"

namespace neon {

// Bytes of a file that a thread keeps the memory for: one huge image must not hold it for the rest of a run.
constexpr size_t kMostKept = size_t(16) << 20;

StoredImages::StoredImages(const ImageParams& params, std::shared_ptr<const ImageStore> store,
                           std::vector<LabelledImage> images, const Shape& sample)
    : params_(params), store_(std::move(store)), images_(std::move(images)), sample_(sample) {}

int32_t StoredImages::read(int64_t index, std::span<uint8_t> pixels, ReadScratch& scratch) const {
  const LabelledImage& image = images_[size_t(index)];
  try {
    decode(image.name, image.name, pixels, scratch);
  } catch (const Error&) {
    read_again(image.name, pixels, scratch);
  }
  return image.label;
}

uint32_t StoredImages::checksum(int64_t index) const { return crc32_of(store_->content(images_[size_t(index)].name)); }

// To say where it lies and what is wrong, for which there is no need while all goes well.
void StoredImages::read_again(const std::string& name, std::span<uint8_t> pixels, ReadScratch& scratch) const try {
  decode(name, store_->where(name), pixels, scratch);
} catch (const Error& error) {
  if (left_out() || error.kind() != ErrorKind::data) throw;
  fail(error.kind(), error.what(), " (--set dataset.on_bad_sample=skip leaves such files out)");
}

void StoredImages::decode(const std::string& name, const std::string& where, std::span<uint8_t> pixels,
                          ReadScratch& scratch) const {
  const ImageSize wanted{sample_[1], sample_[2]};
  if (scratch.file.capacity() > kMostKept) std::string().swap(scratch.file);
  store_->read(name, scratch.file);
  const ImageSize size = read_image_to(scratch.file, params_.format(), where, wanted, pixels, scratch.resizer);
  if (size != wanted) fail(ErrorKind::data, where, ": ", other_size(size, wanted));
}

}  // namespace neon
