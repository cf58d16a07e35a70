// Arrays whose samples or targets are sequences.
#pragma once
#include <string>

#include "datasets/sample_meaning.h"
#include "neon/core/tensor.h"

namespace neon {

// Samples (n,T,F) as bytes or f32, in which steps of NaN stand behind a sequence. A data error names row and step.
Tensor sequence_array(const Tensor& raw, const std::string& source);

// Samples (n,T) as i32: tokens from 0 to below `tokens`. Where they are `ragged`, -1 stands behind those of a sample. A
// data error names the sample and the place.
Tensor token_rows(const Tensor& raw, int64_t tokens, bool ragged, const std::string& source);

// Targets (n,L) as i32: labels of so many classes, and -1 behind those of a sample. A data error names the row.
Tensor label_rows(const Tensor& raw, int64_t classes, const std::string& source);

// Targets (n,T) or (n,T,1) as (n,T) i32: a label of so many classes for each step of `inputs`, which are sequences as
// they lie in memory. A step with -1 has no label: it counts in no cost or metric. Behind a sequence stands -1. A data
// error names the row.
Tensor step_labels(const Tensor& raw, const Tensor& inputs, int64_t classes, const std::string& source);

// Numbers (n,T,K) for the steps of `inputs`, with 0 behind each sequence, where NaN may stand, too.
Tensor step_values(const Tensor& raw, const Tensor& inputs);

// Arrays (n,T,...) of sequences of fewer than `steps` steps, with so many of them; `fill` stands in the new ones.
// Whole numbers become i32.
Tensor with_more_steps(const Tensor& raw, int64_t steps, double fill);

// Whether a target of `labels`, as label_rows() makes them, has the class `end`.
bool have_end(const Tensor& labels, int64_t end);

// Labels (n,L) in which the class `end` ends each target: with `given` those that end so, otherwise longer by one.
// A data error names the row of a target that does not end so, or has the class elsewhere.
Tensor ended_rows(const Tensor& labels, int64_t end, bool given, const std::string& source);

// Samples of that meaning, as a file has them: sequence_array() or input_array().
Tensor inputs_like(const SampleMeaning& meaning, const Tensor& raw, const std::string& source);

}  // namespace neon
