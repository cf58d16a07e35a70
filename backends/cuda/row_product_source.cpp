#include "backends/cuda/row_product_source.h"

#include <algorithm>

#include "backends/cuda/product_text.h"
#include "backends/cuda/recurrent_plan.h"
#include "backends/cuda/segment_source.h"
#include "backends/graph/fuse.h"

extern const char row_product_text[];
extern const unsigned long row_product_text_size;

namespace neon::cuda {

namespace {

// As in row_product.cuh.
constexpr int64_t kDepth = 64, kAligned = 1024;
constexpr int kMostStages = 4, kLeastStages = 2;
constexpr int kHopper = 90;  // whose instructions these are
// A smaller result stays in the cache, and a block has too few tiles of it.
constexpr int64_t kLeastBytes = 16 << 20, kLeastTiles = 2;
// A library's kernel is the faster with longer sums: with 256 terms it and its batch norm took as long on an H200.
constexpr int64_t kMostInner = 128;

// Whether a segment reads the product element by element, and else its first row alone. Other places may not be made
// yet.
bool reads_in_order(const Segment& segment, Value result, const Graph& graph) {
  int whole = 0;
  for (const Instruction& i : segment.body) {
    if (i.index && viewed(graph, i.index) == result) return false;
    if (i.kind != Instruction::Kind::load || viewed(graph, i.value) != result) continue;
    if (i.value != result || i.index || i.first) return false;
    const int last = segment.domain.rank() - 1;
    int64_t dense = 1;
    for (int axis = last; axis >= 0; --axis) {
      const bool steps = segment.domain[axis] > 1 && (i.reach == Reach::full || axis == last);
      if (i.strides[size_t(axis)] != (steps ? dense : 0)) return false;
      dense *= segment.domain[axis];
    }
    whole += i.reach == Reach::full;
  }
  return whole == 1 && segment.domain.elements() == graph.shape(result).elements();
}

}  // namespace

int64_t RowProductPlan::tiles() const { return (count + kRowsOfTile - 1) / kRowsOfTile; }

int64_t RowProductPlan::shared_bytes() const {
  const int64_t parts = (inner + kDepth - 1) / kDepth;
  return kAligned + parts * columns * kDepth * 2 + stages * kRowsOfTile * kDepth * 2 +
         kRowsOfTile * (columns * 2 + 16) + columns * 4;
}

std::string RowProductPlan::type() const {
  return text("RowProduct<", device_type(dtype), ", ", columns, ", ", inner, ", ", all, ", ", turned ? "true" : "false",
              ", ", stages, ">");
}

std::string RowProductPlan::declarations() const {
  return text(pair_text(dtype), multiply_add_text(dtype, columns / 2),
              std::string_view(row_product_text, row_product_text_size));
}

bool multiplies_rows(const LoweredKernel& kernel, const RowProduct& product, const Lowered& lowered,
                     const DeviceKernels& device) {
  const Graph& graph = lowered.graph;
  const TensorType &result = graph.type(product.result), &rows = graph.type(product.rows);
  if (device.arch != kHopper || (result.dtype != DType::f16 && result.dtype != DType::bf16)) return false;
  if (rows.dtype != result.dtype || graph.dtype(product.weights) != result.dtype) return false;
  if (kernel.fused->compute != DType::f32 || result.bytes() < size_t(kLeastBytes)) return false;
  const int64_t inner = rows.shape.back();
  // Rows larger than the result would be read for less than they take.
  if (inner % 8 != 0 || inner > std::min(kMostInner, result.shape.back())) return false;
  for (Value read : {product.rows, product.weights})  // an input's rows may begin anywhere
    if (graph.producer(viewed(graph, read)).op->traits.leaf == LeafKind::input) return false;
  const Placement& weights = lowered.placements[size_t(product.weights.id)];
  if (!weights.lies_together(graph.shape(product.weights).elements()) || weights.first % 8 != 0) return false;
  if (!reads_in_order(kernel.fused->segments[0], product.result, graph)) return false;
  std::map<std::string, int> scalars;
  SourceContext context{.lowered = lowered, .scalars = scalars, .processors = device.processors, .arch = device.arch};
  CodeText code(context, kernel.fused->compute);
  const SegmentSpread spread(kernel.fused->segments[0], code, kBlocksOfProcessor * device.processors, &product);
  const auto plan = spread.product_plan();
  return plan && plan->tiles() >= kLeastTiles * plan->blocks;
}

bool RowProductPlan::fits(int64_t most_bytes) {
  for (stages = kMostStages; stages > kLeastStages && shared_bytes() > most_bytes; --stages) {
  }
  return shared_bytes() <= most_bytes;
}

}  // namespace neon::cuda
