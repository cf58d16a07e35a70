// Passes that make one graph from another, and the rewrite of a cost before it is differentiated.
#pragma once
#include "backends/graph/graph.h"
#include "backends/graph/lower_options.h"

namespace neon {

constexpr int64_t kChannelsOfPair = 4;  // of a pixel, see DeviceKernels::pairs_pixels

// The same number, with logarithms of a softmax or of a logistic function computed from what those are given, which
// loses nothing where they saturate; see on_logits.cpp. Nodes are added to the graph, and none of it changes.
Value on_logits(Graph& graph, Value cost);

// The same computation where gradients of batch norms of concatenations, which grow part by part, are added up before
// they are finished; see dense_blocks.cpp.
Graph with_dense_blocks(const Graph& graph);

// The same computation without nodes that no output or assignment needs, and with compound ops replaced by
// their definitions, save those for which the device has a kernel of its own.
Graph expand(const Graph& graph, const DeviceKernels& kernels = {});

// The same computation with less work: the sum over pixels of what max pooling's gradient spreads is the sum of what it
// is given, which is smaller.
Graph simplified(const Graph& graph);

// The same computation where what variables are in a type of fewer bytes is kept from run to run, and written by
// whatever writes the variable: no step begins by casting all weights.
Graph with_kept_casts(const Graph& graph);

// The same computation where weights that are not trained here are multiplied by what multiplies the features of their
// product, as batch norm of an evaluation does: once after each change of the variables.
Graph with_folded_scales(const Graph& graph);

// The same computation where rows of weights that ranks share are gathered by exchanges of several arrays.
Graph with_gathers_together(const Graph& graph);

// The same computation where convolutions of few channels, fewer than a tensor core multiplies at once, take pixels for
// channels, with the filters moved alike: all that a filter sees, which makes it a product, or where that is much,
// blocks of them, so that a stride of 4 over 3 channels becomes a stride of 1 over 48. Where the device's kernels take
// pixels as they are, channels are filled up alone.
Graph with_deep_inputs(const Graph& graph, const DeviceKernels& kernels = {});

// The same computation where gradients of f32 filters, of enough maps and work, are products of turned arrays. For
// devices that multiply with fewer bits than f32 has (TF32).
Graph with_product_gradients(const Graph& graph);

// The same computation where gradients by one x, of convolutions of it with equal windows, are one of all their results
// and filters side by side: it makes and reads x once.
Graph with_siblings_together(const Graph& graph);

// The same computation where sums of arrays that are in memory anyway, and that only slices read, each element in one
// of them at most, are not made: the slices are of the summands, and are added up where they are read.
Graph with_slices_of_summands(const Graph& graph);

// The same computation with a copy of each part of a concatenation that its kernel cannot write there, if that is the
// smaller share: all parts can then be written in place.
Graph with_parts_copied(const Graph& graph, const LowerOptions& options);

// The same computation with copies added where lowering needs them: every assignment's value is made by a fusible
// node that may write the variable and is stopped by the guard alone, or by an opaque kernel that may write there
// directly; outputs, guards and operands of opaque kernels are arrays; and no reader of a variable must wait for the
// node that writes it.
Graph with_writers(const Graph& graph);

}  // namespace neon
