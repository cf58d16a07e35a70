// What other frameworks call things that have another name here, or need none: messages say what to write.
#include "neon/core/registry.h"

namespace neon {

namespace {

struct ForeignName {
  const char *category, *name, *mend;
};
constexpr ForeignName kForeignNames[] = {
    {"layer", "Flatten", "leave it out: Affine takes images as they are, and Reshape: [-1] makes one axis of them"},
    {"layer", "Dense", "write `Affine: {nout: N}`"},
    {"layer", "FullyConnected", "write `Affine: {nout: N}`"},
    {"layer", "FC", "write `Affine: {nout: N}`"},
    {"layer", "Add", "write `MergeSum`"},
    {"layer", "Residual", "write `MergeSum: {layers: [[...], SkipNode]}`, or `MergeSum: {inputs: [a, b]}`"},
    {"layer", "Concat", "write `MergeConcat`"},
    {"layer", "Concatenate", "write `MergeConcat`"},
    {"layer", "MaxPool", "write `Pooling: {fshape: 2}`"},
    {"layer", "MaxPool2d", "write `Pooling: {fshape: 2}`"},
    {"layer", "MaxPooling2D", "write `Pooling: {fshape: 2}`"},
    {"layer", "AvgPool", "write `Pooling: {fshape: 2, op: avg}`"},
    {"layer", "AvgPool2d", "write `Pooling: {fshape: 2, op: avg}`"},
    {"layer", "AveragePooling2D", "write `Pooling: {fshape: 2, op: avg}`"},
    {"layer", "AdaptiveAvgPool2d", "write `Pooling: {fshape: all, op: avg}`"},
    {"layer", "GlobalAveragePooling2D", "write `Pooling: {fshape: all, op: avg}`"},
    {"layer", "Input", "leave it out: the data set tells the shape of samples"},
    {"initializer", "he_normal", "write `Kaiming`"},
    {"initializer", "he_uniform", "write `Kaiming`"},
    {"initializer", "glorot_normal", "write `Xavier`"},
    {"augmentation", "Resize", "give the data set `size: N`"},
    {"augmentation", "Normalize", "give `normalize: true` beside `augment`"},
    {"augmentation", "ColorJitter", "write `Brightness`, `Contrast` and `Saturation`"},
    {"augmentation", "RandomErasing", "write `Cutout`"},
    {"cost", "MSE", "write `MeanSquared`"},
    {"cost", "MSELoss", "write `MeanSquared`"},
    {"cost", "NLLLoss", "write `CrossEntropyMulti`, after `activation: Softmax`"},
    {"cost", "SparseCategoricalCrossentropy", "write `CrossEntropyMulti`, after `activation: Softmax`"},
    {"schedule", "StepLR", "write `Schedule: {step_config: EPOCHS, change: FACTOR}`"},
    {"schedule", "MultiStepLR", "write `Schedule: {step_config: [EPOCH, ...], change: FACTOR}`"},
};
[[maybe_unused]] const bool kAdded = [] {
  for (const ForeignName& foreign : kForeignNames) add_foreign_name(foreign.category, foreign.name, foreign.mend);
  return true;
}();

}  // namespace

}  // namespace neon
