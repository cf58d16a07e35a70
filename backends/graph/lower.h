// Lowering: a graph becomes kernels in order, by the passes of a table (pass_table.cpp). Fusible nodes are grouped,
// products and convolutions take their bias and relu along, reshapes become views, concatenations are written piece by
// piece, and every value that lives between kernels gets a place in one arena by its lifetime.
#pragma once
#include <algorithm>
#include <memory>

#include "backends/graph/attachment.h"
#include "backends/graph/lower_options.h"

namespace neon {

struct LoweredKernel {
  const Op* op = nullptr;  // null of a fused kernel
  std::vector<Value> inputs, outputs;
  Attributes attributes = {};
  std::shared_ptr<const FusedKernel> fused = {};
  std::vector<Attachment> attachments = {};  // in the order in which they are done, each kind once at most
  std::string scope = {};

  std::string_view name() const { return fused ? "fused" : op->name; }
  bool is(OpName other) const { return op && op->is(other); }
  const OpTraits& traits() const;
  // `none` of what pools, too: its result is another.
  ConvolutionKind convolution() const {
    return takes(Attachment::Kind::pooling) ? ConvolutionKind::none : traits().convolution;
  }
  bool is_matrix_product() const { return traits().product == ProductKind::matrices; }

  const Attachment* find(Attachment::Kind kind) const;  // null without one
  bool takes(Attachment::Kind kind) const { return find(kind) != nullptr; }
  Value bias() const { return takes(Attachment::Kind::bias) ? find(Attachment::Kind::bias)->value : Value{}; }
  Value addend() const { return takes(Attachment::Kind::addend) ? find(Attachment::Kind::addend)->value : Value{}; }
  bool relu() const { return takes(Attachment::Kind::relu); }
  const Attachment* derivative() const { return find(Attachment::Kind::derivative); }
  // The code of the prologue, or null.
  const FusedKernel* prologue() const {
    const Attachment* found = find(Attachment::Kind::prologue);
    return found ? found->code.get() : nullptr;
  }
  // The code of the folds of what the kernel makes, or null.
  const FusedKernel* folds() const {
    const Attachment* found = find(Attachment::Kind::folds);
    return found ? found->code.get() : nullptr;
  }
  // The code that makes more of what the kernel makes, or null.
  const FusedKernel* finish() const {
    const Attachment* found = find(Attachment::Kind::finish);
    return found ? found->code.get() : nullptr;
  }
  bool is_once() const { return fused && fused->once; }
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
  // Values whose buffers lie one behind the other, in this order: the arrays of an exchange between ranks, which costs
  // less for one array than for many.
  std::vector<std::vector<Value>> together;
  size_t arena_bytes = 0;        // of values alone, in one arena
  size_t value_bytes = 0;        // of all values that nodes make, as if each had its own memory
  std::vector<PassTrace> trace;  // one for each row of the table of passes
};

Lowered lower(const Graph& graph, const LowerOptions& options = {});

// The array that takes most of a program's memory, for messages: "Affine_0/W, f32 (4000, 784): 12.0 MiB", a value by
// its layer.
std::string largest_array(const Lowered& lowered);

// The passes in order, what each does, and what it changed: what `neon program --passes` prints.
std::string passes_text(const Lowered& lowered);

// A kernel's ops, without its expression: "convolution + bias + relu".
std::string summary(const LoweredKernel& kernel);
// Kernels in order with their expressions, shapes and buffers: what `neon program` prints.
std::string to_string(const Lowered& lowered);

}  // namespace neon
