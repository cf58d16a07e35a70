#include "backends/cuda/recurrent_plan.h"

#include <algorithm>
#include <bit>

#include "backends/cuda/code_text.h"
#include "backends/graph/ops.h"

namespace neon::cuda {

namespace {

constexpr int64_t kCellWarps = kThreads / 32;
constexpr int64_t kMostWeights = 128;    // registers of a thread
constexpr int64_t kSharedOfRest = 1024;  // bytes of shared memory beside that of products
constexpr int64_t kMostRounds = 4;       // numbers of a thread in a step
constexpr int64_t kSegmentOfSlots = 16, kMostSlots = 64;

// The registers, memory and time of a product in a block, as recurrence_tensor.cuh and recurrence_plain.cuh have it.
struct ProductNeeds {
  int64_t weights = 0;  // registers
  int64_t shared_bytes = 0;
  int64_t padded_inner = 0;  // numbers of a sample
  double cycles = 0;         // expected: arithmetic, reading what is exchanged, adding up parts
};

int64_t padded_to(int64_t x, int64_t by) { return quotient_up(x, by) * by; }

// The needs where a number has so many bytes, and is a sum of `terms` numbers that tensor cores take.
ProductNeeds tensor_needs(int64_t rows, int64_t inner, int64_t batch, int64_t inner_parts, int64_t bytes,
                          int64_t terms) {
  const bool many_samples = batch % 16 == 0;
  const int64_t row_parts = kCellWarps / inner_parts, row_tile = many_samples ? 8 : 16,
                tiles = quotient_up(quotient_up(rows, row_tile), row_parts),
                lines = quotient_up(quotient_up(inner, 32), inner_parts), all_rows = tiles * row_parts * row_tile,
                stride = many_samples ? all_rows + (40 - all_rows % 32) % 32 : all_rows + 4;
  ProductNeeds out;
  out.weights = tiles * row_tile / 8 * lines * 2 * bytes * terms;
  out.padded_inner = lines * inner_parts * 32;
  out.shared_bytes = inner_parts * batch * stride * 4;
  const double multiplications = double(all_rows * out.padded_inner * batch) * (terms == 2 ? 3 : 1);
  out.cycles = multiplications * double(bytes) / 2000 + double(out.padded_inner * batch * bytes * row_parts) / 40 +
               double(inner_parts * batch * stride) / 16;
  return out;
}

ProductNeeds plain_needs(int64_t rows, int64_t inner, int64_t batch) {
  const auto all_rows = std::max<int64_t>(int64_t(std::bit_ceil(uint64_t(rows))), 8);
  const int64_t of_lane = all_rows == 8     ? 1
                          : all_rows == 128 ? 4
                                            : 2,
                apart = 32 / (all_rows / of_lane), together = batch % 16 ? 8 : 16, least = 256 / together,
                needed = padded_to(quotient_up(inner, kCellWarps), least), piece = std::min(needed, 4 * least),
                of_warp = padded_to(needed, piece);
  ProductNeeds out;
  out.weights = of_warp / apart * of_lane;
  out.padded_inner = of_warp * kCellWarps;
  out.shared_bytes = kCellWarps * (batch * (all_rows + 4) + piece * (together + 4)) * 4;
  // Seen on an H100: lanes that read different numbers of the shared memory at once take longer, and so do samples in
  // several parts.
  const double multiplications = double(all_rows * out.padded_inner * batch), per_cycle = (of_lane == 1 ? 25
                                                                                           : apart > 1  ? 30
                                                                                                        : 65) *
                                                                                          (batch > together ? 0.8 : 1);
  out.cycles = multiplications / per_cycle + double(out.padded_inner * batch * 4) / 60 +
               double(kCellWarps * batch * all_rows) / 16;
  return out;
}

constexpr double kLatency = 1500;       // cycles from giving a number to reading it, and through a block
constexpr double kCyclesOfRound = 250;  // of the functions of a cell

std::optional<CellPlan> plan_with(const CellCase& cell, int64_t own, int64_t batch, int64_t terms, int64_t inner_parts,
                                  int64_t processors, int arch) {
  CellPlan out;
  out.own = own, out.batch = batch, out.terms = terms, out.inner_parts = inner_parts;
  out.team = quotient_up(cell.units, own), out.teams = quotient_up(cell.samples, batch);
  const int64_t rounds = quotient_up(own * batch, kThreads);
  if (out.team > processors || rounds > kMostRounds) return {};
  out.slots = cell.steps > kMostSlots ? 3 * kSegmentOfSlots : cell.steps;
  out.segment = cell.steps > kMostSlots ? kSegmentOfSlots : 0;
  out.in_order = out.blocks() > processors;
  int64_t weights = 0;
  for (const CellProduct& product : cell.products) {
    const int64_t rows = product.rows * own, inner = product.inner * cell.units;
    if (rows > 128) return {};
    const ProductNeeds needs = terms
                                   ? tensor_needs(rows, inner, batch, inner_parts, int64_t(size_of(cell.dtype)), terms)
                                   : plain_needs(rows, inner, batch);
    weights += needs.weights;
    out.shared_bytes = std::max(out.shared_bytes, needs.shared_bytes);
    out.exchanged += out.slots * needs.padded_inner * batch;
    out.cycles += needs.cycles + kLatency;
  }
  if (weights > kMostWeights || out.shared_bytes + kSharedOfRest > most_shared(arch)) return {};
  out.cycles += double(rounds) * kCyclesOfRound;
  out.cycles *= double(quotient_up(out.teams, processors / out.team));
  return out;
}

constexpr CellProduct kLstm[] = {{4, 1}}, kLstmGradient[] = {{1, 4}}, kGru[] = {{2, 1}, {1, 1}},
                      kGruGradient[] = {{1, 2}, {1, 1}}, kSimple[] = {{1, 1}};
const CellKind kKinds[] = {{ops::lstm, "lstm_forward", false, kLstm, 1, 4, true, true},
                           {ops::lstm_grad, "lstm_backward", true, kLstmGradient, 2, 5, true, true},
                           {ops::gru, "gru_forward", false, kGru, 1, 3, true, true},
                           {ops::gru_grad, "gru_backward", true, kGruGradient, 2, 5, true, false},
                           {ops::recurrent, "recurrent_forward", false, kSimple, 1, 3, false, true},
                           {ops::recurrent_grad, "recurrent_backward", true, kSimple, 1, 3, false, false}};

}  // namespace

// Bytes of shared memory that a block may have (CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability").
int64_t most_shared(int arch) {
  const int64_t kibibytes = arch >= 90 ? 227 : arch == 80 || arch == 87 ? 163 : arch >= 86 ? 99 : arch >= 75 ? 64 : 48;
  return kibibytes << 10;
}

std::optional<CellPlan> plan_cell(const CellCase& cell, int64_t processors, int arch, bool tf32) {
  std::optional<CellPlan> best;
  if (cell.samples == 0 || cell.units == 0 || cell.dtype == DType::f64) return best;
  const bool is_f32 = cell.dtype == DType::f32;
  const int64_t terms = arch < kLeastTensorArch ? 0 : is_f32 && !tf32 ? 2 : 1;
  const auto try_plans = [&](int64_t own, int64_t batch) {
    const auto take = [&](const std::optional<CellPlan>& plan) {
      if (plan && (!best || plan->cycles < best->cycles)) best = plan;
    };
    if (is_f32) take(plan_with(cell, own, batch, 0, 1, processors, arch));
    for (int64_t parts = 1; terms && parts <= kCellWarps; parts *= 2)
      take(plan_with(cell, own, batch, terms, parts, processors, arch));
  };
  for (int64_t own = 4; own <= 128; own *= 2)
    for (int64_t batch = 8; batch <= 64; batch *= 2) try_plans(own, batch);
  return best;
}

const CellKind* cell_kind(const Op& op) {
  for (const CellKind& kind : kKinds)
    if (op.is(kind.op)) return &kind;
  return nullptr;
}

CellCase cell_case(const CellKind& kind, const Graph& graph, const std::vector<Value>& inputs) {
  const Shape& shape = graph.shape(inputs[0]);
  return {graph.dtype(inputs[0]), shape[0], shape[1], graph.shape(inputs[kind.weights])[1], kind.products};
}

}  // namespace neon::cuda
