// MBox, the cost of SSD (Liu et al. 2016), which compares predictions at prior boxes with the objects of an image.
#include <cmath>

#include "transforms/cost.h"

namespace neon {

namespace {

struct MBoxParams {
  double overlap = 0.5, negative_overlap = 0.5, negatives = 3, location = 1;
  static void describe(auto&& p) {
    p("overlap", &MBoxParams::overlap,
      "Least overlap (intersection over union) of a prior box with the object that it learns. The prior box that "
      "overlaps an object most learns it in any case.",
      closed(0, 1), Alias{"overlap_threshold"});
    p("negative_overlap", &MBoxParams::negative_overlap,
      "Prior boxes that overlap an object by this or more are no examples of the background.", closed(0, 1),
      Alias{"neg_overlap"});
    p("negatives", &MBoxParams::negatives,
      "Examples of the background for each prior box that learns an object: those that cost most.", at_least(0),
      Alias{"neg_pos_ratio"});
    p("location", &MBoxParams::location, "Factor of the cost of the offsets.", at_least(0), Alias{"loc_weight"});
  }
};

struct MBox : Parametrized<Cost, MBoxParams> {
  using Parametrized::Parametrized;
  bool of_objects() const override { return true; }
  Expr each(Expr y, Expr) const override { return y; }

  Expr of_boxes(const BoxOutputs& y, Expr boxes) const override {
    const Shape shape = y.scores.shape();
    const int64_t samples = shape[0], priors = shape[1], classes = shape[2];
    Graph& graph = y.scores.graph();
    const BoxCorners prior = corners_of(y.priors);
    const BoxMatch match = matched(prior, boxes, params.overlap);

    const Expr background = y.scores.constant(double(classes - 1));
    const Expr label = neon::apply("select", match.positive, match.label, background);
    const Expr number = cast(Expr(graph, iota(graph, {1, 1, classes}, 2)), label.dtype());
    const Expr logs(graph,
                    reshape(graph, graph.add("log_softmax", {reshape(y.scores, {samples * priors, classes})}), shape));
    const Expr of_class = -sum(neon::apply("equal", number, label) * logs, {2});  // (N,P,1)

    const Expr free =
        neon::apply("less", match.overlap, match.overlap.constant(params.negative_overlap)) * (1.0 - match.positive);
    const Expr costs = neon::apply("select", free, of_class, of_class.constant(-HUGE_VAL));
    const Expr positives = sum(match.positive, {1, 2});
    const Expr hardest = reshape(largest(neon::apply("stop_gradient", reshape(costs, {samples, priors})),
                                         reshape(neon::apply("floor", positives * params.negatives), {samples, 1})),
                                 {samples, priors, 1});

    const Expr wanted = neon::apply("stop_gradient", encoded(prior, match.box));
    const Expr offsets = sum(neon::apply("smooth_l1", y.offsets - wanted, y.offsets.constant(1)), {2});
    const Expr all = of_class * (match.positive + hardest) + params.location * match.positive * offsets;
    return reshape(sum(all, {1, 2}) / maximum(positives, 1), {samples, 1});
  }

  std::string objection(int64_t, int64_t, const std::string&) const override { return ""; }
};
NEON_REGISTER(Cost, MBox,
              "Cost of prior boxes by the objects of an image, for MultiBox: cross-entropy of their classes and smooth "
              "L1 of their offsets, with the hardest examples of the background; divided by the prior boxes that learn "
              "an object (Liu et al. 2016).",
              {"MBoxLoss"});

}  // namespace

}  // namespace neon
