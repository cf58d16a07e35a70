// What the readers of arrays (NPY, NPZ, HDF5) share: how inputs and targets are understood.
#pragma once
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace neon {

struct ArrayParams {
  int64_t classes = 0;
  bool regression = false;
  std::vector<int64_t> lshape;
  bool channels_last = false;
  float scale = 1, shift = 0;
  static void describe(auto&& p) {
    p("classes", &ArrayParams::classes, "Number of classes; 0: as the file says, else one more than the largest label.",
      at_least(0), Alias{"nclass"});
    p("regression", &ArrayParams::regression, "Whether whole-number targets are values to predict, not class labels.");
    p("lshape", &ArrayParams::lshape, "Shape of one input, [C, H, W]; empty: as in the file.", at_least(1));
    p("channels_last", &ArrayParams::channels_last,
      "Whether images lie (H, W, C) in the file; otherwise (C, H, W). The net is the same for both.");
    p("scale", &ArrayParams::scale, "The net sees input * scale + shift.");
    p("shift", &ArrayParams::shift, "Added after scaling.");
  }
};

// Arrays of one split as they were read; `targets` empty: the target is the input.
struct RawSplit {
  Tensor inputs, targets;
  std::string inputs_name, targets_name;  // for messages
};

// Shape of one sample, images (C,H,W): lshape where given, checked against the rest of `inputs` after axis 0.
Shape sample_shape(const Shape& inputs, const ArrayParams& params, const std::string& name);

// Shape of one target that is no label, of `targets` (n) or (n, ...).
Shape target_shape(const Shape& targets);

// Whether targets of this kind are class labels: whole numbers, one a sample, unless `regression`; or
// anything when `classes` says how many.
bool are_labels(bool floating, const Shape& targets, const ArrayParams& params);

// Checks and converts both splits and fills train, test, sample, classes, scale and shift.
void interpret(const ArrayParams& params, const RawSplit& train, const RawSplit& test, Data& data);

}  // namespace neon
