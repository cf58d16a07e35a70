#include "models/split_cost.h"

#include <algorithm>

#include "backends/graph/ops.h"
#include "models/measures.h"
#include "neon/core/key_error.h"
#include "transforms/augmentation.h"
#include "transforms/parts.h"

namespace neon {

namespace {

constexpr int64_t kNumbers = 4;  // of a sample

// The place of each label (1, rows of all ranks) among this rank's classes, in f64; outside of them where it is
// another's.
Expr places_of_labels(const LayerContext& context, Expr t, const SplitPart& part) {
  Graph& graph = context.graph;
  const Expr number(graph, iota(graph, {1, t.shape()[1]}, 1));
  const Expr label = sum(cast(t, DType::f64) * cast(number, DType::f64), {1});
  const Expr all(graph, all_gather(graph, label, part.samples));
  return reshape(all, {1, part.samples.all()}) - double(part.x.shape()[0] * context.share.of.rank);
}

template <typename... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  fail_about("parallel", "{classifier: model} ", parts..., "; leave classifier out");
}

// Refuses a cost that compares anything but one output with one label of each row.
void check_labels(const LayerContext& context, const DataLayout& data, const Cost& cost, const StepOptions& options) {
  check_kind(data, cost);
  if (!context.more_outputs.empty() || !options.outputs.empty()) refuse("is for one output, which `cost` compares");
  if (options.fixed_point) refuse("adds up exponentials, which fixed_point would saturate");
  constexpr const char* takes_label = "takes the output at the one label of each sample, and ";
  if (data.target_is_input) refuse(takes_label, "targets are the samples themselves");
  if (data.classes == 0) refuse(takes_label, "targets are numbers");
  if (std::ranges::any_of(options.augment, &Augmentation::mixes))
    refuse(takes_label, "augment mixes labels by Mixup or CutMix");
}

}  // namespace

Expr split_cost(LayerContext& context, const DataLayout& data, const Cost& cost, Expr y, const Batch& batch,
                const StepOptions& options) {
  check_labels(context, data, cost, options);
  Graph& graph = context.graph;
  Scope scope(graph, "cost");
  const Expr logits = context.split.logits_of(y);
  const int64_t classes = y.shape()[y.shape().rank() - 1];
  if (!logits.value() && classes % context.share.ranks != 0)
    refuse("is for a last Affine that devices split, and its ", classes, " outputs are no multiple of ",
           context.share.ranks, " devices");
  if (!logits.value() || !cost.of_logarithms(logits, logits).value())
    refuse("is for a net that ends with an Affine, split over devices, of activation Softmax, and for the cost ",
           "CrossEntropyMulti");
  const SplitPart& part = context.split.of(logits).parts[0];
  const Expr x = cast(part.x, context.arithmetic_dtype);  // (classes of this rank, rows of all ranks)
  const int64_t own = x.shape()[0], rows = x.shape()[1], ranks = context.share.ranks;
  const Expr place = cast(context.expr(iota(graph, {own, 1}, 0)), DType::f64);
  const Expr here = cast(apply("equal", place, places_of_labels(context, batch.t, part)), x.dtype());
  const Expr most = apply("stop_gradient", max(x, {0}));
  const Expr at_label = sum(apply("select", here, x, x.constant(0)), {0});
  const Value told =
      graph.add(ops::concat, {most, sum(exp(x - most), {0}), at_label, sum(x, {0})}, {{"axis", int64_t(0)}});
  const RankRows each{std::vector<int64_t>(size_t(ranks), kNumbers), context.share.of.rank};
  const Expr all = reshape(context.expr(all_gather(graph, told, each)), {ranks, kNumbers, rows});
  const auto of_ranks = [&](int64_t number) { return reshape(neon::part(all, 1, number), {ranks, rows}); };
  const Expr largest = apply("stop_gradient", max(of_ranks(0), {0}));
  const Expr total = sum(of_ranks(1) * exp(of_ranks(0) - largest), {0});
  const Expr log_total = largest + log(total);
  const auto of_own = [&](Expr numbers) {
    const Expr mine = neon::part(numbers, 1, part.samples.first(part.samples.rank), part.samples.own());
    return reshape(mine, {part.samples.own(), 1});
  };
  return cost.of_logarithms(of_own(sum(of_ranks(2), {0}) - log_total),
                            of_own(sum(of_ranks(3), {0}) * (1 / double(own * ranks)) - log_total));
}

}  // namespace neon
