// Augmentations: how the images of a training batch are changed, so that a net does not see the same ones twice. In an
// evaluation they take the middle of an image, or leave it as it is; ContrastNormalize and Whiten change it there, too.
#pragma once
#include "neon/core/registry.h"
#include "transforms/image_batch.h"

namespace neon {

class Variables;

// Names of variables that augmentations learn begin so.
constexpr const char* kLearned = "augment/";

// Mean (n) and covariance (n,n) of images (H,W,C) as rows of n numbers, in the range that the net sees.
struct ImageMoments {
  std::vector<double> mean, covariance;
};

class Augmentation {
 public:
  static constexpr const char* kCategory = "augmentation";
  virtual ~Augmentation() = default;
  virtual const void* params_address() const = 0;
  // A config error for images that it cannot be done to.
  virtual void apply(ImageBatch& batch) const = 0;
  // Whether it mixes samples with their partners (mixture.h).
  virtual bool mixes() const { return false; }
  // Whether it has variables, which are learned before the first step from the training images as the augmentations
  // before it make them in an evaluation. Checkpoints keep them.
  virtual bool learns() const { return false; }
  virtual void learn(const ImageMoments&, Variables&) const {}
};

// Whole rows and columns of each sample, (N,1,1,1).
struct PixelBox {
  Expr top, left, height, width;
};
// `inside` in the box and x (N,H,W,C) elsewhere.
Expr put_into_box(const PixelBox& box, Expr inside, Expr x);

// The grey of each pixel of x (N,H,W,3), R, G and B, as one channel; other x as they are.
Expr grey(ImageBatch& batch, Expr x);

// Throws a config error for an augmentation of colours, of that name, behind another that has recoded them.
void check_colours(const ImageBatch& batch, const std::string& name);

// Throws a config error unless `range` is the least and the largest number.
void check_range(const char* name, const std::vector<double>& range);

}  // namespace neon
