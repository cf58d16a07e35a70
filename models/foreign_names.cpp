// Names of other frameworks that neon spells differently or does without: messages advise what to write.
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
    {"layer", "Multiply", "write `MergeProduct`"},
    {"layer", "Average", "write `MergeMean`"},
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
    {"layer", "Input", "leave it out: the data set gives the shape of samples"},
    {"layer", "Conv2D", "write `Conv: {fshape: 3, nofm: N}`"},
    {"layer", "Convolution2D", "write `Conv: {fshape: 3, nofm: N}`"},
    {"layer", "Conv2DTranspose", "write `Deconv`"},
    {"layer", "ConvTranspose2d", "write `Deconv`"},
    {"layer", "ZeroPadding2D", "give Conv or Pooling `padding: N`"},
    {"layer", "BatchNormalization", "write `BatchNorm`, or give Conv or Affine `batch_norm: true`"},
    {"layer", "BatchNorm2d", "write `BatchNorm`, or give Conv or Affine `batch_norm: true`"},
    {"layer", "LayerNormalization", "write `LayerNorm`"},
    {"layer", "GroupNormalization", "write `GroupNorm: {groups: N}`"},
    {"layer", "Attention", "write `MultiHeadAttention: {heads: N}`"},
    {"layer", "SelfAttention", "write `MultiHeadAttention: {heads: N}`"},
    {"layer", "PositionalEncoding", "write `SinusoidalPositions` or `LearnedPositions`"},
    {"layer", "SimpleRNN", "write `Recurrent`"},
    {"activation", "relu6", "write `Rectlinclip: {xcut: 6}`"},
    {"activation", "log_softmax", "write `Softmax`: CrossEntropyMulti takes its logarithm"},
    {"initializer", "zeros", "write `{Constant: 0}`"},
    {"initializer", "ones", "write `{Constant: 1}`"},
    {"initializer", "normal", "write `{Gaussian: {scale: 0.01}}`"},
    {"initializer", "RandomNormal", "write `{Gaussian: {scale: 0.01}}`"},
    {"initializer", "RandomUniform", "write `{Uniform: {low: -0.1, high: 0.1}}`"},
    {"initializer", "true", "write `{Constant: 0}` for a bias that begins at 0"},
    {"initializer", "false", "leave the key out for no bias"},
    {"initializer", "he_normal", "write `Kaiming`"},
    {"initializer", "he_uniform", "write `Kaiming`"},
    {"initializer", "glorot_normal", "write `Xavier`"},
    {"augmentation", "Resize", "give the data set `size: N`"},
    {"augmentation", "Normalize", "give `normalize: true` beside `augment`"},
    {"augmentation", "ColorJitter", "write `Brightness`, `Contrast` and `Saturation`"},
    {"augmentation", "RandomAffine", "write `Rotation`, `Shear` and `RandomScale`"},
    {"augmentation", "RandomHorizontalFlip", "write `Flip`"},
    {"cost", "MSE", "write `MeanSquared`"},
    {"cost", "mean_squared_error", "write `MeanSquared`"},
    {"cost", "L1Loss", "write `SmoothL1Loss`"},
    {"cost", "mean_absolute_error", "write `SmoothL1Loss`"},
    {"cost", "mae", "write `SmoothL1Loss`"},
    {"cost", "hinge", "write `SquareHingeLoss`"},
    {"cost", "categorical_crossentropy", "write `CrossEntropyMulti`, after `activation: Softmax`"},
    {"cost", "CategoricalCrossentropy", "write `CrossEntropyMulti`, after `activation: Softmax`"},
    {"cost", "sparse_categorical_crossentropy", "write `CrossEntropyMulti`, after `activation: Softmax`"},
    {"cost", "cross_entropy", "write `CrossEntropyMulti`, after `activation: Softmax`"},
    {"cost", "CrossEntropy", "write `CrossEntropyMulti`, after `activation: Softmax`"},
    {"cost", "CrossEntropyLoss", "write `CrossEntropyMulti`, after `activation: Softmax`"},
    {"cost", "binary_crossentropy", "write `CrossEntropyBinary`, after `activation: Logistic`"},
    {"cost", "BinaryCrossentropy", "write `CrossEntropyBinary`, after `activation: Logistic`"},
    {"cost", "BCELoss", "write `CrossEntropyBinary`, after `activation: Logistic`"},
    {"cost", "BCEWithLogitsLoss", "write `CrossEntropyBinary`, after `activation: Logistic`"},
    {"cost", "BinaryFocalCrossentropy", "write `FocalBinary`, after `activation: Logistic`"},
    {"cost", "CategoricalFocalCrossentropy", "write `Focal`, after `activation: Softmax`"},
    {"metric", "F1", "write `PrecisionRecall`"},
    {"metric", "categorical_accuracy", "write `Accuracy`"},
    {"optimizer", "Nesterov", "write `GradientDescentMomentum: {momentum_coef: 0.9, nesterov: true}`"},
    {"callback", "ModelCheckpoint", "leave it out: -s FILE saves checkpoints"},
    {"callback", "TensorBoard", "leave it out: -o FILE writes the metrics of a run"},
    {"callback", "LearningRateScheduler", "give the optimizer a `schedule`"},
    {"callback", "ReduceLROnPlateau", "give the optimizer a `schedule`"},
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
