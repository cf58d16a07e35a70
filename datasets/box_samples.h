// Images with boxes of the objects in them, each read and decoded when it is asked for.
#pragma once
#include <memory>

#include "datasets/box_table.h"
#include "datasets/image_store.h"
#include "datasets/sample_reader.h"

namespace neon {

// Every image is brought to this form, whatever its shape, and the boxes with it.
struct BoxForm {
  SampleSize size;
  int64_t channels = 3, most = 1;  // boxes of an image
};

class BoxSamples : public RowReader {
 public:
  BoxSamples(const BoxForm& form, std::shared_ptr<const ImageStore> store, std::vector<ListedImage> images);
  int64_t size() const override { return int64_t(images_.size()); }
  size_t input_bytes() const override { return size_t(form_.size.height * form_.size.width * form_.channels); }
  size_t target_bytes() const override { return size_t(target().elements()) * sizeof(float); }
  DType dtype() const override { return DType::u8; }
  DType target_dtype() const override { return DType::f32; }
  Shape target() const override;
  int64_t label_count() const override { return size() * form_.most; }
  int32_t label(int64_t index) const override;
  void read_row(int64_t index, std::span<std::byte> input, std::span<std::byte> target,
                ReadScratch& scratch) const override;
  // The names, sizes and boxes of the images, as a text.
  std::string identity() const;

 private:
  void check_name(const std::string& name) const;
  const BoxForm form_;
  const std::shared_ptr<const ImageStore> store_;
  const std::vector<ListedImage> images_;
};

}  // namespace neon
