// Augmentations: how the images of a training batch are changed, so that a net does not see the same ones twice. In an
// evaluation they take the middle of an image, or leave it as it is.
#pragma once
#include "neon/core/registry.h"
#include "transforms/image_batch.h"

namespace neon {

class Augmentation {
 public:
  static constexpr const char* kCategory = "augmentation";
  virtual ~Augmentation() = default;
  virtual const void* params_address() const = 0;
  // A config error for images that it cannot be done to.
  virtual void apply(ImageBatch& batch) const = 0;
};

}  // namespace neon
