// Lowering: a graph becomes kernels in order. Fusible nodes are grouped (fuse.cpp), products and convolutions take
// their bias and relu along, reshapes become views, concatenations are written piece by piece where that can be
// (join.cpp), and every value that lives between kernels gets a place in one arena by its lifetime (plan.cpp).
#pragma once
#include <algorithm>
#include <memory>

#include "backends/graph/fused.h"

namespace neon {

struct LoweredKernel {
  std::string op;  // "fused", "matmul", ...
  std::vector<Value> inputs, outputs;
  Attributes attributes;
  std::shared_ptr<const FusedKernel> fused;  // of op "fused"
  // Of op "patches": what makes the images that it sees of its inputs, see take_prologues(); else they are inputs[0].
  std::shared_ptr<const FusedKernel> prologue;
  // Of ops "matmul" and "convolution": what is done to the result before it is stored; of "pool_max" the relu alone.
  // "pooled_convolution" is a convolution with bias, "pool_max" of 2 x 2 pixels, whose outputs it has, and relu or not;
  // "pooled_weight_gradient" a "pool_max_gradient" with derivative and sums, and of what that spreads over patches,
  // inputs.back(), the gradient by the filters.
  Value bias;  // (K) or (1,K), added to every row, of each pixel
  bool relu = false;
  // A derivative, a row's by one operand, which reads `gate`: of a product that the device makes itself, see
  // LowerOptions::own_products, what its result goes through; of "pool_max_gradient", what inputs[0] goes through.
  // There may be sums as outputs[1]: of a product's inputs[0], which takes part as its transpose, over its rows; of
  // what pooling's gradient spreads, over all but the last axis.
  const Op* derivative = nullptr;
  Value gate;
  bool is_once() const { return fused && fused->once; }
  bool takes_sums() const {
    return outputs.size() > 1 && (op == "matmul" || op == "pool_max_gradient" || op == "pooled_weight_gradient");
  }
  std::string scope;
};

// Whether it is a convolution or a gradient of one whose filters (K,1,1,C) see each pixel by itself: a matrix product.
bool is_pointwise(const LoweredKernel& kernel, const Graph& graph);

struct Buffer {
  size_t offset = 0, bytes = 0;  // in the arena, or where place_shared() says (plan.h)
  int first = 0, last = 0;       // kernels between which it lives
};

// Where a value lies that is written into a larger array: rows of `row` elements, `stride` apart, from `first` on. A
// value that lies for itself has no `whole`.
struct Placement {
  Value whole;
  int64_t first = 0, row = 1, stride = 1;
  explicit operator bool() const { return bool(whole); }
  // Whether it lies there as it would for itself, all of its `elements` one after the other.
  bool lies_together(int64_t elements) const { return !whole || row == elements; }
  int64_t of(int64_t element) const { return whole ? first + element / row * stride + element % row : element; }
  // Calls visit(element, place, n) for each n of the `count` elements that lie together.
  template <typename Visit>
  void each_run(int64_t element, int64_t count, Visit&& visit) const {
    for (int64_t n = 0; count > 0; element += n, count -= n) {
      n = whole ? std::min(row - element % row, count) : count;
      visit(element, of(element), n);
    }
  }
};

struct Lowered {
  Graph graph;  // expanded; all Values below are of it
  std::vector<LoweredKernel> kernels;
  // For each value of the graph: the value whose storage holds it (itself, a view's source, the concatenation
  // that it is written into, the variable that an assignment writes), or an invalid Value when it never leaves a
  // kernel.
  std::vector<Value> storage;
  std::vector<Placement> placements;  // by value: where it lies in its storage
  std::vector<Buffer> buffers;        // by value; bytes 0 for values that are not in the arena
  size_t arena_bytes = 0;             // of values alone, in one arena
  size_t value_bytes = 0;             // of all values that nodes make, as if each had its own memory
};

struct LowerOptions {
  bool fuse = true;                // false: a kernel for every node, for tests
  bool kept_casts = true;          // with `fuse`, see with_kept_casts(); false: nobody tells who else writes variables
  bool remake = false;             // see with_remade(): for devices whose arithmetic outruns their memory
  bool deep_inputs = false;        // see with_deep_inputs()
  bool prologues = false;          // see take_prologues()
  bool siblings = false;           // see with_siblings_together()
  bool columns = false;            // see with_slices_of_summands(); what reads or makes columns of one array is one
  bool product_gradients = false;  // see with_product_gradients()
  int64_t own_products = 0;        // multiplications of a product, at most, that takes derivatives and sums along
  bool relus_apart = false;        // after convolutions in f32 whose filters see several pixels
  int64_t pooled_bytes = 0;        // of what pooling's gradient is given, at least, to take a derivative and sums along
  // Of which first convolutions, products of patches by few channels, take 2 x 2 max pooling along, and the gradients
  // by their filters that of pooling.
  std::vector<DType> pooled_types = {};
  bool join = false;  // see join_concatenations(), and is_writer()
  std::vector<std::string_view> writers = {"convolution", "convolution_data_gradient", "pool_max", "pool_avg"};
  std::vector<std::string_view> keep = {};  // compound ops for which the device has a kernel of its own
};

Lowered lower(const Graph& graph, const LowerOptions& options = {});

// What takes most of a program's memory, for messages: "Affine_0/W, f32 (4000, 784): 12.0 MiB", a value by its layer.
std::string largest_array(const Lowered& lowered);

// What a kernel computes, without its expression: "convolution + bias + relu".
std::string summary(const LoweredKernel& kernel);
// Kernels in order with their expressions, shapes and buffers: what `neon program` prints.
std::string to_string(const Lowered& lowered);

}  // namespace neon
