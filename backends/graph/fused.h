// The form in which fused elementwise and reduction chains reach a device: registers filled by instructions
// over a domain. On the CPU it is a loop over cache-sized blocks, on CUDA it becomes the source of a kernel.
//
// A segment runs over the elements of `domain`. Axes marked in `reduced` are folded by its reductions; the
// others are kept. A register holds one number for every element (full), for every index of the kept axes
// (kept), or just one (scalar). Totals reduce a register over the whole domain; their results exist only after
// all segments ran, in `post`, which is scalar.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/graph/draw_places.h"

namespace neon {

enum class Reach : uint8_t { scalar, kept, full };

// A load that makes max pooling's gradient (N, ..., C) as it reads: its windows do not overlap, so that an element has
// the number of its window, or 0. The load's `value` has the numbers, its `index` their places in the windows.
struct Spread {
  Attributes pooling;              // of the op
  const Op* derivative = nullptr;  // what the numbers go through first, beside those of `gate`; or nothing
  Value gate;
};

struct Instruction {
  enum class Kind : uint8_t {
    load,      // elements of `value` from `first` on, by `strides`; through `index` when that is given (a gather)
    record,    // the scalar `name` of the step record
    constant,  // `number`
    iota,      // index along `axis` of the domain
    uniform,   // random numbers of stream `name`, `seed`, at `places` by the element's index; a single one is
               // the first
    compute,   // `op`, an elementwise op, of `inputs`; cast and broadcast are compute with row identity
    reduce,    // `op` sum, max, min or argmax of `inputs[0]` over the reduced axes; the result is kept
    total,     // (post only) result of totals[index_of_total] of segment `segment`
  };
  Kind kind = Kind::compute;
  Reach reach = Reach::full;
  const Op* op = nullptr;
  DType dtype = DType::f32;  // of what `op` makes, which needs to be no more exact
  std::vector<int> inputs;   // registers
  Value value, index;
  Value folded;  // of a reduction: the value of the graph that it makes
  // A load's strides, in elements for each axis of the domain; 0 repeats. In a gather, axis 0 is that of `index`, and
  // strides[0] is the length of a row of `value`.
  std::vector<int64_t> strides;
  int64_t first = 0;                          // of a slice
  std::shared_ptr<const Spread> spread = {};  // null of other loads
  DrawPlaces places;
  std::string name;
  uint64_t seed = 0;
  double number = 0;
  int axis = 0, segment = 0, total = 0;
};

struct Store {
  int reg = 0;
  Value value;  // of its own shape, dense; for an assignment, the variable
  Reach reach = Reach::full;
};

struct Total {
  const Op* op = nullptr;  // sum, max, min
  int reg = 0;
};

struct Segment {
  Shape domain;
  std::vector<bool> reduced;      // one an axis
  std::vector<Instruction> body;  // instruction i fills register i
  std::vector<Store> stores;
  std::vector<Total> totals;
};

// A product of matrices that a kernel makes as it walks over its rows: result (P,N) = rows (P,K) · weights, which are
// (N,K), or (K,N) if `turned`.
struct RowProduct {
  Value result, rows, weights;
  bool turned = false;
  bool kept = true;  // other kernels read the result
};

struct FusedKernel {
  std::vector<Segment> segments;
  std::optional<RowProduct> product;  // whose result the only segment loads; see row_products.h
  std::vector<Instruction> post;
  std::vector<Store> post_stores;
  Value guard;  // 0: the kernel does nothing
  // It makes kept values alone: it runs only where somebody else has written a variable since the program ran.
  bool once = false;
  DType compute = DType::f32;

  // "h = relu(x + b); cost = sum(...)": for people
  std::string to_string(const Graph& graph) const;
};

}  // namespace neon
