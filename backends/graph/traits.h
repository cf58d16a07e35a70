// Traits of ops: what passes and devices ask instead of an op's name. An op's registration sets them, so that a new op
// takes part in every pass that its traits allow.
#pragma once
#include <cstdint>

#include "backends/graph/graph.h"

namespace neon {

// How lowering treats the nodes of an op.
enum class Fusion : uint8_t {
  never,      // a kernel of its own
  leaf,       // no kernel: the caller or the program gives the value
  source,     // made wherever it is used, from no operand: iota, uniform
  elements,   // each element comes from one element of each operand, which may repeat: the elementwise table, casts
  view,       // the operand's elements in another shape
  reduction,  // folds axes of its operand
  rows,       // the rows of inputs[0] that inputs[1] names
  slice,      // a part of its operand, which is read by the operand's strides
};

enum class Reduction : uint8_t { none, sum, max, min, argmax };

// matrices: a (M,K) · b (K,N), `stacks`: as many of those as a first axis says. Attributes transpose_a, transpose_b.
enum class ProductKind : uint8_t { none, matrices, stacks };

// A convolution of x by filters, or one of its gradients: by x (its input), or by the filters.
enum class ConvolutionKind : uint8_t { none, forward, by_input, by_filters };

struct OpTraits {
  Fusion fusion = Fusion::never;
  LeafKind leaf = LeafKind::none;
  Reduction reduction = Reduction::none;
  ProductKind product = ProductKind::none;
  ConvolutionKind convolution = ConvolutionKind::none;
  bool moves = false;           // the result has elements of its one operand, in other places
  bool exact = false;           // the result is the same in every arithmetic that has the operands' numbers
  bool draws = false;           // its elements are random numbers
  bool looks_up = false;        // operands are indices, which its kernels check: a run may fail for its data
  bool cheap = false;           // computing it again takes less time than reading a stored result
  bool enlarges = false;        // the result is many times as large as the operand
  bool takes_bias = false;      // its kernels can add a row of biases to the result
  bool takes_relu = false;      // its kernels can end with a relu
  bool takes_prologue = false;  // its kernels can compute the operand as they read it
  bool exchanges = false;       // its operands go to other ranks, and those of theirs come here
  int writes_rows = 0;          // the first results that its kernels can write in rows apart, as parts of a
                                // concatenation
};

}  // namespace neon
