// Sequences of labels: the cost of connectionist temporal classification, and distances between two of them. A label
// below 0 stands for none.
#pragma once
#include "backends/graph/expression.h"

namespace neon {

// The cost (N) of labels (N,L) i32 by z (N,T,K), logarithms of a probability of each class at each step: -log of the
// sum of the products along all paths that give the labels. A path has a class a step; those that follow one another
// and are the same count once, and `blank` stands for none (Graves et al. 2006). Labels are padded by numbers below 0.
// `lengths` (N) i32 are those of z; an invalid Value: all steps count. Infinite where no path gives the labels.
Value ctc(Graph& graph, Value z, Value labels, Value lengths, int64_t blank);

// How many labels must be put in, left out or replaced (Levenshtein 1966), (N) in f32, to make the sequences a (N,T)
// i32 those of b (N,L) i32. Labels below 0, anywhere, do not count.
Value edit_distance(Graph& graph, Value a, Value b);

}  // namespace neon
