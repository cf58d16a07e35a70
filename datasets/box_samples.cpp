#include "datasets/box_samples.h"

#include <algorithm>

#include "datasets/gzip.h"
#include "datasets/image.h"
#include "neon/core/box_rows.h"
#include "neon/core/error.h"

namespace neon {

namespace {

// A border may lie a pixel outside, as where the first pixel is 1.
void fill_row(const ListedBox& box, const ImageSize& size, float* row) {
  const auto& [x1, y1, x2, y2] = box.corners;
  const auto width = double(size.width), height = double(size.height);
  if (!(x1 < x2 && y1 < y2) || x1 < -1 || y1 < -1 || x2 > width + 1 || y2 > height + 1)
    fail(ErrorKind::data, box.where, ": the box from ", x1, ", ", y1, " to ", x2, ", ", y2,
         " does not lie in its image of ", size.width, " x ", size.height, " pixels");
  const auto share = [](double at, double of) { return float(std::clamp(at / of, 0.0, 1.0)); };
  row[0] = float(box.label), row[5] = box.difficult ? 1 : 0;
  row[1] = share(x1, width), row[2] = share(y1, height), row[3] = share(x2, width), row[4] = share(y2, height);
}

}  // namespace

BoxSamples::BoxSamples(const BoxForm& form, std::shared_ptr<const ImageStore> store, std::vector<ListedImage> images)
    : form_(form), store_(std::move(store)), images_(std::move(images)) {}

Shape BoxSamples::target() const { return {form_.most, kBoxNumbers}; }

int32_t BoxSamples::label(int64_t index) const {
  const std::vector<ListedBox>& boxes = images_[size_t(index / form_.most)].boxes;
  const auto k = size_t(index % form_.most);
  return k < boxes.size() ? int32_t(boxes[k].label) : -1;
}

void BoxSamples::check_name(const std::string& name) const {
  if (!std::ranges::binary_search(store_->names(), name))
    fail(ErrorKind::data, store_->path(), ": has no image ", in_quotes(name), "; root: gives another folder");
}

void BoxSamples::read_row(int64_t index, std::span<std::byte> input, std::span<std::byte> target,
                          ReadScratch& scratch) const {
  const ListedImage& listed = images_[size_t(index)];
  check_name(listed.file);
  store_->read(listed.file, scratch.file);
  const Tensor image = read_image(scratch.file, {form_.channels, 0}, store_->where(listed.file));
  const ImageSize size{image.shape()[0], image.shape()[1]};
  resize_middle(image.as<uint8_t>().data(), size, form_.channels, form_.size,
                {reinterpret_cast<uint8_t*>(input.data()), input.size()}, elementwise::active_level(), true);
  float* row = reinterpret_cast<float*>(target.data());
  for (size_t k = 0; k < size_t(form_.most); ++k, row += kBoxNumbers) {
    std::fill_n(row, kBoxNumbers, 0.0f);
    row[0] = -1;
    if (k < listed.boxes.size()) fill_row(listed.boxes[k], size, row);
  }
}

std::string BoxSamples::identity() const {
  std::string all = text(form_.size.to_string(), ' ', form_.channels, ' ', form_.most);
  for (const ListedImage& image : images_) {
    check_name(image.file);
    all += text('\n', image.file, ' ', store_->bytes_of(image.file));
    for (const ListedBox& box : image.boxes) {
      all += text('\n', box.label, ' ', box.difficult);
      for (const double corner : box.corners) all += text(' ', corner);
    }
  }
  return text("boxes ", crc32_of(all));
}

}  // namespace neon
