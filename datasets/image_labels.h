// Classes of images that stand in a file beside each, as WebDataset has them: KEY.jpg, and KEY.cls with a number.
#pragma once
#include <string>
#include <vector>

#include "datasets/image_samples.h"

namespace neon {

bool is_label_name(std::string_view name);

// The labelled files among `images`, and their labels. Fields of a sample beside its image (KEY.mask.png) have no
// label. A data error for an image without label, a label without image, and a label that is no number of a class.
struct LabelFiles {
  std::vector<std::string> images, others;
  std::vector<std::string> names;  // of the labels, by image
  std::vector<int32_t> labels;
  bool empty() const { return images.empty(); }
};
LabelFiles read_label_files(ImageStore& store, const std::vector<std::string>& images,
                            const std::vector<std::string>& labels);

// The images without the fields of a sample that lie beside its image (KEY.mask.png). A field has no label of its own,
// but its key has one.
std::vector<std::string> without_fields(std::vector<std::string> images, const std::vector<std::string>& labels);

}  // namespace neon
