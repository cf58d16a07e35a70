// Which class an image of a folder or archive is of: its folder says so, or a file beside it.
#pragma once
#include <string>
#include <vector>

#include "datasets/image_samples.h"

namespace neon {

struct Arrangement {
  std::vector<std::string> classes;
  std::vector<LabelledImage> images;  // those to train with first, then those to test with; by name
};

// train/CLASS/.../IMAGE, test/ and validation/ (or val/) likewise, or CLASS/.../IMAGE, which is all to train with.
// Folders before those, which all images lie in, are passed over. Where there are files KEY.cls beside images KEY.jpg,
// the number in it is the class, and also its name. A warning reports files that are no images. A data error if a
// layout has no classes, or fewer than `least` to train with.
Arrangement arrange_images(ImageStore& store, size_t least, const DataContext& context);

}  // namespace neon
