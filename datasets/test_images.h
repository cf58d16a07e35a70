// Which images of a set are kept to test with, where no folder or list says so.
#pragma once
#include <string>
#include <vector>

#include "datasets/image_samples.h"

namespace neon {

struct TestShare {
  double share = 0;
  bool by_default = false;  // nobody asked for it: a set that has test images of its own, or too few, has no share
};
// "auto" is a fifth by default, "none" no share. Throws a config error for a text that is neither, and no share.
TestShare read_test_share(const std::string& written);

// Moves this share of the training images, from each class in proportion, to the test images; or the images of a fold,
// if `common` names one. A share by default and folds are the same for all seeds; another share is drawn by the seed.
// All depend on the images' names and classes, not on their order. Files of the same bytes stay together, also in what
// is drawn later. Throws a config error for a share or folds of a set that has test images of its own.
void draw_test_images(ImageSet& set, const TestShare& test, const Dataset::Common& common, const DataContext& context);

// A number for each image: those whose files have the same bytes have the same number. Reads only files that share
// their size with others.
std::vector<int64_t> same_bytes(const ImageSet& set);

// Warns of images whose files have the same bytes: test and validation images that are training images, too, since a
// net has seen them, and images that are in two classes. The warnings say how many these are, and name the first of
// them.
void warn_of_copies(const ImageSet& set, const DataContext& context);

}  // namespace neon
