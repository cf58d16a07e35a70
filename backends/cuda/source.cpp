#include "backends/cuda/source.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "backends/cuda/attention_plan.h"
#include "backends/cuda/depthwise_source.h"
#include "backends/cuda/op_source.h"
#include "backends/cuda/pairs_plan.h"
#include "backends/cuda/pool_gradient_source.h"
#include "backends/cuda/pool_strip_source.h"
#include "backends/cuda/recurrent_plan.h"
#include "backends/cuda/result_folds.h"
#include "backends/cuda/row_product_source.h"
#include "backends/cuda/segment_source.h"
#include "backends/elementwise/kernels.h"
#include "backends/graph/ops.h"

extern const char numbers_text[], prelude_text[];
extern const unsigned long numbers_text_size, prelude_text_size;
extern const char totals_text[];
extern const unsigned long totals_text_size;
extern const char spread_text[];
extern const unsigned long spread_text_size;

namespace neon::cuda {

const char* device_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return "double";
    case DType::f32: return "float";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::i64: return "i64";
    case DType::i32: return "int";
    case DType::i8: return "i8";
    case DType::u8: return "u8";
  }
  return "";
}

// The least size of the gradient given to max pooling's gradient. The kernel that makes that gradient saves writing and
// reading it, but takes some microseconds to add up its blocks' sums.
constexpr int64_t kLeastPooled = 1 << 20;  // bytes

namespace {

PassSet gpu_passes(bool tf32) {
  PassSet out = kUsualPasses | PassSet{LowerPass::dense_blocks,   LowerPass::siblings,   LowerPass::columns,
                                       LowerPass::deep_inputs,    LowerPass::remake,     LowerPass::prologues,
                                       LowerPass::join,           LowerPass::spreads,    LowerPass::row_products,
                                       LowerPass::both_gradients, LowerPass::moved_folds};
  if (tf32) out |= LowerPass::product_gradients;
  return out;
}

// Recurrent cells stay as long as the weights fit the registers; longer ones are their definitions, a few kernels a
// step.
bool keeps(const Graph& graph, const Node& node, const DeviceKernels& kernels) {
  if (const CellKind* kind = cell_kind(*node.op))
    return plan_cell(cell_case(*kind, graph, node.inputs), kernels.processors, kernels.arch, kernels.tf32).has_value();
  if (is_attention(*node.op)) {
    // The kernel draws by the place in this rank's share, and ranks would drop the same weights of different samples.
    if (kernels.exchanges && node.attributes.has("keep")) return false;
    const bool gradient = node.op->is(ops::attention_grad);
    return plan_attention(attention_case(graph, node.inputs, node.attributes, gradient), kernels.arch).has_value();
  }
  return node.op->traits.exchanges ? kernels.exchanges : has_source(*node.op);
}

bool computes_image(const LoweredKernel& kernel, const Graph& graph, const FusedKernel* code) {
  return kernel.is(ops::pool_max) ? pools_computed(kernel, graph) : computes_depthwise_image(kernel, graph, code);
}

// cuBLASLt adds an array to any product, cuDNN's kernels for tensor cores to a convolution's result.
bool adds_array(const LoweredKernel& kernel, const Graph& graph, const DeviceKernels& kernels) {
  const TensorType& y = graph.type(kernel.outputs[0]);
  if (y.dtype == DType::f64 || !is_floating(y.dtype)) return false;
  if (kernel.is_matrix_product()) return graph.dtype(kernel.inputs[0]) == y.dtype;
  if (kernel.convolution() != ConvolutionKind::forward || y.shape.rank() != 4) return false;
  const int64_t channels = graph.shape(kernel.inputs[0]).back();
  return is_pointwise(kernel, graph) ||
         (size_of(y.dtype) == 2 && kernels.arch >= kLeastTensorArch && kernel.attributes.integer("groups") == 1 &&
          channels % 8 == 0 && y.shape.back() % 8 == 0);
}

}  // namespace

LowerOptions gpu_lowering(bool fuse, bool tf32, int arch, int processors, bool ranks) {
  // No convolutions but those that are products write rows that lie apart: cuDNN takes such a result, too, and does it
  // by a kernel more that copies (seen with 9.19: each of its plans that tensor cores run has room for one in its
  // workspace).
  LowerOptions out{.passes = {},
                   .kernels = {.convolutions_write_rows = false,
                               .pairs_pixels = pairs_pixels,
                               .adds_array = adds_array,
                               .keeps = keeps,
                               .multiplies_rows = multiplies_rows,
                               .makes_both_gradients = makes_both_gradients,
                               .folds_gradient = folds_gradient,
                               .folds_result = folds_result,
                               .walks_pooling = walks_pooling,
                               .exchanges = ranks,
                               .arch = arch,
                               .processors = processors,
                               .tf32 = tf32}};
  if (!fuse) return out;
  out.passes = gpu_passes(tf32);
  out.kernels.own_products = kMostWork;
  // cuDNN's fast kernels in exact f32 (Winograd's) take no relu that keeps NaN; a relu by itself is a hundredth of such
  // a convolution.
  out.kernels.relus_apart = !tf32;
  out.kernels.pooled_bytes = kLeastPooled;
  out.kernels.computes_image = computes_image;
  if (arch >= kLeastTensorArch) out.kernels.pooled_types = {DType::f16, DType::bf16};
  if (arch >= kLeastTensorArch && tf32) out.kernels.pooled_types.push_back(DType::f32);
  return out;
}

int64_t most_held(int arch, DType compute) {
  constexpr int64_t kOfSystem = 1024;
  const int64_t scratch = kThreads * (8 * int64_t(size_of(compute)) + 8);
  return (most_shared(arch) + kOfSystem) / kBlocksOfProcessor - kOfSystem - scratch - 128;
}

std::string source_head() {
  return text(elementwise::elementwise_source(), std::string_view(numbers_text, numbers_text_size),
              std::string_view(prelude_text, prelude_text_size));
}

namespace {

// The words that loads of pooling's gradients need; none without such.
std::string_view spread_words(const FusedKernel& kernel) {
  const auto spreads = [](const Instruction& i) { return i.spread != nullptr; };
  const bool needed = std::ranges::any_of(
      kernel.segments, [&](const Segment& segment) { return std::ranges::any_of(segment.body, spreads); });
  return needed ? std::string_view(spread_text, spread_text_size) : "";
}

// Blocks of all segments, one after the other, then the totals and what follows from them.
class KernelWriter {
 public:
  KernelWriter(const FusedKernel& kernel, SourceContext& context)
      : kernel_(kernel), context_(context), code_(context, kernel.compute) {}

  Source run() {
    std::vector<Part> parts;
    for (size_t s = 0; s < kernel_.segments.size(); ++s) {
      Part part{blocks_, segment(s)};
      if (blocks_ > part.first) parts.push_back(std::move(part));
    }
    std::string body = parts.empty() ? "" : dispatched(parts);
    if (finishes()) body += last_block();
    Source out;
    out.text =
        text(source_head(), code_.declarations(), spread_words(kernel_), "\ntypedef ", device_type(kernel_.compute),
             " R;\n", declarations_, signature(), " {\n  __shared__ Scratch<R> scratch;\n",
             held_bytes_ ? "  extern __shared__ __align__(16) char held[];\n" : "", guard(), body, "}\n");
    out.arrays = code_.arrays();
    out.blocks = std::max<int64_t>(blocks_, 1);
    out.partial_bytes = size_t(partials_) * size_of(kernel_.compute);
    out.tickets = tickets_;
    out.shared_bytes = held_bytes_;
    return out;
  }

 private:
  bool finishes() const { return !kernel_.post.empty(); }

  // Blocks that wait for each other must all run at once.
  std::string signature() const {
    return kernel_signature(code_, meets_ ? text("kThreads, ", kBlocksOfProcessor) : text("kThreads"),
                            "__restrict__ const");
  }

  bool writes_variables() const {
    bool out = false;
    auto look = [&](const Store& store) {
      out = out || (!kernel_.once && outlives_run(context_.lowered.graph, store.value));
    };
    for (const Segment& segment : kernel_.segments) std::ranges::for_each(segment.stores, look);
    std::ranges::for_each(kernel_.post_stores, look);
    return out;
  }

  // The run that was not finite writes what it should without being guarded; those after it nothing.
  std::string guard() {
    std::string out;
    if (writes_variables())
      out += text("  if (state->stopped && state->stopped != u32(record[", kRecordRing, "]) + 1) return;\n");
    if (kernel_.guard) out += text("  if (", code_.load(kernel_.guard, "0"), " == 0) return;\n");
    return out;
  }

  // As large a part of those that run at the same time as the segment is of the kernel.
  int64_t busy_blocks_of(const Segment& segment) const {
    int64_t all = 0;
    for (const Segment& one : kernel_.segments) all += one.domain.elements();
    const double share = double(segment.domain.elements()) / double(std::max<int64_t>(all, 1));
    return std::max<int64_t>(int64_t(share * double(kBlocksOfProcessor * context_.processors)), 1);
  }

  std::string segment(size_t s) {
    const Segment& segment = kernel_.segments[s];
    const RowProduct* const product = kernel_.product ? &*kernel_.product : nullptr;
    SegmentWriter writer(segment, code_, partials_, tickets_, busy_blocks_of(segment),
                         most_held(context_.arch, kernel_.compute), product);
    if (product) declarations_ = writer.product_plan().value().declarations();
    held_bytes_ = std::max(held_bytes_, writer.held_bytes());
    meets_ = meets_ || writer.meets();
    const int64_t blocks = writer.blocks();
    partials_ += writer.partials();
    tickets_ += writer.tickets();
    first_partial_.push_back(partials_);
    segment_blocks_.push_back(blocks);
    std::string out = text("    const i64 block = blockIdx.x - ", blocks_, "u;\n", writer.run());
    for (size_t t = 0; t < segment.totals.size(); ++t)
      out += text("    t", t, " = fold_neighbours<", fold_name(*segment.totals[t].op), ", kThreads, R>(t", t,
                  ", scratch);\n    if (threadIdx.x == 0) partials[", partials_ + int64_t(t) * blocks, " + block] = t",
                  t, ";\n");
    blocks_ += blocks;
    partials_ += blocks * int64_t(segment.totals.size());
    return out;
  }

  // The text of a segment, and the first of its blocks.
  struct Part {
    int64_t first;
    std::string text;
  };
  // A block finds its part in a few comparisons. Parts are long, so that each comparison is fetched for itself: 75 of
  // them, one after the other, took longer than the work of a part.
  static std::string dispatched(std::span<const Part> parts) {
    if (parts.size() == 1) return text("  {\n", parts[0].text, "  }\n");
    const size_t half = parts.size() / 2;
    return text("  if (blockIdx.x < ", parts[half].first, "u) {\n", dispatched(parts.first(half)), "  } else {\n",
                dispatched(parts.subspan(half)), "  }\n");
  }

  // Each warp adds up the parts of some totals; then the first thread computes what follows from all.
  std::string last_block() {
    std::map<std::string, std::string> parts;  // by fold
    std::string names;
    int total = 0;
    for (size_t s = 0; s < kernel_.segments.size(); ++s)
      for (size_t t = 0; t < kernel_.segments[s].totals.size(); ++t, ++total) {
        const int64_t blocks = segment_blocks_[s], first = first_partial_[s] + int64_t(t) * blocks;
        parts[fold_name(*kernel_.segments[s].totals[t].op)] += text("{", first, ", ", blocks, ", ", total, "}, ");
        names += text("  const R t", s, "_", t, " = scratch.values[", total, "];\n");
      }
    std::string out = text("  if (!is_last_of(ticket, gridDim.x)) return;\n  static_assert(", total,
                           " <= kThreads * kMostTogether);\n");
    declarations_ += std::string_view(totals_text, totals_text_size);
    for (const auto& [fold, of] : parts) {
      declarations_ += text("__constant__ const PartsOfTotal parts", fold, "[] = {", of, "};\n");
      out += text("  fold_totals<", fold, ">(parts", fold, ", partials, scratch);\n");
    }
    out += text("  __syncthreads();\n  if (threadIdx.x != 0) return;\n", names);
    for (size_t i = 0; i < kernel_.post.size(); ++i) {
      const Instruction& instruction = kernel_.post[i];
      std::string value;
      if (instruction.kind == Instruction::Kind::total) value = text("t", instruction.segment, "_", instruction.total);
      else value = code_.scalar_value(instruction, [](int input) { return text("r", input); });
      out += text("  const R r", i, " = ", value, ";\n");
    }
    for (const Store& store : kernel_.post_stores) out += code_.store(store.value, "0", text("r", store.reg), "  ");
    return out;
  }

  const FusedKernel& kernel_;
  const SourceContext& context_;
  CodeText code_;
  bool meets_ = false;
  int64_t blocks_ = 0, partials_ = 0, held_bytes_ = 0;
  std::string declarations_;
  int tickets_ = 1;  // the first is that of the totals
  std::vector<int64_t> first_partial_, segment_blocks_;
};

}  // namespace

Source fused_source(const FusedKernel& kernel, SourceContext& context) { return KernelWriter(kernel, context).run(); }

}  // namespace neon::cuda
