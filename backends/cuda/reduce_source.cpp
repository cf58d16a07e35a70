// Source of reductions over axes that no fused kernel folds.
#include <algorithm>

#include "backends/cuda/op_writer.h"
#include "backends/graph/ops.h"

namespace neon::cuda {

namespace {

class ReduceWriter : public OpWriter {
 public:
  using OpWriter::OpWriter;
  Source run() { return source(reduce()); }

 private:
  // A block for each result.
  std::string reduce() {
    const auto& axes = kernel_.attributes.integers("axes");
    const auto from = dense_strides(input());
    std::vector<int64_t> kept_sizes, kept_strides, sizes, strides;
    for (int axis = 0; axis < input().rank(); ++axis) {
      const bool reduced = std::ranges::count(axes, axis) > 0;
      (reduced ? sizes : kept_sizes).push_back(input()[axis]);
      (reduced ? strides : kept_strides).push_back(from[size_t(axis)]);
    }
    const Shape kept{std::span<const int64_t>(kept_sizes)}, reduced{std::span<const int64_t>(sizes)};
    blocks_ = kept.elements();
    const std::string element = reduced.elements() == 0
                                    ? "R(0)"
                                    : code_.load(kernel_.inputs[0], text("start + ", place_of("r", reduced, strides)));
    const std::string head = text("  __shared__ Scratch<R> scratch;\n  const i64 k = blockIdx.x, start = ",
                                  place_of("k", kept, kept_strides), ";\n  (void)start;\n");
    const std::string loop = text("  for (i64 r = threadIdx.x; r < ", reduced.elements(), "; r += kThreads) ");
    const Reduction reduction = kernel_.traits().reduction;
    if (reduction == Reduction::argmax)
      return text(
          head, "  Best<R> best;\n", loop, "best.take(", element,
          ", r);\n  const i64 at = fold_best<kThreads, 1, R>(best, scratch);\n  if (threadIdx.x != 0) return;\n",
          put("k", "R(at < 0 ? 0 : at)"));
    const std::string fold = fold_name(*kernel_.op);
    return text(head, "  R x = ", fold, "::start<R>();\n", loop, "x = ", fold, "::join<R>(x, ", element,
                ");\n  x = fold_neighbours<", fold, ", kThreads, R>(x, scratch);\n  if (threadIdx.x != 0) return;\n",
                put("k", "x"));
  }
};

const SourceRegistration reductions[] = {{ops::sum, source_by<ReduceWriter>},
                                         {ops::max, source_by<ReduceWriter>},
                                         {ops::min, source_by<ReduceWriter>},
                                         {ops::argmax, source_by<ReduceWriter>}};

}  // namespace

}  // namespace neon::cuda
