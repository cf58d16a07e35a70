// How the steps of a recurrent cell are shared among the blocks of one kernel, see recurrence.cuh: teams of blocks take
// a part of the samples each, and a team's blocks a part of the units, whose weights they keep in registers.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "backends/cuda/source.h"
#include "backends/graph/op.h"

namespace neon::cuda {

// A product of a step: so many rows of weights for each of a block's units, of `inner` numbers for each unit of all.
struct CellProduct {
  int64_t rows, inner;
};

// An op of a cell, and how its kernel is called.
struct CellKind {
  OpName op;
  const char* function;  // of the device's text
  bool gradient;
  std::span<const CellProduct> products;  // of a step
  size_t weights, given;                  // operand that the weights are; operands before those that may be left out
  bool gate, activation;                  // functions that the kernel takes, beside their derivatives
};
// Null for other ops.
const CellKind* cell_kind(const Op& op);

struct CellCase {
  DType dtype = DType::f32;
  int64_t samples = 0, steps = 0, units = 0;
  std::span<const CellProduct> products;
};

struct CellPlan {
  int64_t own = 0;           // units of a block
  int64_t batch = 0;         // samples of a team
  int64_t team = 0;          // blocks of a team
  int64_t teams = 0;         // one for each part of the samples
  int64_t terms = 0;         // numbers of tensor cores that a number is split into; 0: no tensor cores
  int64_t inner_parts = 1;   // warps among which the inner axis of a product on tensor cores is shared
  int64_t slots = 0;         // of steps that an exchange has at a time
  int64_t segment = 0;       // steps after which some slots are emptied, to be used again; 0: never
  bool in_order = false;     // more blocks than run at the same time: they take their numbers as they begin
  int64_t exchanged = 0;     // numbers that a team has room for
  int64_t shared_bytes = 0;  // of shared memory
  double cycles = 0;         // what a step is expected to take
  int64_t blocks() const { return team * teams; }
};

// The fastest by an estimate. Tensor cores take TF32 where `tf32` allows that, and else f32 as the sum of two numbers
// of TF32; where the weights do not fit the registers then, or before compute capability 8.0, f32 is multiplied without
// tensor cores. No plan where the weights do not fit the registers of all processors, in f64, for 16-bit
// numbers on a GPU without tensor cores that take them (before compute capability 8.0), or where nothing is to be done.
std::optional<CellPlan> plan_cell(const CellCase& cell, int64_t processors, int arch, bool tf32 = false);

// Bytes of shared memory that a block may have.
int64_t most_shared(int arch);

// The case of a node or kernel of a cell.
CellCase cell_case(const CellKind& kind, const Graph& graph, const std::vector<Value>& inputs);

}  // namespace neon::cuda
