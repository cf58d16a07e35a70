// The readers of arrays (NPY, NPZ, HDF5) understand inputs and targets by the same rules.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace neon {

struct ArrayParams {
  int64_t classes = 0;
  bool regression = false;
  std::vector<int64_t> lshape;
  bool channels_last = false, sequences = false, label_sequences = false;
  std::optional<int64_t> end_class;
  int64_t tokens = 0;
  float scale = 1, shift = 0;
  static void describe(auto&& p) {
    p("classes", &ArrayParams::classes,
      "Number of classes: labels are whole numbers from 0 to below it, and some classes may have no sample. 0: the "
      "number follows from the file. Its labels must then be 0 to k - 1, each at least once in the training set. Rows "
      "of one 1 among zeros (one-hot) are k classes.",
      at_least(0), Alias{"nclass"});
    p("regression", &ArrayParams::regression,
      "Whether whole numbers and one-hot rows are values to predict, not classes. Whole numbers (n, H, W) beside "
      "samples (n, C, H, W) are a class for each pixel, and (n, T) beside sequences of T steps a class for each step.");
    p("lshape", &ArrayParams::lshape, "Shape of one input, [C, H, W]. Empty: the file's.", at_least(1));
    p("channels_last", &ArrayParams::channels_last,
      "Reads images of the file as (H, W, C) instead of (C, H, W). The net is the same for both.");
    p("sequences", &ArrayParams::sequences,
      "Whether a sample (T,F) is a sequence of T steps. Steps of NaN behind it are padding, so that sequences may have "
      "different lengths.");
    p("tokens", &ArrayParams::tokens,
      "Above 0, samples (n,T) are sequences of tokens: whole numbers from 0 to below this one, and -1 behind a shorter "
      "sequence. 0: they are numbers.",
      closed(0, 1e8));
    p("label_sequences", &ArrayParams::label_sequences,
      "Whether targets (n,L) are sequences of labels with -1 behind each, as cost: CTC compares them with samples that "
      "are sequences.");
    p("end_class", &ArrayParams::end_class,
      "Class that ends the labels of each target, so that a Seq2Seq learns where to end. neon puts it behind the "
      "labels "
      "of all targets, unless all end with it. Without it, the labels are for cost: CTC.",
      closed(0, (1 << 24) - 1));
    p("scale", &ArrayParams::scale, "Factor of the inputs: the net gets input * scale + shift.");
    p("shift", &ArrayParams::shift, "Number added to the inputs after scaling.");
  }
};

// An array of a file, by its header alone.
struct ArrayForm {
  std::string name;  // file and array, for messages; "": no array
  Shape shape;
  bool floating = false;
  double bytes = 0;          // in memory
  DType dtype = DType::f32;  // of inputs in memory: u8 for bytes
};
struct SplitForm {
  ArrayForm inputs, targets;
};
// Checks before anything is unpacked: rows of inputs and targets agree, and samples of both splits have the same shape.
// Everything must fit into the free memory. `test` may have no arrays. Throws a data, config or memory error.
void check_forms(const ArrayParams& params, const SplitForm& train, const SplitForm& test);

// Arrays of one split as they were read; `targets` empty: the target is the input.
struct RawSplit {
  Tensor inputs, targets;
  std::string inputs_name, targets_name;  // for messages
};

// Shape of one sample, images (C,H,W): lshape where given, checked against the rest of `inputs` after axis 0.
Shape sample_shape(const Shape& inputs, const ArrayParams& params, const std::string& name);

// Shape of one target of `targets` (n) or (n, ...), for numbers.
Shape target_shape(const Shape& targets);

// Whether targets are a class for each pixel: whole numbers, or with `classes` any, (n,H,W) or (n,1,H,W) beside samples
// (C,H,W). Not with `regression`.
bool label_pixels(bool floating, const Shape& targets, const Shape& sample, const ArrayParams& params,
                  const DataContext& context);

// Whether targets may be a class for each step: whole numbers, or with `classes` any, (n,T) or (n,T,1) beside sequences
// of T steps. Not with `regression` or `label_sequences`.
bool label_steps(bool floating, const Shape& targets, const Shape& sample, const ArrayParams& params,
                 const DataContext& context);

// Whether targets of this form may be classes, so that their values must decide. These may: whole numbers, one a
// sample, pixel or step; any numbers, one a sample, if `classes` is given; rows of several numbers (one-hot). Not with
// `regression`.
bool may_be_classes(bool floating, const Shape& targets, const Shape& sample, const ArrayParams& params,
                    const DataContext& context);

// Whether each row of (n, k) has one 1, and zeros otherwise.
bool is_one_hot(const Tensor& targets);

// Whether such targets are a class for each step. They are not where each row (n,T) has one 1 among zeros: `classes`
// must then say whether these are T classes of sequences, or it throws a config error.
bool are_classes_of_steps(const Tensor& targets, const Shape& sample, const ArrayParams& params,
                          const DataContext& context, const std::string& name);

// The number of classes of such targets; 0: they are values. Labels must be 0 to k - 1, each at least once, unless
// `classes` gives their number. Rows (n, k) are classes if each has one 1 and otherwise zeros. Behind the labels of
// steps stands -1.
int64_t classes_of(const Tensor& targets, const Shape& sample, const ArrayParams& params, const DataContext& context,
                   const std::string& name);

// Fills the check of a set from the headers of its arrays, after check_forms. `read_targets` reads the training
// targets, whose values tell classes from numbers. Labels of an autoencoder, which is trained without them, may all be
// 0.
void check_arrays(const ArrayParams& params, const SplitForm& train, const SplitForm& test, const DataContext& context,
                  const std::function<Tensor()>& read_targets, bool autoencoder, DataCheck& out);

// Checks and converts both splits and fills train, test and the meaning. `autoencoder`: as of check_arrays.
void interpret(const ArrayParams& params, const RawSplit& train, const RawSplit& test, const DataContext& context,
               bool autoencoder, Data& data);

}  // namespace neon
