// The first ops of every step: the samples that `indices` names, as the net and the cost see them.
#pragma once
#include "models/step_graph.h"

namespace neon {

struct Batch {
  // (views N, ...) in the type of activations, images (N,H,W,C) where channels_last(); tokens (N,T) i32; rows with
  // embedded columns in the type of the arithmetic
  Expr x;
  // Targets (N,K) in f32 or f64, of several outputs side by side. Labels are (N,classes), 1 at the label; labels of
  // pixels (N H W,classes), of steps (N T,classes).
  Expr t;
  // (N T,1) where steps have labels: 1 for a step with a label, 0 where its label is below 0. count_steps() gives steps
  // with numbers theirs. Otherwise without a value.
  Expr counts;
  Expr count;          // (1,1) their sum over the batch and all ranks, as sum_counts() gives it to a batch in training
  Expr boxes;          // (N,M,6) where targets are boxes of objects, cut as the images are; otherwise without a value
  Value labels;        // (N,L) i32 where steps have labels or targets are sequences of labels, -1 for none; or invalid
  Value lengths;       // (N) i32 of sequences of different lengths, whose padding x has as 0; otherwise invalid
  int64_t views = 1;   // x holds every sample so many times, all samples' first views first
  bool moves = false;  // augmentations move pixels
};

// Whether images are (H,W,C) from there on.
bool channels_last(const DataLayout& data, const StepOptions& options);

// Adds the inputs `data` of `set_size` samples, `indices` and, unless inputs are the targets, `targets`.
Batch batch_of(Graph& graph, const DataLayout& data, int64_t set_size, const StepOptions& options, bool training);

}  // namespace neon
